package knowledge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"marple/analysis/words"
)

// Dimension of a quantity: powers of seconds and bytes. Shares and counts have none.
type Dimension struct{ Seconds, Bytes int8 }

func (d Dimension) times(e Dimension) Dimension {
	return Dimension{d.Seconds + e.Seconds, d.Bytes + e.Bytes}
}

func (d Dimension) over(e Dimension) Dimension {
	return Dimension{d.Seconds - e.Seconds, d.Bytes - e.Bytes}
}

// String is the dimension as a unit.
func (d Dimension) String() string {
	for _, u := range units {
		if u.Dimension == d && u.Name != "share" {
			return u.Name
		}
	}
	return fmt.Sprintf("s^%d B^%d", d.Seconds, d.Bytes)
}

// Unit says how a quantity is written: one of those below, or as a number if it has no name.
type Unit struct {
	Name string
	Dimension
}

var units = []struct {
	Unit
	print func(x float64) string
}{
	{Unit{"share", Dimension{}}, percent},
	{Unit{"count", Dimension{}}, number},
	{Unit{"s", Dimension{Seconds: 1}}, words.Duration},
	{Unit{"B", Dimension{Bytes: 1}}, words.Size},
	{Unit{"1/s", Dimension{Seconds: -1}}, func(x float64) string { return number(x) + " per second" }},
	{Unit{"B/s", Dimension{Seconds: -1, Bytes: 1}}, func(x float64) string { return words.Size(x) + "/s" }},
	{Unit{"s/B", Dimension{Seconds: 1, Bytes: -1}}, func(x float64) string { return words.Duration(x) + " per byte" }},
}

// percent writes what would be 0.0 % as nothing.
func percent(x float64) string {
	if x < 0.0005 {
		return "0 %"
	}
	return words.Percent(x)
}

func unitNames() string {
	var names []string
	for _, u := range units {
		names = append(names, u.Name)
	}
	return strings.Join(names, ", ")
}

// unitOf finds a unit by name.
func unitOf(name string) (Unit, bool) {
	for _, u := range units {
		if u.Name == name {
			return u.Unit, true
		}
	}
	return Unit{}, false
}

// Print writes a quantity for people.
func (u Unit) Print(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "undefined"
	case x < 0:
		return "-" + u.Print(-x)
	}
	for _, known := range units {
		if known.Unit == u {
			return known.print(x)
		}
	}
	return number(x)
}

// number prints whole numbers with separators, others with three digits.
func number(x float64) string {
	switch {
	case x >= 1e18:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case x >= 100 || x == math.Trunc(x):
		return words.Number(uint64(x + 0.5))
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// suffixes of quantities in files and flags; the longest that fits counts.
var suffixes = []struct {
	text   string
	factor float64
	unit   string
}{
	{"%", 0.01, "share"},
	{"ns", 1e-9, "s"}, {"µs", 1e-6, "s"}, {"us", 1e-6, "s"}, {"ms", 1e-3, "s"}, {"s", 1, "s"},
	{"KiB", 1 << 10, "B"}, {"MiB", 1 << 20, "B"}, {"GiB", 1 << 30, "B"}, {"B", 1, "B"},
	{"/s", 1, "1/s"}, {"KiB/s", 1 << 10, "B/s"}, {"MiB/s", 1 << 20, "B/s"}, {"GiB/s", 1 << 30, "B/s"}, {"B/s", 1, "B/s"},
	{"kB/s", 1e3, "B/s"}, {"MB/s", 1e6, "B/s"}, {"GB/s", 1e9, "B/s"},
	{"", 1, "count"},
}

// ParseQuantity reads "5 %", "10 µs", "1 KiB", "1000 /s" or "3".
func ParseQuantity(text string) (float64, Unit, error) {
	trimmed := strings.TrimSpace(text)
	end := strings.LastIndexAny(trimmed, "0123456789.") + 1
	x, err := strconv.ParseFloat(strings.ReplaceAll(trimmed[:end], ",", ""), 64)
	if err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
		for _, s := range suffixes {
			if strings.TrimSpace(trimmed[end:]) == s.text {
				unit, _ := unitOf(s.unit)
				return x * s.factor, unit, nil
			}
		}
	}
	return 0, Unit{}, fmt.Errorf("%q is no quantity; expected a number with %%, s, ms, µs, ns, B, KiB, MiB, GiB, /s, B/s, or nothing", text)
}

// Exact writes a quantity with two decimals, where Print would round a share to whole percents.
func (u Unit) Exact(x float64) string {
	if u.Name != "share" || math.IsNaN(x) || math.IsInf(x, 0) {
		return u.Print(x)
	}
	text := strconv.FormatFloat(100*x, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

// ParseUnit finds a unit by name.
func ParseUnit(name string) (Unit, bool) { return unitOf(name) }

// UnitFor is how the value of an expression is written that is no metric: quotients without dimension are shares.
func UnitFor(e *Expression) Unit {
	name := "count"
	switch {
	case e.Type.Dimension != plain:
		name = e.Type.Dimension.String()
	case strings.Contains(e.Text, "/"):
		name = "share"
	}
	u, _ := unitOf(name)
	return u
}
