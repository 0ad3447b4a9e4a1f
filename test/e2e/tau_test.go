// TAU: Marple as a plugin of TAU, for which there is a stand-in (test/apps/tau/host.c), gives what it gives when it
// measures by itself.
package e2e

import (
	"marple/test/harness"

	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

// tauHost is the stand-in and a program for one MPI library.
type tauHost struct {
	mpi              *harness.Library
	library, program string
}

func newTAUHost(t testing.TB, mpi *harness.Library) tauHost {
	t.Helper()
	built := mpi.Compile(t, "tau/host", "-fPIC", "-shared", "-Wl,-soname,libTAU.so")
	h := tauHost{mpi, filepath.Join(filepath.Dir(built), "libTAU.so"), mpi.Compile(t, "tau/program", "-lpthread")}
	require.NoError(t, os.Rename(built, h.library))
	return h
}

// plugin are the variables that make TAU load a libmarple.so. marple exec is not needed.
func plugin(directory string) []string {
	return []string{"TAU_PLUGINS=libmarple.so", "TAU_PLUGINS_PATH=" + directory}
}

// launch runs the program with 4 ranks; before is what stands between mpirun and it.
func (h tauHost) launch(t testing.TB, environment []string, part string, before ...string) (*run.Run, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	c := harness.Command{Directory: t.TempDir(), Environment: append([]string{"MARPLE_OUT=" + out}, environment...)}
	line := append(append(before, h.program), part)
	if h.mpi == harness.Mock {
		line = append([]string{"--virtual"}, line...)
	}
	result := c.Run(t, h.mpi.Launch(4, line...)...)
	require.Zero(t, result.Code, "%s", result.Stderr)
	assert.Equal(t, 1, strings.Count(result.Stderr, "\nEfficiency "), "one report: %s", result.Stderr)
	r, err := run.Read(out)
	require.NoError(t, err)
	return r, result.Stderr
}

func (h tauHost) directly(t testing.TB, environment []string, part string) *run.Run {
	r, _ := h.launch(t, append([]string{"MARPLE_CALLPATH=off"}, environment...), part, harness.Artifact(t, "marple"), "exec")
	return r
}

// throughTAU has TAU preloaded, as tau_exec does it.
func (h tauHost) throughTAU(t testing.TB, environment []string, part string) *run.Run {
	r, _ := h.launch(t, append(append([]string{"MARPLE_CALLPATH=off"}, plugin(harness.Build)...), environment...), part, "env", "LD_PRELOAD="+h.library)
	return r
}

// withoutReported leaves out what only TAU can know, and what is different each time.
func withoutReported(t testing.TB, r *run.Run) *run.Run {
	t.Helper()
	data, err := r.Encode()
	require.NoError(t, err)
	copied, err := run.Decode(data)
	require.NoError(t, err)
	copied.Started, copied.AtomicEvents, copied.Metadata = r.Started.Truncate(1e18), nil, nil
	for i := range copied.PerRank {
		copied.PerRank[i].PeakMemory = 0
	}
	if copied.Waits != nil {
		copied.Waits.LogBytes, copied.Waits.Events = 0, 0
	}
	copied.NotSeen = slices.DeleteFunc(copied.NotSeen, func(n run.Note) bool { return n.ID == "fractions-lost" })
	for _, thread := range copied.CallGraph {
		thread.Walk(func(n *run.Node, _ int) bool {
			n.Groups = nil
			return true
		})
	}
	return copied
}

func sameRun(t testing.TB, direct, tau *run.Run, cut func(r *run.Run)) {
	t.Helper()
	texts := [2]string{}
	for i, r := range []*run.Run{direct, tau} {
		r = withoutReported(t, r)
		cut(r)
		text, err := json.MarshalIndent(r, "", " ")
		require.NoError(t, err)
		texts[i] = string(text)
	}
	assert.Equal(t, texts[0], texts[1])
}

func everythingOf(*run.Run) {}

// On the virtual clock, everything is equal to the last digit.
func TestTAUExactly(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	for name, c := range map[string]struct {
		part        string
		environment []string
		cut         func(r *run.Run)
	}{
		"blocking":                {"blocking", nil, everythingOf},
		"old table of callbacks":  {"blocking", []string{"HOST_TABLE=old"}, everythingOf},
		"later table":             {"blocking", []string{"HOST_TABLE=later"}, everythingOf},
		"collectives and roots":   {"collective", []string{"HOST_GIVEN=1"}, everythingOf},
		"threads":                 {"threads", nil, everythingOf},
		"collectives, not told":   {"collective", nil, func(r *run.Run) { onlyTimes(r); bytesNotKnown(r) }},
		"receives in flight":      {"flight", nil, everythingOf},
		"other communicators":     {"communicators", nil, onlyTimes},
		"... of which TAU tells":  {"communicators", []string{"HOST_GIVEN=1"}, onlyTimes},
		"... and in an old table": {"communicators", []string{"HOST_GIVEN=1", "HOST_TABLE=old"}, onlyTimes},
	} {
		t.Run(name, func(t *testing.T) {
			sameRun(t, h.directly(t, c.environment, c.part), h.throughTAU(t, c.environment, c.part), c.cut)
		})
	}
}

// Where TAU is a part of the program, its frames cannot be told from the program's: call paths are made of timers alone.
func TestTAUInTheProgram(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	expected := h.directly(t, nil, "blocking")
	h.program = harness.Mock.Compile(t, "tau/program", harness.Apps("tau/host.c"), "-rdynamic", "-lpthread")
	r, _ := h.launch(t, plugin(harness.Build), "blocking", "env")
	sameRun(t, expected, r, everythingOf)
}

// onlyTimes leaves out what depends on communicators.
func onlyTimes(r *run.Run) {
	r.Waits, r.Communicators, r.Findings, r.Loss, r.NotSeen = nil, nil, nil, nil, nil
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			n.Waiting, n.Caused = 0, 0
			return true
		})
	}
}

