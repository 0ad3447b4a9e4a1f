package selection

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/analysis/selection/graph"
)

const everything = `# every key there is
unit: us
sizes: {n: 1000, x: {from: 1, to: 10}, q: [10, 20, 20]}
machine: {clock: 2.8}
families:
  flux:
    components: [flux1, flux2]
    bound: no
    sizes: {n: 10}
    implementations:
      efm:
        time: "0.16*n / clock"
        deviation: 0.02*n
        error: 0.001*n
        methods: {compute: {time: 2*x, deviation: x, error: q}}
        measured: no
        inclusive: no
        layout: rows
        class: EFMFlux
        qualities: {accuracy: 0.7, error: 1e-3}
        instances: {grid: Grid}
        connections: [self Grid grid Grid]
      godunov: {measured: yes, layout: columns}
interactions:
  - {caller: mesh, callee: flux.efm, time: 1e-3*n}
  - {caller: driver, callee: flux, forbidden: yes}
layouts: {mesh: rows}
translations:
  - {from: rows, to: columns, time: 2e-6*n, deviation: 1, error: 0}
  - {from: columns, to: rows, forbidden: true}
qualities:
  accuracy: {rule: min, at_least: 0.5}
  error: {rule: sum, at_most: 3, better: lower}
assembly:
  setup: [path append /opt/cca]
  instances: {driver: Driver}
  connections: [driver Flux flux1 Flux]
  go: driver GoPort
`

func TestEveryKeyIsRead(t *testing.T) {
	p, err := ParsePlan("f.yaml", []byte(everything))
	require.NoError(t, err)
	require.Equal(t, 1e-6, p.Unit)
	require.Equal(t, map[string]float64{"n": 1000}, p.Sizes.Values)
	require.Equal(t, []run.Range{{Parameter: "x", From: 1, To: 10}}, p.Sizes.Ranges)
	require.Len(t, p.Sizes.Records, 3)
	require.Equal(t, map[string]float64{"q": 20}, p.Sizes.Records[1].At)
	f := p.Families[0]
	require.Equal(t, []any{"flux", false, []string{"flux1", "flux2"}}, []any{f.Name, f.Bound, f.Components})
	efm := f.Implementations[0]
	require.Equal(t, "EFMFlux", efm.Class)
	require.Equal(t, "2*x", efm.estimate("flux.compute").time.String())
	require.Equal(t, "2*x", efm.estimate("ns::flux::compute").time.String())
	require.Equal(t, "0.16*n/clock", efm.estimate("flux.other").time.String())
	require.Nil(t, f.Implementations[1].estimate("flux.compute"))
	require.Len(t, p.limits(), 2)
	require.Equal(t, "driver GoPort", p.assembly.goName+" "+p.assembly.goPort)
}

