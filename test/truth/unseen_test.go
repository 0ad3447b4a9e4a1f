package truth

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/run"
	"marple/analysis/trace"
	"marple/test/harness"
)

// An unseen program is one in the manner of a well-known one, with what is known of it from its source: which designs it may be said to
// have (to say none is never wrong), and what holds it back with its ailment, in whatever words the knowledge has for it.
type unseen struct {
	program, designs string
	ranks            []int
	ill              string // names of findings
	slow             int    // the rank that the finding is about, from the last one; or
	first            bool   // rank 0
	passing          string // findings that the healthy program may have, since it is as its design is
}

const (
	field  = "geometric-decomposition"
	steps  = "bulk-synchronous"
	farm   = "master-worker"
	stages = "pipeline"
	uneven = "imbalance uneven-pieces uneven-work uneven-blocks slow-stage"
	small  = "tiny-messages latency-bound"
	alone  = "serial-phase late-broadcast"
	filled = "coarse-grain coarse-blocks drained turning"
)

var anyNumber = []int{2, 4, 8, 16}

// The ailing ones have a rank that computes half as long again, the last but one, or another ailment that their source names. Those of the
// first two tables were used to mend what is known; before they were, those of the third were listed, and they were used for nothing.
var seenSince = []unseen{
	{program: "hydro", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "fecg", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "mg", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "fft", designs: steps, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "mc", ranks: anyNumber, ill: uneven, slow: 2},
	{program: "is", designs: steps, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "io", designs: steps, ranks: anyNumber, ill: uneven, first: true},
	{program: "amr", designs: "amr", ranks: anyNumber, ill: small},
	{program: "farm", designs: farm, ranks: []int{4, 8, 16}, ill: "slow-master", first: true, passing: "idle-master"},

	{program: "bitonic", ranks: anyNumber, ill: uneven, slow: 2},
	{program: "quad", designs: "parallel-recursive-tree", ranks: []int{4, 8, 16}, ill: uneven, slow: 2},
	{program: "multipart", designs: field, ranks: []int{4, 9, 16}, ill: uneven, slow: 2},
	{program: "oddeven", designs: field, ranks: []int{4, 8, 16}, ill: "wait-at-barrier"},
	{program: "cgraph", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "parareal", designs: stages, ranks: anyNumber, ill: filled + " late-sender"},
	{program: "steal", ranks: anyNumber, ill: uneven + " polling", slow: 2},
	{program: "levels", designs: farm, ranks: []int{8, 16}, ill: "slow-master late-sender", first: true, passing: "idle-master"},
	{program: "mgfew", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "summa", designs: steps, ranks: []int{4, 8, 16}, ill: alone},
}

var heldOut = []unseen{
	{program: "samplesort", designs: steps, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "stream", designs: stages, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "smith", designs: "pipeline wavefront", ranks: anyNumber, ill: filled},
	{program: "remc", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "hpl", designs: steps, ranks: anyNumber, ill: alone},
	{program: "frontier", designs: steps, ranks: anyNumber, ill: alone, first: true},
	{program: "recdoub", ranks: anyNumber, ill: uneven, slow: 2},
	{program: "pic", designs: field, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "pencil", designs: steps, ranks: anyNumber, ill: uneven, slow: 2},
	{program: "md3", designs: field, ranks: anyNumber, ill: small},
}

// told is what was said of a run: its designs, how sure the surest is, and the finding that comes first.
type told struct {
	designs  []run.Model
	findings []run.Finding
}

func (u unseen) run(t testing.TB, program string, ranks int, how string) told {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	r := harness.Command{}.Run(t, harness.Mock.Tool("mpirun"), "-n", fmt.Sprint(ranks), "--virtual", harness.Artifact(t, "marple"), "exec", "--clock", "external",
		"--report", "none", "--out", directory, program, how)
	require.Zero(t, r.Code, r.Stderr)
	measured := harness.ReadRun(t, directory)
	looks, err := diagnosis.Look(measured)
	require.NoError(t, err)
	choice, err := diagnosis.Choose(measured, knowledge.Library{})
	require.NoError(t, err)
	result, err := choice.Diagnose(measured, trace.Events(directory))
	require.NoError(t, err)
	designs := looks.Models(measured)
	if looks.Phases == nil {
		designs = designs[:min(len(designs), 1)]
	}
	return told{designs, result.Findings}
}

func (x told) String() string {
	text := noModel
	for i, d := range x.designs {
		text = strings.TrimPrefix(text, noModel)
		text += fmt.Sprintf("%s%s %.0f %%", map[bool]string{true: " + "}[i > 0], d.Name, 100*d.Confidence)
	}
	if len(x.findings) == 0 {
		return text + "; no finding"
	}
	return fmt.Sprintf("%s; %s (%.0f %%)", text, x.findings[0].Title, 100*x.findings[0].Share)
}

func (u unseen) judge(t testing.TB, x told, ranks int, how string) {
	t.Helper()
	t.Logf("%s", x)
	for _, d := range x.designs {
		assert.Contains(t, strings.Fields(u.designs), d.Name)
	}
	if how == "healthy" {
		for _, f := range x.findings {
			assert.Contains(t, strings.Fields(u.passing), f.ID)
		}
		return
	}
	require.NotEmpty(t, x.findings)
	f := x.findings[0]
	assert.Contains(t, strings.Fields(u.ill), f.ID)
	if u.first || u.slow > 0 && slices.Contains(strings.Fields(uneven), f.ID) {
		assert.Equal(t, []int{map[bool]int{false: ranks - u.slow}[u.first]}, f.Ranks)
	}
}

func TestJudgeUnseen(t *testing.T) {
	for _, u := range slices.Concat(seenSince, heldOut) {
		for _, how := range []string{"healthy", "ill"} {
			for _, ranks := range u.ranks {
				t.Run(fmt.Sprint(u.program, " ", how, " on ", ranks), func(t *testing.T) {
					harness.Judge(t, func(t testing.TB) {
						program := harness.Mock.Compile(t, filepath.Join("unseen", u.program), "-DMOCK", "-lm")
						u.judge(t, u.run(t, program, ranks, how), ranks, how)
					})
				})
			}
		}
	}
}