// bytesNotKnown leaves out bytes of operations with a root.
func bytesNotKnown(r *run.Run) {
	for i := range r.Functions {
		r.Functions[i].Out, r.Functions[i].In, r.Functions[i].Sizes = 0, 0, nil
	}
	for _, root := range r.CallGraph {
		root.Walk(func(n *run.Node, _ int) bool {
			n.Out, n.In, n.Sizes = 0, 0, nil
			return true
		})
	}
}

// Atomic events and metadata are those of all ranks.
func TestTAUReported(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	r := h.throughTAU(t, nil, "blocking")
	require.Len(t, r.AtomicEvents, 2)
	assert.Equal(t, "Message size for all-reduce", r.AtomicEvents[0].Name)
	assert.EqualValues(t, 80*16, r.AtomicEvents[0].Values.Sum)
	residual := r.AtomicEvents[1]
	assert.Equal(t, "residual", residual.Name)
	assert.EqualValues(t, 80, residual.Values.N)
	assert.EqualValues(t, 7, residual.Values.Min)
	assert.EqualValues(t, 1000, residual.Values.Max)
	assert.Contains(t, r.Metadata, run.Metadata{Name: "grid", Value: "1000x1000", Rank: 0, Ranks: 4, Same: true})

	r, text := h.launch(t, append(plugin(harness.Build), "MARPLE_CALLPATH=off"), "odd", "env", "LD_PRELOAD="+h.library)
	names := map[string]uint64{}
	for _, a := range r.AtomicEvents {
		names[a.Name] = a.Values.N
		if a.Name == "below zero" { // which TAU tells as a whole number without a sign, until it is asked at the end
			assert.Equal(t, run.Reals{N: 8, Sum: -31, Min: -5.5, Max: -2.25, Mean: -3.875, Deviation: 1.625}, a.Values)
		}
	}
	assert.EqualValues(t, 4, names["quote\" <b>&amp;</b> \\ 'x'"])
	assert.EqualValues(t, 4, names["not UTF-8 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"])
	assert.EqualValues(t, 4, names["control\x01\x1b[31m\n\ttab"])
	assert.NotContains(t, text, "\x1b")
	var open []string
	root := r.Root()
	root.Walk(func(n *run.Node, _ int) bool {
		if n.Kind == "region" && n.Calls != nil {
			open = append(open, strings.Repeat(n.Name+" ", int(n.Calls.N/4)))
		}
		return true
	})
	all := strings.Join(open, "")
	for _, once := range []string{"outer ", "inner ", "not ended ", "phase ", "timed phase ", "left "} {
		assert.Contains(t, all, once)
	}
	assert.Equal(t, 1, strings.Count(all, "timed phase "), "a phase and its timer are one region")
	assert.Equal(t, 128, strings.Count(all, "deep "), "deeper ones are counted")
	var barriers uint64
	for _, f := range r.Functions {
		if f.Name == "MPI_Barrier" {
			barriers = f.Calls
		}
	}
	assert.EqualValues(t, 4*4, barriers, "in two phases, one that a timer alone has, and the last")
}