// Every mistake is told with its place, what stands there, and what was expected.
func TestMistakesHaveAPlace(t *testing.T) {
	const one = "families: {A: {implementations: {one: {time: 1}}}}\n"
	for text, want := range map[string]string{
		"":                                     `1:1: expected "families:"`,
		"# nothing":                            `1:1: expected "families:"`,
		"unit: ms":                             `1:1: file: "families" is missing`,
		"- families":                           `1:1: file: expected lines of the form  key: value`,
		"families: {A: {":                      `1:`,
		"families: {}\n---\nfamilies: {}":      `3:1: expected one document only`,
		"famlies: {}":                          `1:1: file: unknown key "famlies"; expected one of unit, sizes, records,`,
		"families: {A: {implementations: {}}}": `1:12: family A: expected at least one implementation`,
		"families: 5":                          `1:11: families: expected lines of the form  key: value`,
		"families:\n  A.b: {implementations: {}}":                               `2:3: family A.b: expected a name without dots and spaces`,
		"families:\n  A: {components: [a]}":                                     `2:7: family A: "implementations" is missing`,
		"families:\n  A: {components: a, implementations: {}}":                  `2:19: family A: components: expected a list`,
		"families:\n  A: {components: [a, a], implementations: {x: {time: 1}}}": `2:3: family A: component "a" is in family A too`,
		one + "families: {}":                                                    `2:1: mapping key "families" already defined`,
		"families:\n  A: {implementations: {x: {time: 1}}}\n  B: {components: [A], implementations: {x: {time: 1}}}": `3:3: family B: component "A" is in family A too`,
		"families: {A: {implementations: {one: {}}}}":                                                                `1:34: A.one: expected time: of one invocation, model:, methods:, or, if it is the one that ran, measured: yes`,
		"families: {A: {implementations: {one: {deviation: 1}}}}":                                                    `1:34: A.one: a deviation or error without time`,
		"families: {A: {implementations: {one: {measured: perhaps}}}}":                                               `1:50: A.one: measured: "perhaps": expected yes or no`,
		"families: {A: {implementations: {one: {time: 2*}}}}":                                                        `1:48: A.one: time: `,
		"families: {A: {implementations: {one: {time: '2*(x'}}}}":                                                    `1:51: A.one: time: `,
		"families:\n  A:\n    implementations:\n      one:\n        time: 1 + foo(3)":                                `5:19: A.one: time: `,
		"families:\n  A:\n    implementations:\n      one:\n        time: \"1 + foo(3)\"":                            `5:20: A.one: time: `,
		"families:\n  A:\n    implementations:\n      one:\n        time: [1]":                                       `5:15: A.one: time: expected an expression such as`,
		"families: {A: {implementations: {one: {methods: {m: {error: 1}}}}}}":                                        `1:50: A.one: m: a deviation or error without time`,
		"families: {A: {implementations: {one: {time: 1, class: A B}}}}":                                             `1:56: A.one: class: "A B": expected a word without spaces`,
		"families: {A: {implementations: {one: {time: 1, qualities: {q: 1}}}}}":                                      `1:34: A.one: quality "q" is not described under qualities:`,
		"families: {A: {implementations: {one: {time: 1, qualities: {q: a}}}}}":                                      `1:64: A.one: q: "a": expected a number`,
		"families: {A: {sizes: {n: {from: 1, to: 2}}, implementations: {one: {time: n}}}}":                           `1:24: family A: a range is of the whole run, not of one family`,
		one + "unit: hours":                                                          `2:7: unit: "hours": expected one of s, ms, us, ns`,
		one + "sizes: {n: {from: 2, to: 2}}":                                         `2:13: sizes: n: expected from to be below to`,
		one + "sizes: {n: {from: 2}}":                                                `2:13: sizes: n: "to" is missing`,
		one + "sizes: {n: 1e99}":                                                     `2:12: sizes: n: "1e99": expected a number`,
		one + "sizes: {n: .nan}":                                                     `2:12: sizes: n: ".nan": expected a number`,
		one + "sizes: {n: [1, 2], m: [1]}":                                           `2:23: sizes: m: 1 values; expected as many as the other lists have`,
		one + "sizes: {n: []}":                                                       `2:12: sizes: n: 0 values`,
		one + "sizes: {n: &a 1, m: *a}":                                              `2:12: sizes: n: "": expected a number`,
		one + "records: nowhere.csv":                                                 `2:10: records: open nowhere.csv: no such file`,
		one + "interactions: [{caller: A, callee: A}]":                               `2:17: interaction 1: expected either time, model or forbidden: yes`,
		one + "interactions: [{caller: A, callee: A.two, time: 1}]":                  `2:17: interaction 1: family A has no implementation "two"`,
		one + "interactions: [{caller: A, time: 1}]":                                 `2:17: interaction 1: "callee" is missing`,
		one + "translations: [{from: a, to: b, time: 1, forbidden: yes}]":            `2:17: translation 1: expected either time, model or forbidden: yes`,
		one + "translations: [{from: a, to: b, time: 1}, {from: a, to: b, time: 2}]": `2:44: translation 2: from a to b stands here twice`,
		one + "layouts: {A: rows}":                                                   `1:12: layouts: component "A" belongs to family A`,
		one + "qualities: {q: {rule: most}}":                                         `2:23: quality q: rule: "most": expected one of min, product, sum`,
		one + "qualities: {q: {at_least: 3}}":                                        `2:17: quality q: "rule" is missing`,
		one + "qualities: {q: {rule: min, at_most: 3}}":                              `2:13: quality q: a minimum can only be wanted higher`,
		one + "qualities: {q: {rule: product, at_least: 0}}":                         `2:13: quality q: expected a limit above 0, since the rule is product`,
		one + "qualities: {q: {rule: sum, better: more}}":                            `2:36: quality q: better: "more": expected higher or lower`,
		"qualities: {q: {rule: product}}\nfamilies: {A: {implementations: {one: {time: 1, qualities: {q: 0}}}}}": `2:34: A.one: q: 0: expected a number above 0, since the rule is product`,
		one + "assembly: {instances: {a: b}}":             `2:12: assembly: "go" is missing`,
		one + "assembly: {go: driver}":                    `2:16: go: "driver": expected an instance and its port`,
		one + "assembly: {go: d g, connections: [a b c]}": `2:35: connections: "a b c": expected a user, its uses port, a provider`,
	} {
		_, err := ParsePlan("f.yaml", []byte(text))
		assert.ErrorContains(t, err, "f.yaml:"+want, text)
		require.NotContains(t, err.Error(), "\n", text)
	}
	_, err := ReadPlan("nowhere.yaml")
	require.ErrorContains(t, err, "nowhere.yaml: no such file")
}

