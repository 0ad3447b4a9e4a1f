package knowledge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const fewRules = `manager: component
family: worker
every: 4
changes: 50
thresholds: {large: 1000, small: 800, slow: 5 ms}
told: {error: count}
rules:
  - rule: big
    when: n >= large and error < 0.5
    until: n < small
    for: 3
    then: {select: tiled, set: {block: 16}}
  - {rule: little, when: n < small, then: {select: flat}}
  - {rule: late, priority: 5, when: time_per_call > slow * 2 and not serving.tiled, then: {migrate: tiled}}
  - rule: block
    when: serving.tiled and setting.block >= 1
    then: {tune: {parameters: [unroll], policy: simplex, calls: 8, evaluations: 40}}
`

func managed() Managed {
	return Managed{Family: "worker", Implementations: []string{"flat", "tiled", "rough"}, Parameters: []string{"n", "m", "time_per_call"},
		Families: map[string][]string{"worker": {"flat", "tiled", "rough"}, "mesh": {"amr", "plain"}},
		Barred: func(name string) string {
			if name == "rough" {
				return "its accuracy is 0.1, and the limit at least 0.5"
			}
			return ""
		}}
}

func TestManager(t *testing.T) {
	m, err := ReadManager("rules.yaml", []byte(fewRules), managed())
	require.NoError(t, err)
	require.Empty(t, m.Notes)
	require.Equal(t, []int{4, 50}, []int{m.Every, m.Changes})
	var names, metrics []string
	for _, x := range m.Rules {
		names = append(names, x.Name)
	}
	for _, x := range m.Metrics {
		metrics = append(metrics, x.Name)
	}
	require.Equal(t, []string{"late", "big", "little", "block"}, names)                                       // by priority, then as they stand
	require.Equal(t, []string{"n", "error", "time_per_call", "serving.tiled", "setting.block", "m"}, metrics) // m: its rule tunes
	late, big, block := m.Rules[0], m.Rules[1], m.Rules[3]
	require.Equal(t, "migrate to tiled", late.Then())
	require.Equal(t, "select tiled, set block to 16", big.Then())
	require.Equal(t, "tune unroll", block.Then())
	require.Equal(t, Tuning{[]string{"unroll"}, 8, 40}, *block.Tune)
	require.Equal(t, []string{"block", "unroll"}, m.Settings())
	name := func(metric string) string { return "<" + metric + ">" }
	require.Equal(t, "(std::isgreaterequal(<n>, 1e+03) && std::isless(<error>, 5e-01))", big.When.CPP(name))
	require.Equal(t, "(std::isgreater(<time_per_call>, (5e-03 * 2e+00)) && !(<serving.tiled>))", late.When.CPP(name))
	require.Equal(t, Position{8, 5}, big.Position)
}

// A parameter may be called as a function is.
func TestParametersAndFunctions(t *testing.T) {
	what := managed()
	what.Parameters = []string{"size", "max", "all"}
	text := "manager: component\nfamily: worker\nrules: [{rule: a, when: \"max(size, max) > 3\", then: {select: flat}}]\n"
	m, err := ReadManager("rules.yaml", []byte(text), what)
	require.NoError(t, err)
	require.Equal(t, "std::isgreater(marple::max_of(<size>, <max>), 3e+00)", m.Rules[0].When.CPP(func(metric string) string { return "<" + metric + ">" }))
	_, err = ReadManager("rules.yaml", []byte(strings.Replace(text, "max(size, max)", "all", 1)), what)
	require.ErrorContains(t, err, "rules.yaml:3:26: rule a: when: expected a number, not a component")
}

// A proxy takes those rules of a composition that are of its port; the others' names are those of other ports.
func TestComposition(t *testing.T) {
	m, err := ReadManager("rules.yaml", []byte(`manager: composition
rules:
  - {rule: deep, when: levels > 3, then: {connect: mesh -> amr}}
  - {rule: big, when: n > 3, then: {connect: worker -> tiled}}
`), managed())
	require.NoError(t, err)
	require.True(t, m.Composition)
	require.Len(t, m.Rules, 1)
	require.Equal(t, "connect worker -> tiled", m.Rules[0].Then())
}

