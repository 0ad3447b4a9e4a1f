package formula

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValues(t *testing.T) {
	at := map[string]float64{"n": 8, "p": 3, "problem size": 5, "or": 7}
	for text, want := range map[string]float64{
		"1":                          1,
		"-963 + 0.315*n":             -963 + 0.315*8,
		"2*n^2*log2(n)":              2 * 64 * 3,
		"exp(1.19*log(n) - 3.68)":    math.Exp(1.19*math.Log(8) - 3.68),
		"ln(n) - log(n)":             0,
		"-n^2":                       -64,
		"2^-1":                       0.5,
		"2^3^2":                      512,
		"2**3":                       8,
		"n - p - 1":                  4,
		"n/p/2":                      8.0 / 3 / 2,
		"n/(p/2)":                    8 / (3.0 / 2),
		"n - (p - 1)":                6,
		"--n":                        8,
		"n*-p":                       -24,
		".5e1 + 2E-1":                5.2,
		"min(n, p, 1) + max(p)":      4,
		"if(n < 4, 1/0, sqrt(16))":   4,
		"if(n >= 8 and p < 4, 1, 2)": 1,
		"n < 8 or p != 3":            0,
		"1 + 2 < 4":                  1,
		"`problem size`*`or`":        35,
		"floor(n/p) + ceil(n/p)":     5,
		"abs(-n) + log10(1000)":      11,
		"(((n)))":                    8,
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		v, err := e.Eval(at)
		require.NoError(t, err, text)
		require.InDelta(t, want, v, 1e-12*math.Max(1, math.Abs(want)), text)
	}
}

func TestWhatIsPrinted(t *testing.T) {
	for text, want := range map[string]string{
		"1+-2*n":        "1 - 2*n",
		"1-2*n":         "1 - 2*n",
		"(a+b)+c":       "a + b + c",
		"a+(b+c)":       "a + (b + c)",
		"a-(b-c)":       "a - (b - c)",
		"(-2)^2":        "(-2)^2",
		"-2^2":          "-2^2",
		"(a*b)^c^d":     "(a*b)^c^d",
		"(a^b)^c":       "(a^b)^c",
		"2^-(n+1)":      "2^-(n + 1)",
		"`min` + `a b`": "min + `a b`",
		"`and`":         "`and`",
		"if((a<b),1,2)": "if(a < b, 1, 2)",
		"1e-7*n":        "1e-07*n",
	} {
		e, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, e.String())
	}
}

func TestMistakesSayWhereAndWhat(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `column 1: expected a number, a parameter, a function or "(", found "the end"`,
		"1 +":                              `column 4: expected a number`,
		"2 n":                              `column 3: expected an operator or the end, found "n"`,
		"(1":                               `column 3: expected ")", found "the end"`,
		"sin(n)":                           `column 1: no function "sin"; there are if, log2, log10, log, sqrt, exp, abs, min, max, floor, ceil`,
		"exp(1, 2)":                        `column 9: exp takes 1 argument, not 2`,
		"exp()":                            `column 5: expected a number`,
		"n % 2":                            `column 3: unexpected '%'`,
		"ü + `x":                           `column 5: the backquote is never closed`,
		"``":                               `column 1: a parameter without a name`,
		"1e999":                            `column 1: 1e999 is no number that can be computed with`,
		"and":                              `column 1: expected a number`,
		`os.Exit("1")`:                     `column 1: no function "os.Exit"`,
		"a\x00b":                           `column 2: unexpected '\x00'`,
		"\xff":                             `column 1: unexpected`,
		"1 = 2":                            `column 3: expected an operator or the end, found "="`,
		"!n":                               `column 1: expected a number`,
		strings.Repeat("(", 1000) + "1":    `nested deeper than 200`,
		strings.Repeat("-", 1000) + "n":    `nested deeper than 200`,
		strings.Repeat("2^", 1000) + "1":   `nested deeper than 200`,
		strings.Repeat("n/", 1000) + "1":   `nested deeper than 200`,
		strings.Repeat("n+", 20_000) + "1": `larger than 20000`,
		strings.Repeat("n", 200):           `column 1: a name longer than 128 bytes`,
		strings.Repeat(" ", MaxText+1):     `longer than`,
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want)
	}
	long, err := Parse(strings.Repeat("n+", 5_000) + "1")
	require.NoError(t, err, "many terms are not deep")
	v, err := long.Eval(map[string]float64{"n": 2})
	require.NoError(t, err)
	require.Equal(t, 10_001.0, v)
}

func TestEvalTellsWhatIsMissing(t *testing.T) {
	e, err := Parse("log(n) + m")
	require.NoError(t, err)
	require.Equal(t, []string{"m", "n"}, e.Parameters())
	_, err = e.Eval(map[string]float64{"n": 1})
	require.EqualError(t, err, `no value for parameter "m"`)
	_, err = e.Eval(map[string]float64{"n": -1, "m": 0})
	require.EqualError(t, err, "log(n) + m has no finite value there")
}

