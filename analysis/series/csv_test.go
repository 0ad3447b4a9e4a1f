package series

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parse(text string, choice Choice) ([]*Series, error) {
	return readCSV(strings.NewReader(text), choice)
}

func TestCSV(t *testing.T) {
	list, err := parse("\xef\xbb\xbfn, p ,time\n# a comment\n10,2,1.5\r\n\"20\",4,2.5e0\n", Choice{})
	require.NoError(t, err)
	require.Equal(t, []*Series{{Response: "time", Parameters: []string{"n", "p"}, X: [][]float64{{10, 2}, {20, 4}}, Y: []float64{1.5, 2.5}, Labels: map[string][]string{}}}, list)

	list, err = parse("n;time;energy\n10;1;7\n", Choice{Responses: []string{"energy", "time"}})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "energy", list[0].Response)
	require.Equal(t, []string{"n"}, list[0].Parameters, "the other response is no parameter")
	require.Equal(t, []float64{7}, list[0].Y)

	list, err = parse("component\tmethod\tn\ttime\nA\tgo\t1\t2\nB\tgo\t1\t3\nA\tgo\t2\t4\n", Choice{By: []string{"component", "method"}})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "A go", list[0].Name)
	require.Equal(t, []float64{2, 4}, list[0].Y)

	list, err = parse("n,access,ghz,rep,time\n1,strided,2.5,1,2\n", Choice{Parameters: []string{"n"}})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"access": {"strided"}, "ghz": {"2.5"}}, list[0].Labels)

	list, err = parse("n,rep,time\n1,1,2\n", Choice{})
	require.NoError(t, err)
	require.Equal(t, []string{"n"}, list[0].Parameters)
	require.Contains(t, list[0].Notes[0], `column "rep" is taken to number repeated measurements`)
	list, err = parse("n,rep,time\n1,1,2\n", Choice{Parameters: []string{"n", "rep"}})
	require.NoError(t, err)
	require.Equal(t, []string{"n", "rep"}, list[0].Parameters)
}

func TestUnusableValuesAreLeftOutAndCounted(t *testing.T) {
	list, err := parse("n,time\n1,nan\n2,\n3,inf\n4,-1\nNA,5\n6,-2\n7,1e999\n8,8\n", Choice{})
	require.NoError(t, err)
	require.Equal(t, []float64{8}, list[0].Y)
	require.Equal(t, []LeftOut{
		{"the response is missing or not a number", 2, "line 2"},
		{"the response is infinite", 2, "line 4"},
		{"the response is negative, which no time or count is", 2, "line 5"},
		{"n is missing or not a number", 1, "line 6"},
	}, list[0].LeftOut)
	list, err = parse("n,time\n1,-1\n", Choice{Negative: true})
	require.NoError(t, err)
	require.Equal(t, []float64{-1}, list[0].Y)
}

func TestMistakesInCSV(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "1: empty: expected a header line",
		"n,time":                           "no measurements below the header line",
		"time\n1\n":                        "1: one column: expected at least one parameter and a response",
		"1,2\n3,4\n":                       `1:1: "1": expected a header line with the names of the columns, found numbers`,
		"n,n\n1,2\n":                       `1:3: two columns are called "n"`,
		"n,\n1,2\n":                        `1:3: "" cannot be the name of a column`,
		"n,`t`\n1,2\n":                     "1:3: \"`t`\" cannot be the name of a column",
		"n,time\n1,2\n2,x\n":               `3:3: time: "x": expected a number`,
		"n,time\n1,2\n2\n":                 "3: 1 fields: expected 2, as in the header",
		"n,time\n1,2,3\n":                  "2: 3 fields: expected 2, as in the header",
		"n,time\n1,0x10\n":                 `the response "time" is no column of numbers`,
		"n,p,time\n1O,1,2\n2,2,3\n3,4,3\n": `2: n: "1O": expected a number, as in most lines`,
		"a,time\nx,1\n":                    "no parameter: expected a column of numbers beside the response",
		"n,time\n1,\"2\n":                  "2:6: ",
		"n,time\n1,2\"3\n":                 "2:4: bare",
		strings.Repeat("n,", 300):          "301 columns: at most 256 can be read",
	} {
		_, err := parse(text, Choice{})
		require.ErrorContains(t, err, want, text)
	}
	for want, choice := range map[string]Choice{
		`no column "x"; there are n, time`:             {Responses: []string{"x"}},
		`no parameter "x"; there are n, time`:          {Parameters: []string{"x"}},
		`no column "z"; there are n, time`:             {By: []string{"z"}},
		`"time" cannot be both parameter and response`: {Parameters: []string{"time"}},
	} {
		_, err := parse("n,time\n1,2\n", choice)
		require.EqualError(t, err, want)
	}
	path := filepath.Join(t.TempDir(), "data.csv")
	require.NoError(t, os.WriteFile(path, []byte("n,time\n1,x\n2,3\n4,5\n"), 0o600))
	_, err := ReadCSV(path, Choice{})
	require.EqualError(t, err, path+`:2: time: "x": expected a number, as in most lines`)
}

// A file of any content is refused, or gives samples that can be computed with.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("n,p,time\n1,2,3\n4,5,6\n"))
	f.Add([]byte("# x\nn;access;time\n1;\"a b\";nan\n-1;c;1e999\n"))
	f.Add([]byte("\xef\xbb\xbfa\tb\n1\t2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parse(string(data), Choice{})
		if err != nil {
			require.Less(t, len(err.Error()), 2000)
			return
		}
		for _, s := range list {
			require.Len(t, s.X, len(s.Y))
			for i, x := range s.X {
				require.Len(t, x, len(s.Parameters))
				require.False(t, math.IsNaN(s.Y[i]) || math.IsInf(s.Y[i], 0) || s.Y[i] < 0)
			}
			for _, labels := range s.Labels {
				require.Len(t, labels, len(s.Y))
			}
		}
	})
}
