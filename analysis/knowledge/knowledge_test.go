package knowledge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// small is a model in which nothing is wrong; tests put mistakes into it.
const small = `model: small
title: A small model
roles:
  boss: hub
components:
  work: {match: {computation: any}}
  wait: {match: {op: recv, role: boss}}
groups:
  all_parts: [work, wait]
places:
  worst: {of: work, largest: slowest(here) - time(here) / run.ranks}
events:
  step: work wait+
delays:
  late: {caused_by: work, shows_in: wait}
thresholds:
  least: 5 %
  long: {value: 10 µs, about: longer than that}
metrics:
  waiting: {value: time(wait) / run.core, unit: share}
  part(p): {value: time(p), unit: s}
  mean_wait: {value: time(wait) / calls(wait), unit: s, says: "a wait takes {value}"}
  bosses: {value: members(boss), unit: ranks}
levels:
  - {title: first, needs: [profile, ranks, peers]}
observations:
  waits: {title: "Waiting takes {waiting}", cost: time(wait)}
  dear(p): "{p} is dear"
factors:
  long-waits:
    title: Waits are long
    cost: delayed(late)
    where: worst
    ranks: bosses
    tell: mean_wait
    advice: Wait less.
rules:
  - {if: waiting >= least, then: waits}
  - {each: p of all_parts, if: [waits, part(p) is largest], then: dear(p)}
  - {if: [waits, not dear(work), mean_wait > long], then: long-waits}
`

func TestASoundModel(t *testing.T) {
	k, err := Library{}.Read("small.yaml", []byte(small))
	require.NoError(t, err)
	require.Empty(t, k.Notes)
	m := k.Scopes[0].Model
	require.Equal(t, "5 %", m.Threshold("least").Unit.Print(m.Threshold("least").Value))
	require.Equal(t, Type{Number, seconds}, m.Metric("mean_wait").Value.Type)
	require.Equal(t, Type{Kind: Ranks}, m.Metric("bosses").Value.Type)
}

