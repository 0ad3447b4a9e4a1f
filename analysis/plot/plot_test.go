package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./analysis/plot -update writes it anew")
}

func sample() *Plot {
	p := &Plot{Title: "solve time", X: "n", Y: "time s"}
	for i := range 6 {
		x := float64(10 * (i + 1))
		p.Points = append(p.Points, Point{x, 5 + 2*x, false}, Point{x, 5 + 2.2*x, false})
	}
	p.Points = append(p.Points, Point{40, 300, true})
	p.Curves = []Curve{{"5 + 2.1*n", 10, 60, func(x float64) (y, low, high float64) { return 5 + 2.1*x, 5 + 1.9*x, 5 + 2.3*x }}}
	return p
}

func TestPictures(t *testing.T) {
	golden(t, "linear.svg", string(SVG([]*Plot{sample()})))
	golden(t, "linear.txt", sample().Text(80, 16))
	steep := &Plot{X: "bytes", Y: "time", Curves: []Curve{{"", 1, 1e6, func(x float64) (y, low, high float64) { return 1e-6 + x/1e9, 0, 0 }}}}
	for i := range 7 {
		x := math.Pow(10, float64(i))
		steep.Points = append(steep.Points, Point{x, 1e-6 + x/1e9, false})
	}
	golden(t, "logarithmic.txt", steep.Text(72, 12))
}

func TestTicksAreRound(t *testing.T) {
	require.Equal(t, []float64{0, 20, 40, 60, 80, 100}, axis{0, 100, false}.ticks(6))
	require.Equal(t, []float64{1, 2, 5, 10, 20, 50, 100}, axis{1, 100, true}.ticks(6))
	require.Equal(t, []float64{1e-3, 1e-1, 1e1, 1e3}[0], axis{1e-3, 1e3, true}.ticks(6)[0])
	for v, want := range map[float64]string{0: "0", 1500: "1500", 2.5e-6: "2.5e-6", 3e9: "3e9", -0.25: "-0.25"} {
		require.Equal(t, want, label(v))
	}
}

// Whatever is drawn, the SVG is well-formed and the text within its columns.
func TestAnythingCanBeDrawn(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-5, 5), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 5e-324}))
	rapid.Check(t, func(t *rapid.T) {
		p := &Plot{Title: rapid.String().Draw(t, "title"), X: rapid.String().Draw(t, "x"), Y: rapid.String().Draw(t, "y")}
		for range rapid.IntRange(0, 20).Draw(t, "points") {
			p.Points = append(p.Points, Point{value.Draw(t, "x"), value.Draw(t, "y"), rapid.Bool().Draw(t, "out")})
		}
		for range rapid.IntRange(0, 8).Draw(t, "curves") {
			a, b := value.Draw(t, "a"), value.Draw(t, "b")
			p.Curves = append(p.Curves, Curve{rapid.String().Draw(t, "name"), value.Draw(t, "from"), value.Draw(t, "to"),
				func(x float64) (y, low, high float64) { return a + b*x, a - x, a + x*x }})
		}
		d := xml.NewDecoder(strings.NewReader(string(SVG([]*Plot{p, p}))))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
		columns := rapid.IntRange(40, 120).Draw(t, "columns")
		for line := range strings.Lines(p.Text(columns, 12)) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), columns, line)
		}
	})
}