// Some mistakes show only beside the call graph.
func TestMistakesBesideTheCallGraph(t *testing.T) {
	for yaml, want := range map[string]string{
		`families: {A: {implementations: {one: {time: n}}}}`:                   `f.yaml:1:34: A.one needs n at A.go: give it under sizes:, with --at n=…, or as sizes in the call graph`,
		`families: {A: {implementations: {one: {methods: {run: {time: 1}}}}}}`: `f.yaml:1:34: A.one: no time for A.go: expected it under methods:`,
		`
families: {A: {implementations: {one: {time: 1}}}}
interactions: [{caller: drive, callee: A, time: 1}]`: `f.yaml:3:17: interaction 1: there is no family, and no component without a family, "drive"`,
		`
families: {A: {implementations: {one: {time: 1, layout: rows}}}}
layouts: {driver: columns}`: `f.yaml: translations: none from columns to rows, which driver needs to call A.go: give its time, or forbidden: yes`,
		`
sizes: {a: {from: 0, to: 1}, b: {from: 0, to: 1}, c: {from: 0, to: 1}, d: {from: 0, to: 1}}
families: {A: {implementations: {one: {time: 1}}}}`: `4 parameters have a range; expected at most 3`,
		`
families: {A: {implementations: {one: {time: 1, layout: rows}}}}
layouts: {driver: columns}
translations: [{from: columns, to: rows, forbidden: yes}]`: `no assembly meets the limits: forbidden interactions exclude every assembly`,
	} {
		_, err := Select(context.Background(), two(t, yaml))
		assert.EqualError(t, err, want)
	}
}

func TestRecords(t *testing.T) {
	list, err := parseRecords("r.csv", strings.NewReader("component,calls,x,n\nA,2,0.5,10\n,1,3,4\nA,0,1,1\n"))
	require.NoError(t, err)
	require.Equal(t, []Record{
		{"A", "", graph.Size{Calls: 2, At: map[string]float64{"x": 0.5, "n": 10}}},
		{"", "", graph.Size{Calls: 1, At: map[string]float64{"x": 3, "n": 4}}},
	}, list)
	for text, want := range map[string]string{
		"":                  `r.csv:1:1: expected a line with the names of the columns`,
		"x,x\n":             `r.csv:1:3: column "x": expected a name that no other column has`,
		"x,\n":              `r.csv:1:3: column "": expected a name`,
		"x,n\n1,a\n":        `r.csv:2:3: n: "a": expected a number`,
		"x,n\n1,2\n3,NaN\n": `r.csv:3:3: n: "NaN": expected a number`,
		"calls\n-1\n":       `r.csv:2:1: calls: "-1": expected 0 or more`,
		"x,n\n1\n":          `r.csv:2:1: wrong number of fields`,
		"x\n\"1\n":          `r.csv:`,
	} {
		_, err := parseRecords("r.csv", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}

	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "r.csv"), []byte("x\n1\n3\n"), 0o666))
	require.NoError(t, os.WriteFile(path, []byte("records: r.csv\nfamilies: {A: {implementations: {one: {time: x}}}}"), 0o666))
	plan, err := ReadPlan(path)
	require.NoError(t, err)
	q := two(t, "families: {A: {implementations: {one: {time: x}}}}")
	q.Plan = plan
	require.InDelta(t, 1+10*2, answer(t, q).Time, 1e-12)
}

// The sizes that a run's components have met are those of its invocations' records.
func TestRecordsOfARun(t *testing.T) {
	directory := t.TempDir()
	records := func() []Record {
		list, err := Invocations(directory)
		require.NoError(t, err)
		return Recorded(list)
	}
	require.Empty(t, records())
	type row struct {
		Component string  `parquet:"component"`
		Method    string  `parquet:"method"`
		Wall      float64 `parquet:"wall"`
		Compute   float64 `parquet:"compute"`
		N         int64   `parquet:"n"`
	}
	rows := []row{{"A", "go", 1, 1, 10}, {"A", "go", 2, 1, 20}, {"A", "go", 3, 1, 10}, {"B", "run", 3, 1, 7}}
	require.NoError(t, parquet.WriteFile(filepath.Join(directory, run.InvocationsFile), rows))
	list := records()
	require.Equal(t, []Record{
		{"", "A.go", graph.Size{Calls: 2, At: map[string]float64{"n": 10}}},
		{"", "A.go", graph.Size{Calls: 1, At: map[string]float64{"n": 20}}},
		{"", "B.run", graph.Size{Calls: 1, At: map[string]float64{"n": 7}}},
	}, list)
	require.Len(t, matching(list, "A1", "A[A1].go"), 2, "an instance's records are its class's")

	// Very many different sizes are counted together with their neighbours.
	rows = nil
	for i := range 3*mostSizes + 5 {
		rows = append(rows, row{"A", "go", 1, 1, int64(i)})
	}
	require.NoError(t, parquet.WriteFile(filepath.Join(directory, run.InvocationsFile), rows))
	list = records()
	require.LessOrEqual(t, len(list), mostSizes)
	calls := 0.0
	for _, r := range list {
		calls += r.Calls
	}
	require.Equal(t, float64(len(rows)), calls)

	require.NoError(t, os.WriteFile(filepath.Join(directory, run.InvocationsFile), []byte("nothing"), 0o666))
	_, err := Invocations(directory)
	require.ErrorContains(t, err, run.InvocationsFile)
}