// mistakes: what is replaced in the small model by what, and what must be said about it.
var mistakes = []struct{ old, new, want string }{
	// names
	{"time(wait) / run.core", "time(wat) / run.core", `small.yaml:20:25: metric waiting: unknown name "wat"; did you mean "wait"?`},
	{"run.core, unit", "run.corn, unit", `small.yaml:20:37: metric waiting: unknown total "corn"; did you mean "core"?`},
	{"time(wait) / calls", "tim(wait) / calls", `small.yaml:22:22: metric mean_wait: unknown function "tim"; did you mean "time"?`},
	{"where: worst", "where: worse", `small.yaml:30:3: factor long-waits: where: unknown place "worse"; did you mean "worst"?`},
	{"tell: mean_wait", "tell: mean_weight", `tell: unknown metric "mean_weight"`},
	{"then: waits", "then: weights", `unknown fact "weights"`},
	{"not dear(work)", "not deer(work)", `unknown fact "deer"; did you mean "dear"?`},
	{"not dear(work)", "not dear(world)", `unknown component "world"; did you mean "work"?`},
	{"op: recv", "op: recieve", `small.yaml:7:22: component wait: unknown operation "recieve"; expected one of barrier, bsend`},
	{"role: boss", "role: bos", `small.yaml:7:17: component wait: unknown role "bos"; did you mean "boss"?`},
	{"boss: hub", "boss: hob", `small.yaml:4:9: role boss: "hob" is neither a list of ranks like 0-3,8-14:2,20- nor one of all, branch`},
	{"step: work wait+", "step: work wiat+", `small.yaml:13:14: event step: unknown component "wiat"; did you mean "wait"?`},
	{"caused_by: work", "caused_by: *work", `no anchor &work stands before this`},
	{"caused_by: work", "caused_by: play", `delay late: unknown component "play"`},
	{"of: work, largest", "of: word, largest", `place worst: of: unknown component "word"`},
	{"p of all_parts", "p of all_pets", `each: unknown group "all_pets"; did you mean "all_parts"?`},
	{"[profile, ranks, peers]", "[profile, rank]", `small.yaml:25:5: level 1: unknown measurement "rank"; did you mean "ranks"?`},
	{"cost: delayed(late)", "cost: delayed(lat)", `unknown name "lat"; did you mean "late"?`},
	{"waits, part(p)", "waits, parts(p)", `unknown function "parts"`},
	// units and kinds
	{"time(wait) / run.core", "time(wait) / calls(wait)", `small.yaml:20:20: metric waiting: is said to be a number in count, but this is a number in s`},
	{"unit: share", "unit: percent", `small.yaml:20:49: metric waiting: "percent" is no unit; expected one of share, count, s`},
	{"mean_wait > long", "waiting > long", `rule for long-waits: compares a number in count with a number in s`},
	{"slowest(here) - time(here) / run.ranks", "slowest(here) - calls(here)", `small.yaml:11:44: place worst: adds s and count`},
	{"long: {value: 10 µs", "long: {value: 10 hours", `small.yaml:18:17: threshold long: "10 hours" is no quantity`},
	{"cost: time(wait)", "cost: calls(wait)", `cost: expected a number in s, not a number in count`},
	{"ranks: bosses", "ranks: waiting", `ranks: expected a set of ranks, not a number`},
	{"time(p), unit", "time(boss), unit", `metric part: expected a component, not a role`},
	{"members(boss)", "members(work)", `expected a role, not a component`},
	{"Waiting takes {waiting}", "Waiting takes {boss}", `a role cannot be written in a text`},
	{"Waiting takes {waiting}", "Waiting takes {waiting", `small.yaml:27:33: observation waits: this brace is not closed`},
	{"time(wait) / run.core", `"time(wait, work) / run.core"`, `expected a role, a class of time or an abstract event, not a component`},
	{"slowest(here) - time(here) / run.ranks", `"slowest(here, 3) - time(here)"`, `expected a role, a class of time or an abstract event, not a number`},
	{"time(wait) / run.core", "time() / run.core", `time takes a component and any number of filters, not 0`},
	{"time(wait) / run.core", "waits / run.core", `waits is a fact, which has no value; lost("waits") is what it costs`},
	{"time(wait) / run.core", "part / run.core", `part is of a component: write part(COMPONENT)`},
	// the language
	{"time(wait) / run.core", "time(wait) / ", `metric waiting: unexpected token EOF`},
	{"time(wait) / run.core", "time(wait) ? 1 : 2", `metric waiting: expected a condition, not a number`},
	{"time(wait) / run.core", `"'a' + 'b'"`, `expected a number, not a text`},
	{"time(wait) / run.core", `"filter(1..3, # > 1)"`, `this is not part of the expression language`},
	{"step: work wait+", "step: work (wait", `small.yaml:13:14: event step: this parenthesis is not closed`},
	{"step: work wait+", "step: work* wait*", `event step: no event at all would fit`},
	{"mean_wait > long", "mean_wait", `"mean_wait" is neither a fact nor a comparison`},
	{"part(p) is largest", "waiting is largest", `expected METRIC(VARIABLE) is largest, in a rule with each`},
	// the form of the file
	{"components:", "component:", `small.yaml:5:1: model: unknown key "component"; did you mean "components"?`},
	{"match: {computation: any}", "match: {computation: some}", `computation: expected straight, loop (around tests) or any`},
	{"match: {computation: any}", "match: {}", `component work: this condition fits everything`},
	{"match: {computation: any}", "match: {after: MPI_Send}", `after and before are about a computation`},
	{"match: {computation: any}", "match: {computation: any, op: send}", `a computation is no MPI call; write two conditions`},
	{"  least: 5 %", "  Least: 5 %", `thresholds: "Least" is no name; expected small letters, digits and _`},
	{"  long-waits:", "  long_waits:", `factors: "long_waits" is no name; expected small letters, digits and -`},
	{"  long: {", "  work: {", `small.yaml:18:3: work is defined twice`},
	{"  bosses:", "  members:", `members means something in expressions; choose another name`},
	{"    advice: Wait less.\n", "", `small.yaml:30:3: factor long-waits: expected advice`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: {balanced: work}\n", `small.yaml:37:14: factor long-waits: remedy: unknown key "balanced"; did you mean "balance"?`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: {}\n", `small.yaml:37:5: factor long-waits: remedy: expected a change: balance, free, nonblocking, prompt, remove`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: []\n", `small.yaml:37:5: factor long-waits: remedy: expected a change: balance, free, nonblocking, prompt, remove`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: [{balance: work}, {nonblocking: wrok}]\n", `factor long-waits: remedy: unknown place "wrok"; did you mean "work"?`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: {balance: wrok}\n", `factor long-waits: remedy: unknown place "wrok"; did you mean "work"?`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: {prompt: late-sander}\n", `factor long-waits: remedy: unknown pattern of waiting "late-sander"; did you mean "late-sender"?`},
	{"    advice: Wait less.\n", "    advice: Wait less.\n    remedy: {balance: work, free: wait}\n", `factor long-waits: remedy: expected one change, not balance and free`},
	{"    cost: delayed(late)\n", "", `factor long-waits: expected its cost: an expression in s`},
	{"model: small", "model: Small One", `small.yaml:1:8: "Small One" is no model's name`},
	{"model: small", "modell: small", `a file of knowledge begins with  model: NAME`},
	{"title: A small model", "title: [", `not valid YAML`},
	{"{caused_by: work, shows_in: wait}", "{caused_by: work}", `delay late: expected caused_by and shows_in`},
	{"each: p of all_parts", "each: p in all_parts", `rule: each: expected NAME of GROUP`},
	{"then: waits}", "then: waits, level: 2}", `level 2 of 1`},
	{"title: A small model", "title: A small model\njudges: [imbalance, late-sander]", `small.yaml:3:9: judges: unknown general factor "late-sander"; did you mean "late-sender"?`},
	{"title: A small model", "title: A small model\njudges: [wait-on-*]", `unknown general factor "wait-on-*"`},
	// the whole
	{"boss: hub", "boss: 7-3", `"7-3" is neither`},
	{"time(wait) / calls(wait), unit: s", "mean_wait, unit: s", `metric mean_wait depends on itself: mean_wait → mean_wait`},
	{"{if: waiting >= least, then: waits}", "{if: [waiting >= least, long-waits], then: waits}", `depends on itself: `},
	{"{if: waiting >= least, then: waits}", "{if: [waiting >= least, not long-waits], then: waits}", `depends on itself: `},
	{"time(wait) / run.core, unit", `lost("long-waits") / run.core, unit`, `depends on itself: `},
	{"  - {if: waiting >= least, then: waits}\n", "", `small.yaml:27:3: no rule concludes waits`},
	{"waits, not dear(work), mean_wait > long", "waits, not waits, mean_wait > long", `this rule can never fire: it wants waits and not waits`},
	{"[waits, not dear(work), mean_wait > long]", "[waits, not dear(work), mean_wait > long, waiting < least]", `this rule can never fire: waiting >= least excludes waiting < least`},
	{"needs: [profile, ranks, peers]", "needs: [peers, ranks]", `"waiting " needs profile, which level 1 does not ask for`},
	{"levels:\n  - {title: first, needs: [profile, ranks, peers]}\n", "", `there are rules, but no levels that say what they need`},
}

