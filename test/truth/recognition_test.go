// Which design a program has, seen from outside: those of test/apps and of other people, none of which the signs of
// the models were set with (analysis/diagnosis/recognition_test.go).
package truth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/diagnosis"
	"marple/analysis/run"
	"marple/test/harness"
)

const (
	noModel    = "none"
	twoDesigns = "master-worker + geometric-decomposition"
)

// Programs of this tree, which run on the virtual clock; what they must be recognized as.
var ownDesigns = []struct {
	design, program string
	ranks           []int
	arguments       []string
}{
	{"master-worker", "models/masterworker", []int{4, 8}, []string{"healthy"}},
	{"master-worker", "models/masterworker", []int{5}, []string{"rounds"}},
	{"pipeline", "models/pipeline", []int{3, 8}, []string{"healthy"}},
	{"wavefront", "models/wavefront", []int{6, 9}, []string{"healthy"}},
	{"divide-and-conquer", "models/divide", []int{8, 12}, []string{"healthy"}},
	{"geometric-decomposition", "models/geometric", []int{4, 8}, []string{"healthy"}},
	{"bulk-synchronous", "models/bulk", []int{4, 8}, []string{"healthy"}},
	{"parallel-recursive-tree", "models/tree", []int{4, 8}, []string{"healthy"}},
	{"geometric-decomposition", "ailments", []int{4}, []string{"slow-rank"}},
	{"geometric-decomposition", "ailments", []int{6}, []string{"tiny", "2"}},
	{"bulk-synchronous", "ailments", []int{4}, []string{"collective", "5"}},
	{noModel, "ailments", []int{4}, []string{"polling", "2"}},
	{twoDesigns, "models/mixed", []int{5, 8}, []string{"healthy"}},
	{twoDesigns, "models/mixed", []int{5, 8}, []string{"turns"}},
	{noModel, "kernels/ep", []int{4}, []string{"healthy"}},
	{"bulk-synchronous", "kernels/is", []int{4}, []string{"healthy"}},
	{"geometric-decomposition", "kernels/cg", []int{2, 8}, []string{"healthy"}},
	{"geometric-decomposition", "kernels/mg", []int{4, 8}, []string{"healthy"}},
	{"bulk-synchronous", "kernels/ft", []int{4}, []string{"healthy"}},
	{"wavefront", "kernels/sweep", []int{4, 6}, []string{"healthy"}},
	{"bulk-synchronous", "kernels/bfs", []int{4}, []string{"healthy"}},
	{noModel, "kernels/matmul", []int{9}, []string{"healthy", "1", "1", "cannon"}},
	{"bulk-synchronous", "kernels/matmul", []int{4}, []string{"healthy", "1", "1", "summa"}},
	{noModel, "kernels/nbody", []int{6}, []string{"healthy"}},
	{"bulk-synchronous", "kernels/fft2", []int{4}, []string{"healthy"}},
	{"geometric-decomposition", "kernels/jacobi", []int{2, 6}, []string{"healthy"}},
}

// Programs because of which signs were mended: they must stay recognized, and judge nothing.
var learntFrom = []struct {
	design, program string
	ranks           []int
}{
	{"pipeline", "kernels/lu", []int{2}},
	{"wavefront", "kernels/lu", []int{4, 8}},
	{"pipeline", "kernels/adi", []int{2, 4, 8}},
	{"geometric-decomposition", "kernels/sp", []int{9, 16}},
}

func TestDesignsLearntFromAreRecognized(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	for _, p := range learntFrom {
		program := harness.Mock.Compile(t, p.program, "-lm")
		for _, ranks := range p.ranks {
			r := harness.Mock.Virtual(t, harness.Command{}, ranks, []string{program, "healthy"})
			c, err := diagnosis.Look(r)
			require.NoError(t, err)
			assert.Equal(t, p.design, designsOf(c, r), "%s on %d", p.program, ranks)
		}
	}
}

// Programs that run on a real library, most of which nobody here wrote. xdnep works on a matrix that is spread over
// the ranks; hpcc is seven benchmarks one after the other, of which those that take long on four ranks send everybody
// something: none of the models that are known.
var strangeDesigns = map[string]string{"mplrs": "master-worker", "tree-ppuzzle": "master-worker", "xdnep": "geometric-decomposition",
	"hpcc": noModel, "lmp": "geometric-decomposition", "heat": "geometric-decomposition"}

// Of two programs more, which count on the time for what they do next, only the design is looked at.
var farms = []stranger{
	{name: "mplrs", libraries: []*harness.Library{harness.OpenMPI}, find: inPath("mplrs"), arguments: []string{"cyclic.ext", "out.ine"},
		files: map[string]string{"cyclic.ext": cyclicPolytope(14, 8)}},
	{name: "tree-ppuzzle", libraries: []*harness.Library{harness.OpenMPI}, find: inPath("tree-ppuzzle"), arguments: []string{"sequences.phy"},
		files: map[string]string{"sequences.phy": sequences(12, 300)}, input: "y\n"},
}