func TestJSONIsTheText(t *testing.T) {
	var file struct{ Expression *Expr }
	require.NoError(t, json.Unmarshal([]byte(`{"Expression": "2*n + 1"}`), &file))
	data, err := json.Marshal(file)
	require.NoError(t, err)
	require.Equal(t, `{"Expression":"2*n + 1"}`, string(data))
	require.ErrorContains(t, json.Unmarshal([]byte(`{"Expression": "2*"}`), &file), "column 3")
}

func TestMathMLByHand(t *testing.T) {
	const file = `<?xml version="1.0"?>
<m:math xmlns:m="http://www.w3.org/1998/Math/MathML">
  <m:apply><m:eq/>
    <m:apply><m:ci>T</m:ci><m:ci>n</m:ci></m:apply>
    <m:semantics>
      <m:apply><m:plus/>
        <m:apply><m:minus/><m:cn type="integer">963</m:cn></m:apply>
        <m:apply><m:times/><m:cn type="e-notation">3.15<m:sep/>-1</m:cn><m:ci> n </m:ci></m:apply>
      </m:apply>
      <m:annotation encoding="text/plain">from the thesis</m:annotation>
    </m:semantics>
  </m:apply>
  <m:apply><m:eq/><m:ci>deviation</m:ci>
    <m:piecewise>
      <m:piece>
        <m:apply><m:root/><m:degree><m:cn>3</m:cn></m:degree><m:ci>n</m:ci></m:apply>
        <m:apply><m:lt/><m:cn>1</m:cn><m:ci>n</m:ci><m:cn>100</m:cn></m:apply>
      </m:piece>
      <m:otherwise><m:apply><m:log/><m:logbase><m:cn>4</m:cn></m:logbase><m:ci>n</m:ci></m:apply></m:otherwise>
    </m:piecewise>
  </m:apply>
  <m:lambda><m:bvar><m:ci>n</m:ci></m:bvar><m:cn type="rational">1<m:sep/>3</m:cn></m:lambda>
</m:math>`
	list, err := ReadMathML([]byte(file))
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, "T", list[0].Name)
	require.Equal(t, "-963 + 0.315*n", list[0].Expr.String())
	require.Equal(t, "if(1 < n and n < 100, n^(1/3), log(n)/log(4))", list[1].Expr.String())
	require.Equal(t, Definition{"", list[2].Expr}, list[2])
	require.Equal(t, "1/3", list[2].Expr.String())
}