func TestMistakesAreNamedWhereTheyAre(t *testing.T) {
	for _, c := range mistakes {
		require.Contains(t, small, c.old)
		_, err := Library{}.Read("small.yaml", []byte(strings.Replace(small, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s -> %s\n  want %s\n  got  %v", c.old, c.new, c.want, err)
		}
	}
}

func TestOddThingsAreNoted(t *testing.T) {
	for _, c := range mistakesNoted {
		k, err := Library{}.Read("small.yaml", []byte(strings.Replace(small, c.old, c.new, 1)))
		require.NoError(t, err)
		require.Len(t, k.Notes, 1)
		require.Contains(t, k.Notes[0].Error(), c.want)
	}
}

var mistakesNoted = []struct{ old, new, want string }{
	{"  bosses:", "  more: {value: time(work), unit: s}\n  bosses:", "small.yaml:23:3: metric more is not used"},
	{"  long: {", "  short: 1 s\n  long: {", "small.yaml:18:3: threshold short is not used"},
	{"groups:", "  spare: {match: {op: barrier}}\ngroups:", "small.yaml:8:3: component spare is not used"},
}

// Every mistake at once: all are listed, in the order of the file.
func TestSeveralMistakesAreListed(t *testing.T) {
	text := strings.NewReplacer("op: recv", "op: recieve", "unit: share", "unit: percent", "where: worst", "where: worse").Replace(small)
	_, err := Library{}.Read("small.yaml", []byte(text))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	require.Equal(t, []int{7, 20, 30}, []int{problems[0].Line, problems[1].Line, problems[2].Line})
}

// What models may judge are the factors of general knowledge, all of them.
func TestSymptomsAreWhatGeneralKnowledgeKnows(t *testing.T) {
	k, err := Library{}.Load("general")
	require.NoError(t, err)
	var known []string
	for _, f := range k.Scopes[0].Model.Facts {
		if f.Factor {
			known = append(known, f.Name)
		}
	}
	require.ElementsMatch(t, known, Symptoms)
}

func TestBuiltinKnowledgeIsSound(t *testing.T) {
	require.NotEmpty(t, Names())
	for _, name := range Names() {
		k, err := Library{}.Load(name)
		require.NoError(t, err)
		require.Empty(t, k.Notes, name)
		own := k.Scope("") // the model by itself, or what a composition says of itself
		require.Equal(t, slices.Contains(Library{}.Recognizable(), name), own != nil && len(own.Model.Looks) > 0, name)
		require.NotEmpty(t, k.Title, name)
		nodes, err := k.Tree()
		require.NoError(t, err)
		require.NotEmpty(t, nodes)
		for _, s := range k.Scopes {
			for _, f := range s.Model.Facts {
				if f.Factor {
					require.NotEmpty(t, f.Advice, f.Name)
				}
			}
		}
	}
}

func TestModelsAreFoundBesideAFileAndAmongTheBuiltInOnes(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(text), 0o666))
	}
	write("small.yaml", small)
	library := Library{Directory: directory}
	_, err := library.Load("small")
	require.NoError(t, err)
	_, err = library.Load("pipeline")
	require.NoError(t, err)
	_, err = library.Load("pipe")
	require.ErrorContains(t, err, `unknown model "pipe"`)
	_, err = library.Load("../small")
	require.ErrorContains(t, err, "is no model's name")

	k, err := library.Read("mine.yaml", []byte("extends: small\nmatch: {work: {function: [solve, \"*::solve\"]}}\nroles: {boss: 3}\nthresholds: {least: 3 %}\n"))
	require.NoError(t, err)
	m := k.Scopes[0].Model
	require.Equal(t, 0.03, m.Threshold("least").Value)
	require.True(t, m.Role("boss").Ranks[0].Contains(3))
	require.Equal(t, []Glob{"solve", "*::solve"}, m.Component("work").Match[0].Function)

	for text, want := range map[string]string{
		"extends: smal\n": `mine.yaml:1:10: extends: unknown model "smal"`,
		"extends: small\nmatch: {play: {op: send}}\n":  `mine.yaml:2:9: match: unknown component "play"`,
		"extends: small\nroles: {slave: 1}\n":          `roles: unknown role "slave"`,
		"extends: small\nthresholds: {least: 3 s}\n":   `threshold least is in share; "3 s" is in s`,
		"extends: small\nthresholds: {leest: 3 %}\n":   `unknown threshold "leest"; did you mean "least"?`,
		"extends: small\nmetrics: {}\n":                `mine.yaml:2:1: extension: unknown key "metrics"`,
		"extends: circle\n":                            `files build on each other`,
		"composition: c\nmodels: {a: small, b: small}": `models run interleaved: expected  event:`,
	} {
		write("circle.yaml", "extends: circle\n")
		_, err := library.Read("mine.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// What a composition matches belongs to one component of one model: the first that it fits. Extensions come before what
// they extend; what is the same is shared.
func TestWhatACompositionMatchesIsSorted(t *testing.T) {
	const composition = `
composition: two
models: {line: pipeline, field: geometric-decomposition}
event: (line.receive line.work field.exchange field.update)+
match:
  line.work: &first {in: [chase, fetch], computation: any}
  field.exchange: {in: fetch}
  field.react: {after: fetch, computation: any}
  field.update: {computation: any}
  line.drain: *first
`
	unless := func(k *Knowledge) map[string]int {
		n := map[string]int{}
		for _, c := range k.Sorted {
			n[c.String()] = len(c.part().Unless)
		}
		return n
	}
	k, err := Library{}.Read("two.yaml", []byte(composition))
	require.NoError(t, err)
	// A part of a component competes with other components, not with the whole.
	require.Equal(t, map[string]int{"line.work": 0, "field.exchange": 1, "field.react": 2, "field.update": 2, "line.drain": 3}, unless(k))
	require.Equal(t, []ComponentRef{{k.Scope("field"), "update"}}, k.Others(k.Scope("line")))

	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "two.yaml"), []byte(composition), 0o644))
	k, err = Library{Directory: directory}.Read("mine.yaml", []byte("extends: two\nmatch: {field.update: {in: blocks, computation: any}}\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"field.update": 0, "line.work": 1, "field.exchange": 2, "field.react": 2, "line.drain": 3}, unless(k))

	// Components of a nested model are inside those of the other.
	k, err = Library{}.Read("nested.yaml", []byte(strings.Replace(strings.Replace(composition, "event: (line.receive line.work field.exchange field.update)+",
		"nest: [{model: field, into: line.work}]", 1), "composition: two", "composition: nested", 1)))
	require.NoError(t, err)
	require.Empty(t, k.Sorted)
	require.Equal(t, []Glob{"fetch"}, k.Scope("line.work").Model.Component("exchange").Match[0].In)
}

func TestQuantities(t *testing.T) {
	for text, want := range map[string]struct {
		x    float64
		unit string
	}{
		"5 %": {0.05, "share"}, "10 µs": {1e-5, "s"}, "10us": {1e-5, "s"}, "1.5 ms": {1.5e-3, "s"}, "2 s": {2, "s"}, "1 KiB": {1024, "B"},
		"3": {3, "count"}, "10,000 /s": {10000, "1/s"}, "1 GiB/s": {1 << 30, "B/s"}, "-2": {-2, "count"}, "0 B": {0, "B"},
	} {
		x, unit, err := ParseQuantity(text)
		require.NoError(t, err, text)
		require.InEpsilon(t, 1+want.x, 1+x, 1e-12, text)
		require.Equal(t, want.unit, unit.Name, text)
	}
	for _, text := range []string{"", "%", "five %", "5 parsecs", "1e400 s", "NaN"} {
		_, _, err := ParseQuantity(text)
		require.Error(t, err, text)
	}
	share, _ := ParseUnit("share")
	require.Equal(t, "81 %", share.Print(0.807))
	require.Equal(t, "80.7 %", share.Exact(0.807))
	require.Equal(t, "0 %", share.Print(0.0001))
	require.Equal(t, "-81 %", share.Print(-0.807))
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"MPI_*send", "mpi_isend", true}, {"*guard*cell*", "amr_guardcell_fill", true}, {"a?c", "abc", true}, {"a?c", "ac", false},
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"a*b*c", "aXbXbXc", true}, {"a*b*c", "aXc", false}, {"fill", "refill", false},
	} {
		require.Equal(t, c.want, Glob(c.glob).Fits(c.name), "%s %s", c.glob, c.name)
	}
}