// cyclicPolytope has points on the moment curve, whose facets mplrs finds.
func cyclicPolytope(points, dimension int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "cyclic\nV-representation\nbegin\n%d %d rational\n", points, dimension+1)
	for i := 1; i <= points; i++ {
		x := 1
		for range dimension + 1 {
			fmt.Fprintf(&b, " %d", x)
			x *= i
		}
		b.WriteString("\n")
	}
	return b.String() + "end\n"
}

// sequences are descendants of one sequence of nucleotides.
func sequences(n, length int) string {
	random := rand.New(rand.NewPCG(1, 2))
	all := [][]byte{make([]byte, length)}
	mutate := func(s []byte, one int) []byte {
		s = slices.Clone(s)
		for i := range s {
			if random.IntN(one) == 0 {
				s[i] = "ACGT"[random.IntN(4)]
			}
		}
		return s
	}
	all[0] = mutate(all[0], 1)
	for len(all) < n {
		all = append(all[1:], mutate(all[0], 10), mutate(all[0], 10))
	}
	text := fmt.Sprintf("%d %d\n", n, length)
	for i, s := range all {
		text += fmt.Sprintf("species%-3d%s\n", i, s)
	}
	return text
}

// recognized is what a run looks like, and what it looks like next.
func recognized(t testing.TB, r *run.Run) (got, next string) {
	t.Helper()
	c, err := diagnosis.Look(r)
	require.NoError(t, err)
	got = designsOf(c, r)
	for _, l := range c.Looks[:min(len(c.Looks), 2)] {
		if !strings.Contains(got, l.Model) && l.Confidence > 0 {
			return got, fmt.Sprintf("%s (%.0f %%)", l.Model, 100*l.Confidence)
		}
	}
	return got, ""
}

func TestDesignsAreRecognized(t *testing.T) {
	t.Parallel()
	harness.Mock.Need(t)
	table := []string{"Judged by signs that were set with other programs: those of analysis/diagnosis/recognition_test.go.",
		fmt.Sprintf("%-22s %5s  %-39s %-39s %s", "program", "ranks", "is", "looks like", "or")}
	tried, right := 0, 0
	programs := map[string]string{}
	for _, p := range ownDesigns {
		if programs[p.program] == "" {
			programs[p.program] = harness.Mock.Compile(t, p.program, "-lm")
		}
		for _, ranks := range p.ranks {
			name := strings.Join(append([]string{filepath.Base(p.program)}, p.arguments...), " ")
			got, next := recognized(t, harness.Mock.Virtual(t, harness.Command{}, ranks, append([]string{programs[p.program]}, p.arguments...)))
			tried++
			if got == p.design {
				right++
			} else {
				got += " !"
			}
			table = append(table, fmt.Sprintf("%-22s %5d  %-39s %-39s %s", name, ranks, p.design, got, next))
		}
	}
	tell(t, "recognition", append(table, fmt.Sprintf("%d of %d recognized", right, tried)))
	assert.GreaterOrEqual(t, 10*right, 9*tried)
}

func TestJudgeStrangersAreRecognized(t *testing.T) {
	heat := stranger{name: "heat", libraries: []*harness.Library{harness.OpenMPI}, arguments: []string{"512"},
		find: func(m *harness.Library) string { return m.Compile(t, "heat", "-lm") }}
	for _, s := range slices.Concat(strangers, farms, []stranger{heat}) {
		t.Run(s.name, func(t *testing.T) {
			mpi := s.libraries[0]
			mpi.Need(t)
			executable := s.find(mpi)
			if _, err := os.Stat(executable); err != nil {
				harness.Missing(t, executable)
			}
			if grid, ok := s.files["NEP.dat"]; ok { // two by two ranks
				s.files = map[string]string{"NEP.dat": strings.Replace(strings.Replace(grid, "1           P", "2           P", 1), "6 12", "12 24", 1)}
			}
			harness.Judge(t, func(t testing.TB) {
				directory := filepath.Join(t.TempDir(), "run")
				end, _ := s.once(t, harness.Command{Environment: []string{"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"}}, func(c harness.Command) harness.Result {
					return mpi.Under(t, c, 4, directory, append([]string{executable}, s.arguments...), "--report", "none")
				})
				require.Zero(t, end.Code, end.Stderr)
				got, next := recognized(t, harness.ReadRun(t, directory))
				t.Logf("looks like %s, next %s", got, next)
				assert.Equal(t, strangeDesigns[s.name], got)
			})
		})
	}
}