// What TAU counts beside the time is counted by regions, as far as there is room, unless Marple counts it itself.
func TestTAUMetrics(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	counted := func(environment ...string) *run.Run {
		return h.throughTAU(t, append(environment, "HOST_METRICS=A,perf::TASK-CLOCK,C,D,E,F,G,H,I"), "blocking")
	}
	told := func(name string, each uint64) run.Counter {
		return run.Counter{Name: name, Sources: []string{"TAU"}, Sum: each * 4 * 20} // of the outermost timers
	}
	r := counted("MARPLE_COUNTERS=perf::TASK-CLOCK")
	require.Len(t, r.Counters, 8)
	assert.Equal(t, told("A", 1), r.Counters[0])
	assert.Equal(t, told("C", 3), r.Counters[1])
	assert.Equal(t, told("H", 8), r.Counters[6])
	assert.NotContains(t, r.Counters[7].Sources, "TAU", r.Counters[7].Name)
	assert.Contains(t, r.NotSeen, run.Note{ID: "counters", Text: "not counted: I (one too many)"})
	for _, table := range []string{"old", "before"} {
		assert.Empty(t, counted("HOST_TABLE="+table).Counters, "there are no metrics in a table of this size")
	}
}

// TAU puts a barrier of its own into collective operations, with a timer in the same function: the operations are those that
// there are without it, and where their communicator is not known its time is waiting.
func TestTAUSynchronises(t *testing.T) {
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	calls := func(r *run.Run) map[string]uint64 {
		list := map[string]uint64{}
		for _, f := range r.Functions {
			list[f.Name] = f.Calls
		}
		return list
	}
	for _, part := range []string{"collective", "communicators"} {
		r := h.throughTAU(t, []string{"HOST_SYNC=1"}, part)
		assert.Equal(t, calls(h.directly(t, nil, part)), calls(r))
		waited := uint64(0)
		r.Root().Walk(func(n *run.Node, _ int) bool {
			assert.LessOrEqual(t, n.Waiting, n.Exclusive.Sum)
			if n.Name == "MPI_Allreduce" {
				waited += n.Waiting
			}
			return true
		})
		assert.True(t, part == "collective" || waited > 0)
		assert.Empty(t, r.Counters, "it is no counter")
	}
}

// Whatever else brings the library into the process, events count once.
func TestTAUTwice(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	h := newTAUHost(t, harness.Mock)
	expected := h.directly(t, nil, "blocking")
	copied := t.TempDir()
	for _, name := range []string{"libmarple.so", "libmarple-core.so"} {
		data, err := os.ReadFile(harness.Artifact(t, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), data, 0o777))
	}
	for name, c := range map[string]struct{ preload, plugins string }{
		"before TAU":          {harness.Artifact(t, "libmarple.so") + ":" + h.library, harness.Build},
		"behind TAU":          {h.library + ":" + harness.Artifact(t, "libmarple.so"), harness.Build},
		"a copy as plugin":    {harness.Artifact(t, "libmarple.so") + ":" + h.library, copied},
		"a copy behind":       {h.library + ":" + harness.Artifact(t, "libmarple.so"), copied},
		"plugin, named twice": {h.library, harness.Build + "\nTAU_PLUGINS=libmarple.so:libmarple.so(x,y)"},
	} {
		t.Run(name, func(t *testing.T) {
			directory, twice, _ := strings.Cut(c.plugins, "\n")
			environment := append([]string{"MARPLE_CALLPATH=off"}, plugin(directory)...)
			if twice != "" {
				environment = append(environment, twice)
			}
			r, _ := h.launch(t, environment, "blocking", "env", "LD_PRELOAD="+c.preload)
			assert.NotEmpty(t, r.AtomicEvents, "what TAU alone knows is there")
			sameRun(t, expected, r, everythingOf)
		})
	}
	t.Run("switched off", func(t *testing.T) {
		c := harness.Command{Directory: t.TempDir(), Environment: append(plugin(harness.Build), "MARPLE_ENABLE=off", "LD_PRELOAD="+h.library)}
		result := c.Run(t, harness.Mock.Launch(2, h.program, "blocking")...)
		assert.Zero(t, result.Code)
		assert.Empty(t, result.Stderr)
	})
}