func TestRanges(t *testing.T) {
	ranges, err := parseRanges("0-3, 8-14:2,20-")
	require.NoError(t, err)
	in := func(n int) bool {
		for _, r := range ranges {
			if r.Contains(n) {
				return true
			}
		}
		return false
	}
	for n, want := range map[int]bool{0: true, 3: true, 4: false, 8: true, 9: false, 14: true, 16: false, 20: true, 1000: true} {
		require.Equal(t, want, in(n), n)
	}
}

// Expressions of any text are refused or typed, never believed; what is typed runs without panic.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"time(work) / run.core", "max(1, 2)", "sum(times(work))", `lost("waits")`, "waiting > 1 ? 2 : 3", "part(work)", "1 / 0", "-waiting", "not (1 > 2)"} {
		f.Add(text)
	}
	k, err := Library{}.Read("small.yaml", []byte(small))
	require.NoError(f, err)
	s := &scope{m: k.Scopes[0].Model}
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := s.compile(text, Position{1, 1}); err == nil {
			e.Run(map[string]any{"run": map[string]any{}})
		}
		s.template(text, Position{1, 1})
	})
}

// Files of any content are read or refused.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("composition: x\nmodels: {a: pipeline, b: pipeline}\nevent: (a.work b.work)+\n"))
	f.Add([]byte("extends: pipeline\nmatch: {work: {op: send}}\n"))
	for _, c := range mistakes {
		f.Add([]byte(strings.Replace(small, c.old, c.new, 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if k, err := (Library{}).Read("fuzz.yaml", data); err == nil {
			_, err := k.Tree()
			require.NoError(t, err)
		}
	})
}

// Models made at random of observations that build on each other: with a circle they are refused, without they load,
// and every fact comes after those it follows from.
func TestTreesOfRandomModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "facts")
		text := "model: m\ncomponents: {work: {match: {computation: any}}}\nthresholds: {a: 1 s}\nmetrics: {x: {value: time(work), unit: s}}\n" +
			"levels: [{title: t, needs: [profile]}]\nfactors:\n"
		name := func(i int) string { return "f" + string(rune('a'+i)) }
		for i := range n {
			text += "  " + name(i) + ": {title: t, cost: x, advice: a}\n"
		}
		text += "rules:\n"
		edges := map[[2]int]bool{}
		for i := range n {
			text += "  - {if: [x > a"
			for range rapid.IntRange(0, 2).Draw(t, "premises") {
				p := rapid.IntRange(0, n-1).Draw(t, "premise")
				edges[[2]int{p, i}] = true
				text += ", " + name(p)
			}
			text += "], then: " + name(i) + "}\n"
		}
		// Reachability by brute force.
		reach := map[[2]int]bool{}
		for e := range edges {
			reach[e] = true
		}
		for range n {
			for a := range reach {
				for b := range edges {
					if a[1] == b[0] {
						reach[[2]int{a[0], b[1]}] = true
					}
				}
			}
		}
		circle := false
		for i := range n {
			circle = circle || reach[[2]int{i, i}]
		}
		k, err := Library{}.Read("m.yaml", []byte(text))
		if circle {
			require.ErrorContains(t, err, "depends on itself")
			return
		}
		require.NoError(t, err, text)
		nodes, err := k.Tree()
		require.NoError(t, err)
		require.Len(t, nodes, n)
		for i, node := range nodes {
			if len(node.From) == 0 {
				continue
			}
			any := false // after at least one of those it follows from, which lists it
			for _, before := range nodes[:i] {
				for _, from := range node.From {
					any = any || before.ID == from
				}
			}
			require.True(t, any, node.ID)
		}
	})
}

// Aliases of aliases make much of little; where it is too much, that is said.
func TestAliasesAreBounded(t *testing.T) {
	text := "model: bomb\ntitle: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("key%d: &a%d [%s]\n", i, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	_, err := Library{}.Read("bomb.yaml", []byte(text))
	require.ErrorContains(t, err, "aliases stand for more than 100000 values")
}
