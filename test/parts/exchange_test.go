package parts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

// exchanging is a program whose ranks exchange implementations that communicate.
func exchanging(t testing.TB, mpi *harness.Library, source string, more ...string) string {
	t.Helper()
	there := func(name string) string { return harness.Apps(filepath.Join("exchange", name)) }
	directory := t.TempDir()
	r := harness.Command{}.Run(t, append([]string{harness.Artifact(t, "marple"), "proxygen", there("work.hpp"), "--families", there("families.yaml"),
		"--family", "worker", "--agree", "-o", filepath.Join(directory, "worker_family.hpp")}, more...)...)
	require.Zero(t, r.Code, r.Stderr)
	out := filepath.Join(directory, "exchange")
	cxx(mpi, t, out, "-I"+directory, "-I"+harness.Apps("exchange"), there(source))
	return out
}

// managed is such a program, by rules.
func managed(t testing.TB, mpi *harness.Library) string {
	return exchanging(t, mpi, "managed.cpp", "--rules", harness.Apps("exchange/rules.yaml"))
}

// served is how often each implementation served on each rank, in the order of the records.
func served(t testing.TB, directory string) (byRank map[any][]any) {
	t.Helper()
	_, rows := readInvocations(t, directory)
	byRank = map[any][]any{}
	for _, i := range rows {
		require.Equal(t, "worker", i["instance"])
		if i["component"] == run.RulesComponent {
			continue
		}
		byRank[i["rank"]] = append(byRank[i["rank"]], i["component"])
	}
	return byRank
}

// Ranks take the same implementation at every call, though each sees other times: they would not come to the end else.
func TestRanksAgree(t *testing.T) {
	t.Parallel()
	const ranks, calls = 4, 600
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := exchanging(t, mpi, "main.cpp")
		for _, end := range []string{"", "kill"} {
			if end == "" && mpi != harness.Mock && !harness.Long() { // ranks that poll beside each other take long
				continue
			}
			directory := filepath.Join(t.TempDir(), "run")
			line := []string{program, "trial"}
			if end != "" {
				line = append(line, end)
			}
			r := mpi.Under(t, harness.Command{}, ranks, directory, line)
			if end == "" {
				require.Zero(t, r.Code, r.Stderr)
			} else { // what a killed run has done is told as well
				r = harness.Command{}.Run(t, harness.Artifact(t, "marple"), "recover", directory)
				require.Zero(t, r.Code, r.Stderr)
			}
			choices := served(t, directory)
			require.Len(t, choices, ranks)
			for rank, list := range choices {
				require.Len(t, list, calls)
				require.Equal(t, choices[int64(0)], list, "rank %v", rank)
			}
			measured := harness.ReadRun(t, directory)
			require.Empty(t, measured.Families)
			require.Len(t, measured.Exchanged, 1)
			e := measured.Exchanged[0]
			require.Equal(t, "worker", e.Family)
			require.Equal(t, []string{"trial"}, e.Policies)
			require.EqualValues(t, ranks*calls, e.Calls)
			require.Len(t, e.Implementations, 3)
			require.Contains(t, r.Stdout+r.Stderr, "\nExchanged    worker by trial: 2,400 calls took ")
		}
	})
}

// Ranks that are managed by rules serve and set the same at every call, or messages would not match. Whatever was done is told of
// all of them, of a killed run, too.
func TestRanksAreManaged(t *testing.T) {
	t.Parallel()
	const ranks, calls = 4, 240
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		directory := filepath.Join(t.TempDir(), "run")
		mpi.Under(t, harness.Command{}, ranks, directory, []string{managed(t, mpi), "kill"})
		r := harness.Command{}.Run(t, harness.Artifact(t, "marple"), "recover", directory)
		require.Zero(t, r.Code, r.Stderr)
		choices := served(t, directory)
		require.Len(t, choices, ranks)
		for rank, list := range choices {
			require.Len(t, list, calls)
			require.Equal(t, choices[int64(0)], list, "rank %v", rank)
		}
		e := harness.ReadRun(t, directory).Exchanged[0]
		require.Equal(t, []string{"rules"}, e.Policies)
		require.Len(t, e.Rules, 4)
		require.NotEmpty(t, e.Firings)
		for _, f := range e.Firings {
			require.Equal(t, ranks, f.Ranks, f.Did)
		}
		require.EqualValues(t, ranks*len(e.Firings), e.Recorded)
		require.Equal(t, e.Fired(), e.Recorded)
		require.Contains(t, r.Stdout+r.Stderr, "\nExchanged    worker by rules: 960 calls took ")
	})
}