// With real libraries times differ; all else is equal. And call paths lead to the program's lines, past TAU.
func TestTAUWithRealMPI(t *testing.T) {
	t.Parallel()
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mpich} {
		t.Run(mpi.Name, func(t *testing.T) {
			mpi.Need(t)
			h := newTAUHost(t, mpi)
			cut := func(r *run.Run) *run.Run {
				r = withoutReported(t, r)
				r.NotSeen = nil
				return r
			}
			assert.Equal(t, comparable(t, cut(h.directly(t, nil, "blocking"))), comparable(t, cut(h.throughTAU(t, nil, "blocking"))))

			r, _ := h.launch(t, plugin(harness.Build), "blocking", "env", "LD_PRELOAD="+h.library)
			lines := map[string]int{}
			r.Root().Walk(func(n *run.Node, _ int) bool {
				if n.Kind == "mpi" && n.Line > 0 {
					lines[n.Name+" "+filepath.Base(n.File)]++
				}
				return true
			})
			assert.Equal(t, map[string]int{"MPI_Send program.c": 2, "MPI_Recv program.c": 2, "MPI_Sendrecv program.c": 1, "MPI_Ssend program.c": 1,
				"MPI_Allreduce program.c": 1, "MPI_Barrier program.c": 1, "MPI_Finalize program.c": 1}, lines)
		})
	}
}

// A program without MPI, whose TAU is linked into it: the report comes with the first of the callbacks at the end.
func TestTAUAlone(t *testing.T) {
	t.Parallel()
	program := harness.Compile(t, "gcc", "tau/alone", "-rdynamic", "-ldl", "-lpthread")
	for places, reports := range map[string]bool{"16": true, "18": true, "45": true, "60": true, "4": false} {
		t.Run(places+" callbacks", func(t *testing.T) {
			c := harness.Command{Directory: t.TempDir(), Environment: []string{"MARPLE_OUT=run"}}
			result := c.Run(t, program, harness.Artifact(t, "libmarple.so"), places)
			require.Zero(t, result.Code, "%s", result.Stderr)
			if !reports {
				assert.Equal(t, "refused\n", result.Stdout)
				assert.Equal(t, "marple: this TAU does not offer what a plugin needs, so nothing is measured\n", result.Stderr)
				return
			}
			assert.Equal(t, "plugin 3 registered\ndone\n", result.Stdout)
			assert.Equal(t, 1, strings.Count(result.Stderr, "\nEfficiency "), "%s", result.Stderr)
			r, err := run.Read(filepath.Join(c.Directory, "run"))
			require.NoError(t, err)
			calls := map[string]uint64{}
			for _, root := range r.CallGraph {
				root.Walk(func(n *run.Node, _ int) bool {
					if n.Kind == "region" && n.Calls != nil {
						calls[n.Name] += n.Calls.N
					}
					return true
				})
			}
			assert.Equal(t, map[string]uint64{"main": 1, "stir": 10, "thread": 300}, calls)
			require.Len(t, r.AtomicEvents, 1)
			assert.EqualValues(t, 300, r.AtomicEvents[0].Values.N)
			values := map[string]string{}
			for _, m := range r.Metadata {
				values[m.Name] = m.Value
			}
			assert.Equal(t, map[string]string{"text": "a text", "whole": "-5", "real": "0.1", "yes": "true", "none": "null",
				"array": `["a text", -5]`, "object": `{first: "a text", second: -5}`}, values)
		})
	}
}
