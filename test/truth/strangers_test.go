// Programs that nobody here wrote, as Debian has them: the same results and exit code bare, under a counter,
// and under Marple, and the calls that the counter has counted.
package truth

import (
	"marple/test/harness"

	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// substitution takes from a text what differs from run to run.
type substitution struct{ pattern, left string }

type stranger struct {
	name      string
	find      func(m *harness.Library) string // its path, or what is missing if it has none
	libraries []*harness.Library
	arguments []string
	files     map[string]string // it reads
	input     string            // it reads from standard input
	results   string            // the file it writes them to; otherwise stdout
	varies    []string          // functions whose number of calls depends on time, as patterns
	times     []substitution
	atLeast   uint64 // MPI calls of a rank: fewer are not the program that was meant
}

func inPath(name string) func(*harness.Library) string {
	return func(*harness.Library) string {
		path, err := exec.LookPath(name)
		if err != nil {
			return name
		}
		return path
	}
}

var strangers = []stranger{
	{
		name: "xdnep", libraries: []*harness.Library{harness.OpenMPI, harness.Mpich}, varies: []string{"MPI_Testall"}, atLeast: 100,
		find: func(m *harness.Library) string {
			name := fmt.Sprintf("/usr/lib/*/scalapack/%s-tests/xdnep", map[*harness.Library]string{harness.OpenMPI: "openmpi", harness.Mpich: "mpich"}[m])
			if found, err := filepath.Glob(name); err == nil && len(found) > 0 {
				return found[0]
			}
			return name
		},
		files: map[string]string{"NEP.dat": fmt.Sprintf(`'Schur decomposition, ScaLAPACK'
'a test'
'NEP.out'   output file name
6           device out
2           number of problem sizes
6 %d        N
1           number of block sizes
6           NB
1           number of process grids
1           P
2           Q
20.0        threshold
`, harness.Scale(12, 100))},
		times: []substitution{{`(?m)^(WALL.*?) +[\d.]+ +[\d.]+ (PASSED|FAILED)`, "$1 $2"}},
	},
	{
		name: "hpcc", libraries: []*harness.Library{harness.OpenMPI}, find: inPath("hpcc"), results: "hpccoutf.txt", varies: []string{"*"}, atLeast: 1000,
		files: map[string]string{"hpccinf.txt": fmt.Sprintf(`HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
%d           Ns
1            # of NBs
20           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
`, harness.Scale(120, 1000))},
		times: []substitution{
			{`(?mi)^.*(time|flops|gup|/s\b|gb|bytes|[mu]secs?\b|latency|bandwidth|stream|second|clock|microsec).*\n`, ""},
			{`(?m)^WALL .*(PASSED|FAILED).*`, "WALL $1"},            // PTRANS
			{`(?m)^CPU .*PASSED.*\n`, ""},                           // PTRANS, where it took any
			{`(?m)^(WR.*?) +[\d.]+ +[\d.e+-]+$`, "$1"},              // HPL
			{`(?m)^(Copy|Scale|Add|Triad):.*\n`, ""},                // STREAM
			{`(?m)^(Computing:|Scaled residual:).*\n`, ""},          // FFT; DGEMM, whose matrices are seeded with the time
			{`(?m)^.*(ping pong|pings).*\n`, ""},                    // as many as fit into a given time
			{`(?m)^Node selected \d+\n`, ""},                        // at random
			{`(?m)^Use MPI_Wtick for .*\n`, ""},                     // where a ping pong was too quick to be timed
			{`(?m)^(Generation|Tuning|Inverse FFT|Check):.*\n`, ""}, // FFT
		},
	},
	{
		name: "lmp", libraries: []*harness.Library{harness.OpenMPI}, find: inPath("lmp"), arguments: []string{"-in", "in.melt", "-log", "none"}, atLeast: 1000,
		files: map[string]string{"in.melt": fmt.Sprintf(`# 3d Lennard-Jones melt
units		lj
atom_style	atomic
lattice		fcc 0.8442
region		box block 0 6 0 6 0 6
create_box	1 box
create_atoms	1 box
mass		1 1.0
velocity	all create 3.0 87287 loop geom
pair_style	lj/cut 2.5
pair_coeff	1 1 1.0 1.0 2.5
neighbor	0.3 bin
neigh_modify	every 20 delay 0 check no
fix		1 all nve
thermo		10
run		%d
`, harness.Scale(100, 2000))},
		times: []substitution{
			{`Loop time of [\d.e+-]+`, "Loop time"},
			{`(?m)^(Performance:|[\d.]+% CPU use|Total wall time:|  create_atoms CPU).*\n`, ""},
			{`(?m)^(Pair|Neigh|Comm|Output|Modify|Other) +\|.*\n`, ""},
		},
	},
}

// once runs the program in a directory of its own, which it returns with what it has written.
func (s stranger) once(t testing.TB, c harness.Command, run func(c harness.Command) harness.Result) (end harness.Result, results string) {
	t.Helper()
	c.Directory, c.Input = t.TempDir(), s.input
	for name, text := range s.files {
		require.NoError(t, os.WriteFile(filepath.Join(c.Directory, name), []byte(text), 0o666))
	}
	end = run(c)
	results = end.Stdout
	if s.results != "" {
		text, err := os.ReadFile(filepath.Join(c.Directory, s.results))
		require.NoError(t, err)
		results = string(text)
	}
	for _, sub := range s.times {
		results = regexp.MustCompile(sub.pattern).ReplaceAllString(results, sub.left)
	}
	return end, results
}

// fixed leaves the calls that are made in every run.
func (s stranger) fixed(all harness.Calls) harness.Calls {
	left := make(harness.Calls, len(all))
	for rank := range all {
		left[rank] = maps.Clone(all[rank])
		maps.DeleteFunc(left[rank], func(name string, _ uint64) bool {
			return slices.ContainsFunc(s.varies, func(pattern string) bool {
				match, err := path.Match(pattern, name)
				return err == nil && match
			})
		})
	}
	return left
}

func TestProgramsNobodyHereWrote(t *testing.T) {
	t.Parallel()
	const ranks = 2
	functions := harness.ReadTable(t)
	one := harness.Command{Environment: []string{"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"}}
	for _, s := range strangers {
		for _, mpi := range s.libraries {
			t.Run(s.name+" "+mpi.Name, func(t *testing.T) {
				mpi.Need(t)
				executable := s.find(mpi)
				if _, err := os.Stat(executable); err != nil {
					harness.Missing(t, executable)
				}
				program := append([]string{executable}, s.arguments...)
				bare, want := s.once(t, one, func(c harness.Command) harness.Result { return mpi.Bare(t, c, ranks, program...) })
				require.Zero(t, bare.Code, bare.Stderr)
				require.Greater(t, strings.Count(want, "\n"), 20)

				c, alone := mpi.Counting(t, one)
				counted, results := s.once(t, c, func(c harness.Command) harness.Result { return mpi.Bare(t, c, ranks, program...) })
				assert.Equal(t, bare.Code, counted.Code)
				assert.Equal(t, want, results, "counted")

				c, below := mpi.Counting(t, one)
				directory := filepath.Join(t.TempDir(), "run")
				end, results := s.once(t, c, func(c harness.Command) harness.Result { return mpi.Under(t, c, ranks, directory, program) })
				assert.Equal(t, bare.Code, end.Code)
				assert.Empty(t, end.Said())
				assert.Equal(t, want, results, "measured")
				measured := harness.ReadRun(t, directory)
				harness.Sound(t, directory, measured)
				assert.Empty(t, harness.NotSeen(measured))
				calls := harness.Recorded(t, measured)
				assert.Equal(t, below().ToRecord(functions), calls, "the counter below Marple")
				assert.Equal(t, s.fixed(alone().ToRecord(functions)), s.fixed(calls), "the counter alone")
				for _, p := range measured.PerRank {
					assert.Greater(t, p.Calls, s.atLeast)
				}
			})
		}
	}
}