// On the virtual clock it is known what the rules do: another one serves when the size grows, and its block is tuned to the best one.
func TestManagedExactly(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := managed(t, harness.Mock)
	virtual := func(settings ...string) (run.Exchanged, string) {
		directory := filepath.Join(t.TempDir(), "run")
		mpi := *harness.Mock
		mpi.Mpirun = append(slices.Clone(mpi.Mpirun), "--virtual")
		end := mpi.Under(t, harness.Command{Environment: settings}, 4, directory, []string{program, "exact"})
		require.Zero(t, end.Code, end.Stderr)
		r := harness.Command{}.Run(t, harness.Artifact(t, "marple"), "report", "--full", directory)
		require.Zero(t, r.Code, r.Stderr)
		return harness.ReadRun(t, directory).Exchanged[0], r.Stdout
	}
	e, text := virtual()
	var told []run.Firing
	for _, f := range e.Firings {
		if f.Tuning != "begins" && f.Tuning != "measured" {
			told = append(told, f)
		}
	}
	require.Len(t, told, 3)
	uneven, large, block := told[0], told[1], told[2]
	require.Equal(t, []string{"uneven", "flat → steep"}, []string{uneven.Rule, uneven.Did})
	require.Equal(t, []string{"large", "steep → linear"}, []string{large.Rule, large.Did})
	require.Equal(t, []string{"block", "block = 24", "found"}, []string{block.Rule, block.Did, block.Tuning})
	require.Equal(t, []run.Reason{{Metric: "n", Value: 2048}}, large.Why)
	require.Equal(t, 1, uneven.Overruled) // small, which wants flat
	reasons := map[string]float64{}
	for _, f := range []run.Firing{uneven, block} {
		for _, r := range f.Why {
			reasons[r.Metric] = r.Value
		}
		require.Equal(t, 4, f.Holding)
	}
	require.Greater(t, reasons["imbalance"], 0.1)
	require.Equal(t, 60.0, reasons["calls_since_change"])
	require.LessOrEqual(t, reasons["evaluations"], 15.0) // that many there are
	require.InDelta(t, 44e-6+1e-6, reasons["measured"], 2e-6)
	require.Contains(t, text, "rule large (rules.yaml:6): steep → linear at ")
	require.Contains(t, text, "rule that did nothing: small")
	require.NotContains(t, text, "not told")

	// Without records of invocations the firings are counted all the same.
	e, text = virtual("MARPLE_INVOCATIONS=0")
	require.Empty(t, e.Firings)
	require.Greater(t, e.Fired(), uint64(40))
	require.Contains(t, text, fmt.Sprintf("%d firings are not told: there are no records of them", e.Fired()))
}

// On the virtual clock what was chosen when is known, and what it brought against what each implementation does take.
func TestExchangedExactly(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	program := exchanging(t, harness.Mock, "main.cpp")
	virtual := func(policy string) (run.Exchanged, map[any][]invocation, float64) {
		directory := filepath.Join(t.TempDir(), "run")
		mpi := *harness.Mock
		mpi.Mpirun = append(slices.Clone(mpi.Mpirun), "--virtual")
		end := mpi.Under(t, harness.Command{}, 4, directory, []string{program, policy})
		require.Zero(t, end.Code, end.Stderr)
		r := harness.ReadRun(t, directory)
		require.Len(t, r.Exchanged, 1)
		require.Equal(t, []string{policy}, r.Exchanged[0].Policies)
		_, rows := readInvocations(t, directory)
		byRank := map[any][]invocation{}
		for _, i := range rows {
			byRank[i["rank"]] = append(byRank[i["rank"]], i)
		}
		return r.Exchanged[0], byRank, float64(r.WallNs) / 1e9
	}
	e, rows, length := virtual("trial")
	by := map[string]run.Served{}
	sum, calls := 0.0, uint64(0)
	for _, i := range e.Implementations {
		by[i.Name] = i
		sum += i.Time
		calls += i.Calls
	}
	require.InDelta(t, e.Time, sum, 1e-9)
	require.Equal(t, e.Calls, calls)
	// flat takes the least time for half of the run and the most for the other half: then it is steep's turn.
	require.Greater(t, by["flat"].Calls, uint64(1000))
	require.Greater(t, by["steep"].Calls, uint64(1000))
	require.Less(t, by["linear"].Calls, uint64(200))
	require.Equal(t, "flat", e.Spells[0].Implementation)
	require.Equal(t, "steep", e.Spells[len(e.Spells)-1].Implementation)

	for _, i := range e.Implementations {
		f, alone, _ := virtual("fixed:" + i.Name)
		require.Greater(t, f.Time, e.Time)
		var truth, took float64 // of the calls between two of its own that are not far from each other
		compared := uint64(0)
		for rank, list := range rows {
			var between []int
			last := -1
			for n, row := range list {
				between = append(between, n)
				if row["component"] != i.Name {
					continue
				}
				if last < 0 || row["start"].(float64)-list[last]["start"].(float64) > length/5 {
					between = []int{n}
				}
				for _, k := range between {
					compared++
					truth += alone[rank][k]["wall"].(float64)
					took += list[k]["wall"].(float64)
				}
				between, last = nil, n
			}
		}
		require.Equal(t, compared, i.Compared)
		require.InDelta(t, took, i.Took, 1e-9)
		require.InDelta(t, truth, i.Always, 2*i.Error+1e-3*truth, i.Name)
		require.Less(t, i.Error, 0.2*i.Always, i.Name)
	}
	require.Greater(t, by["steep"].Compared, e.Calls*9/10)
	require.Greater(t, by["linear"].Compared, e.Calls/3)
}