func TestManagerMistakes(t *testing.T) {
	agree := managed()
	agree.Agree = true
	stateless := managed()
	stateless.Stateless = true
	for _, c := range []struct {
		old, new, message string
		what              Managed
	}{
		{"manager: component", "model: component", `1:1: a file of rules begins with  manager: component  or  manager: composition, not with "model"`, managed()},
		{"manager: component", "manager: thing", `1:10: manager: "thing": expected component or composition`, managed()},
		{"family: worker\n", "", "1:1: expected the family that the component is of: family: worker", managed()},
		{"family: worker", "family: mesh", "2:9: family: these are the rules of mesh; expected worker, of which the proxy is", managed()},
		{"every: 4", "every: 0", "3:8: every: expected a whole number from 1 to 1000000", managed()},
		{"large: 1000", "n: 1000", `9:16: rule big: when: unknown name "large"; `, managed()},
		{"large: 1000", "large: a lot", `5:21: threshold large: "a lot" is no quantity`, managed()},
		{"large: 1000", "large: 1000, imbalance: 3", "5:27: imbalance is defined twice, or a metric that every manager has", managed()},
		{"error: count", "error: apples", "6:15: told: error: expected its unit, one of share, count", managed()},
		{"rule: big", "rule: Big!", `8:11: rule: "Big!" is no name; expected small letters, digits and -`, managed()},
		{"rule: little", "rule: big", "13:5: rule big: there is one of this name at rules.yaml:8:5", managed()},
		{"for: 3", "for: soon", "11:10: for: expected a whole number from 1", managed()},
		{"for: 3", "ranks: any", "11:12: ranks: each rank has its own choice here: write the proxy with --agree", managed()},
		{"for: 3", "ranks: some", "11:12: ranks: expected most, any or all", agree},
		{"until: n < small", "until: n < small +", "10:22: rule big: until: unexpected token EOF", managed()},
		{"n >= large and", "n >= slow and", "9:13: rule big: when: compares count with s", managed()},
		{"n >= large and error < 0.5", "n + 1", "9:13: rule big: when: expected a condition, not a number", managed()},
		{"n >= large and", "p >= large and", `9:11: rule big: when: unknown name "p"`, managed()},
		{"n >= large and", "run.ranks > 3 and", "9:15: rule big: when: run: nothing is known of the whole run while it goes on", managed()},
		{"n >= large and", "star() > 3 and", "9:11: rule big: when: star needs a whole run; a rule may use min and max", managed()},
		{"n >= large and", "imbalance > 0.3 and", "9:11: rule big: imbalance is known where ranks agree: write the proxy with --agree", managed()},
		{"not serving.tiled", "not serving.steep", `14:78: rule late: when: serving has no "steep"`, managed()},
		{"not serving.tiled", "setting.size > 1", `14:74: rule late: when: setting has no "size"`, managed()},
		{"then: {select: flat}", "then: {}", "13:43: rule little: then: expected an action: select, migrate, connect, set or tune", managed()},
		{"then: {select: flat}", "do: {select: flat}", `13:37: rule: unknown key "do"; expected one of`, managed()},
		{"select: flat", "select: flt", `13:52: rule little: then: unknown implementation "flt"; did you mean "flat"?`, managed()},
		{"select: flat", "select: rough", "13:52: rule little: then: rough must not serve: its accuracy is 0.1, and the limit at least 0.5", managed()},
		{"select: flat", "connect: worker -> flat", "13:53: rule little: then: connect: a composition manager does this", managed()},
		{"migrate: tiled", "migrate: tiled, select: flat", "14:116: rule late: then: select: one implementation is chosen already", managed()},
		{"", "", "14:101: rule late: then: migrate: the proxy is written with --stateless: there is no state to move", stateless},
		{"block: 16", "block: few", "12:40: rule big: then: set: block: expected a whole number", managed()},
		{"set: {block: 16}", "set: {block: 16}, tune: {parameters: block}", "12:11: rule big: then: block is set and tuned at once", managed()},
		{"policy: simplex", "policy: anneal", `17:49: rule block: then: tune: policy: "anneal": expected simplex`, managed()},
		{"parameters: [unroll]", "parameters: [a, b, c, d, e]", "17:18: rule block: then: tune: expected one to 4 parameters", managed()},
		{"n < small, then", "n < 3 and n > 5, then", "13:26: rule little: when: this never holds", managed()},
		{"n < small, then", "calls_since_change < 0, then", "13:26: rule little: when: this never holds", managed()},
		// What two rules want of one thing at once.
		{"until: n < small", "until: n < 1200", "10:12: rule big: until: this holds as well as when does, where error is below 0.5 and n is between 1,000 and 1,200: it would go on and off", managed()},
		{"until: n < small", "until: n < 700", "13:5: rules little and big (rules.yaml:8:5) can both be on, where n is between 700 and 800, and want different things: flat and tiled; give one a higher priority", managed()},
		{"when: n < small,", "when: m < small,", "13:5: rules little and big (rules.yaml:8:5) can both be on, where error is below 0.5 and m is below 800 and n is at least 1,000, and want", managed()},
		{"when: n < small,", "when: not (n > 2 * large - 500),", "13:5: rules little and big (rules.yaml:8:5) can both be on, where error is below 0.5 and n is between 1,000 and 1,500, and want", managed()},
		{"parameters: [unroll]", "parameters: [block]", "15:5: rules block and big (rules.yaml:8:5) can both be on, where error is below 0.5 and n is at least 1,000 and setting.block is at least 1 and tiled serves, and want different things: block is set and tuned", managed()},
		{"then: {select: flat}", "then: {set: {block: 8}}", "", managed()}, // they exclude each other
		{"when: n < small, then: {select: flat}", "when: n >= large, then: {set: {block: 8}}", "want different things: block is set to 8 and to 16; give", managed()},
	} {
		require.Contains(t, fewRules, c.old)
		text := strings.Replace(fewRules, c.old, c.new, 1)
		_, err := ReadManager("rules.yaml", []byte(text), c.what)
		if c.message == "" {
			require.NoError(t, err, c.new)
		} else {
			assert.ErrorContains(t, err, c.message, "%s", c.new)
			require.ErrorContains(t, err, "rules.yaml:")
		}
	}
}