// What is said nearer to the node, or on the command line, counts more.
func TestWhichSizeCounts(t *testing.T) {
	s := func(text string) (list Sizes) {
		for _, one := range strings.Fields(text) {
			require.NoError(t, list.ParseSize(one))
		}
		return list
	}
	record := func(component string, x float64) []Record {
		return []Record{{Component: component, Size: graph.Size{Calls: 1, At: map[string]float64{"x": x}}}}
	}
	n := &graph.Node{Name: "A.go", Calls: 4}
	of := func(z sizing, family Sizes) []graph.Size {
		return z.of("A", "A.go", n, &family, scenario{values: map[string]float64{"x": 7}})
	}
	x := func(v float64) []graph.Size { return []graph.Size{{Calls: 4, At: map[string]float64{"x": v}}} }

	require.Equal(t, x(7), of(sizing{file: s("x=1")}, Sizes{}))
	require.Equal(t, x(7), of(sizing{file: s("x=1..9")}, s("x=2")))
	withRecords := Sizes{Records: append(record("", 3), record("A", 4)...)}
	require.Equal(t, x(4), of(sizing{file: withRecords}, s("x=2")))
	require.Equal(t, x(5), of(sizing{file: withRecords}, Sizes{Records: record("", 5)}))
	n.Sizes = []graph.Size{{Calls: 1, At: map[string]float64{"x": 6}}}
	require.Equal(t, x(6), of(sizing{file: withRecords}, Sizes{Records: record("", 5)}))
	require.Equal(t, x(8), of(sizing{given: Sizes{Records: record("A", 8)}, file: withRecords}, Sizes{}))
	require.Equal(t, x(9), of(sizing{given: s("x=9"), file: withRecords}, Sizes{}))
	require.Equal(t, x(7), of(sizing{given: s("x=1..9"), file: withRecords}, Sizes{}))

	for _, bad := range []string{"", "x", "x=", "=1", "x=a", "x=1..", "x=2..1", "x=1..1", "x=NaN", "x=1e99"} {
		require.ErrorContains(t, (&Sizes{}).ParseSize(bad), "expected parameter=value or parameter=from..to", bad)
	}
}

func TestLimitsFromOutside(t *testing.T) {
	p, err := ParsePlan("f.yaml", []byte(everything))
	require.NoError(t, err)
	require.NoError(t, p.Limit("error <= 2"))
	require.Equal(t, "accuracy ≥ 0.5 error ≤ 2", strings.Trim(strings.Join([]string{p.limits()[0].String(), p.limits()[1].String()}, " "), "[]"))
	for text, want := range map[string]string{
		"accuracy":      `"accuracy": expected quality>=value or quality<=value`,
		"accuracy>=x":   `"accuracy>=x": expected quality>=value`,
		"accuracy<=0.5": `"accuracy<=0.5": a minimum can only be wanted higher`,
		"speed>=1":      `"speed": expected one of accuracy, error`,
	} {
		require.ErrorContains(t, p.Limit(text), want)
	}
}

// A file of any content is read or refused, with its place where it has one.
func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(everything))
	for _, name := range []string{"validation.yaml", "shock-hydro.yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "records") || strings.Contains(string(data), "model") || len(data) > 4096 {
			return // it names files, or the parser, whose time grows with the square of the nesting, takes its time
		}
		if _, err := ParsePlan("f", data); err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f:"), err.Error())
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add("component,name,calls,x\nA,go,2,0.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseRecords("r", strings.NewReader(text))
		if err != nil {
			require.Regexp(t, `^r:\d+:\d+: `, err.Error())
		}
		for _, r := range list {
			require.Greater(t, r.Calls, 0.0)
		}
	})
}