// A solver whose two methods are exchanged while it runs computes what it does where they are called in the same order
// by hand, bit by bit; and with one of them for all calls what it does with that one in its place.
func TestShockExchanged(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	a := shockAssembly(harness.Mock, t, false)
	families := a.path("families.yaml")
	require.NoError(t, os.WriteFile(families, []byte("families: {riemann: {implementations: {efm: {class: EFMFlux, fit: yes}, godunov: {class: GodunovFlux, fit: yes}}}}\n"), 0o600))
	a.proxies(t, "riemann_family.hpp", shock("shock.hpp"), "--port", "shock::RiemannPort", "--families", families, "--family", "riemann", "--stateless", "--rules", shock("rules.yaml"),
		"--param", "RiemannPort::compute:q=faces.left.size()", "--param", "RiemannPort::compute:mode=mode")
	a.library(t, "exchange", []string{"ByHand", "ByFamily", "BySize", "ByRules"}, "-I"+harness.Apps("shock"), shock("exchange.cpp"))
	size := []string{"width 32", "height 8", "levels 2", "time 0.1"}
	script := func(class, every, first string) []string {
		w := hydro("EFMFlux", size...)
		for i, c := range w.components {
			if strings.HasSuffix(c, " riemann riemann") {
				w.components[i] = class + " riemann riemann"
			}
		}
		w.components = append(w.components, "EFMFlux efm riemann", "GodunovFlux godunov riemann")
		w.connections = append(w.connections, "riemann efm efm riemann", "riemann godunov godunov riemann")
		lines := w.lines(false)
		last := lines[len(lines)-1]
		return a.script(t, append(lines[:len(lines)-1], "parameters riemann parameters every "+every, "parameters riemann parameters first "+first, last)...)
	}
	say := func(line []string) string {
		r := harness.Mock.Bare(t, harness.Command{Directory: a.directory}, 2, line...)
		require.Zero(t, r.Code, r.Stderr)
		return r.Stdout
	}
	plain := map[string]string{}
	for first, class := range map[string]string{"0": "EFMFlux", "1": "GodunovFlux"} {
		plain[class] = say(a.script(t, hydro(class, size...).lines(false)...))
		require.Equal(t, plain[class], say(script("ByFamily", "0", first)))
	}
	require.NotEqual(t, plain["EFMFlux"], plain["GodunovFlux"])
	mixed := say(script("ByHand", "7", "0"))
	require.NotContains(t, []string{plain["EFMFlux"], plain["GodunovFlux"]}, mixed)
	require.Equal(t, mixed, say(script("ByFamily", "7", "0")))

	directory := filepath.Join(t.TempDir(), "run")
	r := harness.Mock.Under(t, harness.Command{Directory: a.directory}, 2, directory, script("ByFamily", "7", "0"))
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, mixed, r.Stdout)
	e := harness.ReadRun(t, directory).Exchanged
	require.Len(t, e, 1)
	require.ElementsMatch(t, []string{"fixed:efm", "fixed:godunov"}, e[0].Policies)
	require.InDelta(t, float64(e[0].Implementations[0].Calls), float64(e[0].Implementations[1].Calls), 14)

	// The rules of a composition connect the one or the other, patch by patch.
	bySize := say(script("BySize", "0", "0"))
	require.Equal(t, bySize, say(script("ByRules", "0", "0")))
	directory = filepath.Join(t.TempDir(), "run")
	r = harness.Mock.Under(t, harness.Command{Directory: a.directory}, 2, directory, script("ByRules", "0", "0"))
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, bySize, r.Stdout)
	_, rows := readInvocations(t, directory)
	who := map[any]int{}
	for _, i := range rows {
		if i["instance"] == "riemann" && i["component"] != run.RulesComponent {
			who[i["component"]]++
			require.Equal(t, i["q"].(int64) >= 1000, i["component"] == "godunov", "%v", i)
		}
	}
	require.Positive(t, who["efm"])
	require.Positive(t, who["godunov"])
	managed := harness.ReadRun(t, directory).Exchanged[0]
	require.Equal(t, []string{"rules"}, managed.Policies)
	require.Equal(t, "connect riemann -> godunov", managed.Rules[0].Then)
	require.Positive(t, managed.Rules[0].Fired)
	require.Positive(t, managed.Rules[1].Fired)
	require.Equal(t, managed.Fired(), managed.Recorded)
}