// What intervals do not tell is said, and decided by the order.
func TestConflictsThatMayBe(t *testing.T) {
	text := strings.Replace(fewRules, "when: n < small,", "when: n * m < small,", 1)
	m, err := ReadManager("rules.yaml", []byte(text), managed())
	require.NoError(t, err)
	require.Len(t, m.Notes, 1)
	require.Equal(t, "rules.yaml:13:5: rules little and big (rules.yaml:8:5) may both be on, and want different things: flat and tiled; then big counts, which stands first", m.Notes[0].Error())
}

// A dead band that both rules leave out is one in which neither comes on while the other one is.
func TestDeadBand(t *testing.T) {
	for until, sure := range map[string]bool{"n >= 1000": false, "n >= 1001": true} {
		text := `manager: component
family: worker
rules:
  - {rule: up, when: n >= 1000, until: n < 800, then: {select: tiled}}
  - {rule: down, when: n < 800, until: ` + until + `, then: {select: flat}}
`
		_, err := ReadManager("rules.yaml", []byte(text), managed())
		if sure {
			require.ErrorContains(t, err, "5:5: rules down and up (rules.yaml:4:5) can both be on, where n is between 1,000 and 1,001")
		} else {
			require.NoError(t, err)
		}
	}
}

func FuzzManager(f *testing.F) {
	f.Add([]byte(fewRules))
	f.Add([]byte("manager: composition\nrules: [{rule: a, when: always, then: {connect: worker -> flat}}]\n"))
	for _, text := range []string{"n > 1 ? n < 2 : n > 3", "max(n, m, 3) / 0 > -1", "not (n == 5 or n != 7)", "n * m > 1e300 * 1e300", "serving[\"flat\"]"} {
		f.Add([]byte(strings.Replace(fewRules, "n < small, ", text+", ", 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadManager("fuzz.yaml", data, managed())
		if err != nil {
			require.Contains(t, err.Error(), "fuzz.yaml:")
			return
		}
		known := map[string]bool{}
		for _, x := range m.Metrics {
			known[x.Name] = true
		}
		for _, x := range m.Rules {
			require.NotEmpty(t, x.Then())
			for _, c := range []*RuleCondition{x.When, x.Until} {
				if c != nil {
					require.NotEmpty(t, c.CPP(func(name string) string {
						require.True(t, known[name], name)
						return name
					}))
				}
			}
		}
	})
}