func TestMathMLMistakes(t *testing.T) {
	wrap := func(s string) string { return `<math xmlns="` + Namespace + `">` + s + `</math>` }
	for text, want := range map[string]string{
		"":                                      "1:1: the text ends too early",
		"<html/>":                               "1:8: expected <math>",
		wrap(""):                                "no expression in <math>",
		wrap("<ci>n</ci>") + "<x/>":             "something follows",
		wrap("<mi>n</mi>"):                      "<mi> is not understood",
		wrap("<apply><sin/><ci>n</ci></apply>"): "<sin> is no operation that is understood",
		wrap("<apply></apply>"):                 "<apply> without an operation",
		wrap("<apply><divide/><ci>n</ci></apply>"):                "/ takes 2 arguments, not 1",
		wrap("<apply><eq/><cn>1</cn><cn>1</cn></apply>"):          "expected <ci> with the name",
		wrap("<apply><eq/><ci>y</ci></apply>"):                    "expected one expression on the right side",
		wrap("<cn>1e999</cn>"):                                    "no number that can be computed with",
		wrap("<cn>nan</cn>"):                                      "no number that can be computed with",
		wrap("<cn>0x10</cn>"):                                     "no number that can be computed with",
		wrap(`<cn base="16">10</cn>`):                             "base 16",
		wrap("<ci>a`b</ci>"):                                      "cannot be a parameter's name",
		wrap("<ci> </ci>"):                                        "a parameter without a name",
		wrap("<piecewise><piece><cn>1</cn></piece></piecewise>"):  "<piece>: expected a value and a condition",
		wrap("n + 1"):                                             `"n + 1": expected an element`,
		`<math xmlns="http://www.w3.org/2000/svg"/>`:              "expected MathML",
		"<math>\n <apply><plus/>":                                 "2:16: ",
		`<!DOCTYPE x [<!ENTITY e "y">]><math><ci>&e;</ci></math>`: "invalid character entity",
		wrap(strings.Repeat("<apply><exp/>", 1000)):               "nested deeper than 200",
		wrap("<apply><plus/>" + strings.Repeat("<ci>n</ci>", 2*MaxNodes) + "</apply>"): "more than 40000 elements",
	} {
		_, err := ReadMathML([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestGradientsAreSlopes(t *testing.T) {
	for _, text := range []string{
		"c*x^2 + 3*x - 1/x", "exp(c*x)*x", "x^c", "c^x", "log(c*x)/log2(x) + log10(x)", "sqrt(x)*c", "-c*x*x*x",
		"if(x < 2, c*x, x^2)", "max(c, x, 1)", "min(x*x, 100)", "abs(c - x)", "floor(x) + x", "(x + c)/(x*x + c)", "5",
	} {
		e, err := Parse(text)
		require.NoError(t, err)
		f, d, err := e.Gradient([]string{"x", "c"}, "x", "c")
		require.NoError(t, err)
		for _, at := range [][]float64{{1.3, 0.7}, {4.25, 2.5}} {
			for i, slope := range d {
				const h = 1e-6
				above, below := append([]float64{}, at...), append([]float64{}, at...)
				above[i] += h
				below[i] -= h
				want := (f(above) - f(below)) / (2 * h)
				require.InDelta(t, want, slope(at), 1e-6*math.Max(1, math.Abs(want)), "%s by %d at %v", text, i, at)
			}
		}
	}
}

func TestBindAndRound(t *testing.T) {
	e, err := Parse("c0 + c1*n^2")
	require.NoError(t, err)
	bound := e.Bind(map[string]float64{"c0": 1.0 / 3, "c1": -2.00000001})
	require.Equal(t, "0.3333333333333333 - 2.00000001*n^2", bound.String())
	require.Equal(t, "0.3333 - 2*n^2", bound.Round(4).String())
	require.Equal(t, "c0 + c1*n^2", e.String())
	for text, want := range map[string]string{
		"0 + 1*n^2": "n^2", "3*n^1 - 0": "3*n", "0*n": "0", "a + (b + 0)": "a + b", "if(n < 0 + 2, 1*1, n)": "if(n < 2, 1, n)",
	} {
		e, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, e.Simplify().String())
	}
}

// expressions draws any expression of up to some depth.
func expressions() *rapid.Generator[*Expr] {
	leaf := rapid.OneOf(
		rapid.Map(rapid.Float64Range(-1e6, 1e6), newNumber),
		rapid.Map(rapid.SampledFrom([]string{"n", "p", "min", "or", "a b", "x.y:z", "µ"}), newParameter),
	)
	var tree func(depth int) *rapid.Generator[*Expr]
	tree = func(depth int) *rapid.Generator[*Expr] {
		if depth == 0 {
			return leaf
		}
		return rapid.Custom(func(t *rapid.T) *Expr {
			if rapid.Bool().Draw(t, "leaf") {
				return leaf.Draw(t, "leaf")
			}
			o := rapid.SampledFrom(operations).Draw(t, "operation")
			most := o.most
			if most == 0 {
				most = o.least + 2
			}
			e, err := o.make(rapid.SliceOfN(tree(depth-1), o.least, most).Draw(t, "arguments")...)
			require.NoError(t, err)
			return e
		})
	}
	return tree(4)
}

func same(t require.TestingT, a, b *Expr) {
	require.Equal(t, a.String(), b.String())
	names := a.Parameters()
	f, err := a.Func(names...)
	require.NoError(t, err)
	g, err := b.Func(names...)
	require.NoError(t, err)
	x := make([]float64, len(names))
	for i := range x {
		x[i] = float64(i) + 1.5
	}
	v, w := f(x), g(x)
	require.True(t, v == w || math.IsNaN(v) && math.IsNaN(w), "%v %v", v, w)
}

func TestTextAndMathMLGoThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressions().Draw(t, "expression")
		parsed, err := Parse(e.String())
		require.NoError(t, err, e.String())
		same(t, e, parsed)
		list, err := ReadMathML(WriteMathML(Definition{"mean", e}))
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "mean", list[0].Name)
		same(t, e, list[0].Expr)
	})
}

// Whatever is read is within bounds and can be printed and read again.
func FuzzParse(f *testing.F) {
	f.Add("-963 + 0.315*Q")
	f.Add("if(n < 4096 and 1 > `a b`, 2*n, 1e3/(n^-2.5))")
	f.Add("max(1, 2)--log2(x)*-3")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		require.LessOrEqual(t, e.nodes, MaxNodes)
		require.LessOrEqual(t, e.depth, MaxDepth)
		again, err := Parse(e.String())
		require.NoError(t, err, e.String())
		same(t, e, again)
	})
}

func FuzzMathML(f *testing.F) {
	for _, text := range []string{"-963 + 0.315*Q", "if(n < 4, 1, log10(n)^log2(p))", "sqrt(a and b or 1)"} {
		e, err := Parse(text)
		require.NoError(f, err)
		f.Add(WriteMathML(Definition{"mean", e}, Definition{"", e}))
	}
	f.Add([]byte(`<math><apply><root/><degree><cn type="rational">1<sep/>3</cn></degree><pi/></apply></math>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ReadMathML(data)
		if err != nil {
			return
		}
		for _, d := range list {
			require.LessOrEqual(t, d.Expr.nodes, MaxNodes)
			again, err := ReadMathML(WriteMathML(d))
			require.NoError(t, err, d.Expr.String())
			same(t, d.Expr, again[0].Expr)
		}
	})
}
