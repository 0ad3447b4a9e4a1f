// However a program ends, its exit status stays its own, and what it had recorded is read back: by the rank
// that still runs, or by `marple recover`.
package harm

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/files"
	"marple/analysis/knowledge"
	"marple/analysis/pipeline"
	"marple/analysis/record"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/test/harness"
)

// account is what a rank of test/apps/endings.c has written down of itself.
type ownAccount struct{ pid, begun, ended, bytes uint64 }

func readOwnAccount(path string) (a ownAccount, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 32 {
		return a, false
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(data[8*i:]) }
	return ownAccount{word(0), word(1), word(2), word(3)}, word(0) != 0
}

// bytesOf adds up what the first n calls of endings.c send.
func bytesOf(n uint64) (sum uint64) {
	for i := range n {
		sum += i % 97
	}
	return sum
}

var endings = []struct {
	how     string
	who     string // one rank while the other waits for it, or all
	ended   string
	reports bool
}{
	{"atexit", "all", "finalized", true},
	{"exit", "one all", "exited", true},
	{"exit-0", "all", // what MPICH makes of one rank that leaves quietly depends on who notices first
		"exited", true},
	{"return", "one", "exited", true},
	{"handler", "one", "exited", true},
	{"MPI_Abort", "one all", "aborted", true},
	{"error", "one all", "failed", true},
	{"_exit", "one all", "vanished", false},
	{"SIGSEGV", "one", "vanished", false},
	{"SIGFPE", "one", "vanished", false},
	{"abort", "one", "vanished", false},
	{"SIGTERM", "one", "vanished", false},
	{"SIGKILL", "one all", "vanished", false},
}

// firstLine is how the report of a run begins, of which rank 1, or both, ended otherwise than through MPI_Finalize; after
// what is said of the ranks.
var firstLine = map[string]string{
	"finalized": "",
	"exited":    "exited without MPI_Finalize",
	"aborted":   "called MPI_Abort with code 7 at endings.c:77 in end",
	"vanished":  "vanished after the last event (killed, crashed or _exit)",
	"failed":    "in MPI_Send at endings.c:79 in end: ",
}

// An error that is fatal is known to be one where the library is known, and otherwise for an exit from within a call.
var fatal = map[*harness.Library]string{
	harness.OpenMPI: "MPI_ERR_RANK: invalid rank (error class 6)",
	harness.Mpich:   "Invalid buffer pointer (error class 1)",
}

func beginsWith(t *testing.T, mpi *harness.Library, who, ended, report string) {
	t.Helper()
	text, _, _ := strings.Cut(report, "\nMarple: endings,")
	text = strings.Join(strings.Fields(text), " ")
	ranks := `rank 1 `
	if who == "all" || ended == "vanished" {
		ranks = `(ranks 0 and 1|rank [01]) ` // the launcher may have killed one of them before
	}
	switch {
	case firstLine[ended] == "":
		assert.True(t, strings.HasPrefix(report, "Marple: endings, 2 ranks"), text)
	case ended == "failed" && fatal[mpi] == "":
		assert.Regexp(t, "^Marple: The run failed: "+ranks+regexp.QuoteMeta("exited in MPI_Send at endings.c:79 in end, without MPI_Finalize."), text)
	case ended == "failed":
		assert.Regexp(t, "^Marple: The run failed: "+ranks+regexp.QuoteMeta(firstLine[ended]+fatal[mpi]+"."), text)
	default:
		assert.Regexp(t, "^Marple: The run (failed|ended early): "+ranks+regexp.QuoteMeta(firstLine[ended]+"."), text)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	const ranks = 2
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "endings", "-g")
		for _, end := range endings {
			for i, who := range strings.Fields(end.who) {
				// MPICH has all of it here, each other library each end once: where one rank ends that way if that is possible.
				if i > 0 && mpi != harness.Mpich && !harness.Long() {
					continue
				}
				t.Run(end.how+" by "+who, func(t *testing.T) {
					how := []string{end.how}
					if who == "one" {
						how = append(how, "1")
					}
					scratch := t.TempDir()
					directory, account := filepath.Join(scratch, "run"), filepath.Join(scratch, "measured")
					bare, statuses := ending(t, mpi, ranks, filepath.Join(scratch, "bare"), []string{program}, how)
					measured, statusesMeasured := ending(t, mpi, ranks, account, []string{harness.Artifact(t, "marple"), "exec", "--out", directory, "--", program}, how)

					switch aborts := end.ended == "failed" || end.ended == "aborted"; {
					case mpi != harness.Mpich:
						assert.Equal(t, bare.Code, measured.Code, "exit status\nbare:\n%s\nmeasured:\n%s", bare.Stderr, measured.Stderr)
					case aborts: // the launcher ends everybody, the witnesses, too
						assert.Equal(t, bare.Code == 0, measured.Code == 0)
					case who == "one":
						require.Contains(t, statuses, 1)
						assert.Equal(t, statuses[1], statusesMeasured[1], "exit status of rank 1\nbare:\n%s\nmeasured:\n%s", bare.Stderr, measured.Stderr)
					default:
						assert.Equal(t, ofThemselves(statuses, end.how), ofThemselves(statusesMeasured, end.how), "exit status\nbare:\n%s\nmeasured:\n%s", bare.Stderr, measured.Stderr)
						assert.Len(t, ofThemselves(statuses, end.how), 1)
					}
					assert.Equal(t, sorted(bare.Stdout), sorted(measured.Stdout))
					assert.Empty(t, measured.Said())
					assert.Equal(t, end.reports, measured.Reported(), measured.Stderr)
					if !end.reports {
						recovered := harness.Command{}.Run(t, harness.Artifact(t, "marple"), "recover", directory)
						assert.Zero(t, recovered.Code, recovered.Stderr)
						assert.Contains(t, recovered.Stdout, "vanished after the last event")
					}
					r := harness.ReadRun(t, directory)
					require.Len(t, r.PerRank, ranks)
					ended := end.ended
					if ended == "failed" && fatal[mpi] == "" {
						ended = "exited"
					}
					if who == "one" {
						assert.Equal(t, ended, r.PerRank[1].Ended)
					}
					report, err := os.ReadFile(filepath.Join(directory, run.ReportFile))
					require.NoError(t, err)
					if end.reports { // what stays is explained
						left, err := os.ReadDir(filepath.Join(directory, run.RawDir))
						assert.Equal(t, err == nil, strings.Contains(strings.Join(strings.Fields(string(report)), " "), "all records stay in raw/"), "left are %v; %s", left, report)
					}
					beginsWith(t, mpi, who, end.ended, string(report))
					if end.how == "MPI_Abort" && who == "one" {
						assert.Equal(t, 7, r.PerRank[1].Abort)
					}
					sends := harness.Function(r, "MPI_Sendrecv")
					own, ok := readOwnAccount(account + "-1")
					require.True(t, ok)
					assert.Equal(t, own.begun, own.ended)
					assert.Equal(t, ranks*own.ended, sends.Calls)
					assert.Equal(t, ranks*own.bytes, sends.Out)
					assert.Equal(t, ranks*bytesOf(own.ended), sends.Out)
				})
			}
		}
	})
}

// ending runs endings.c, or marple with it, to its end; nothing of it goes on. Under MPICH statuses are the ranks' exit statuses by the
// account of a shell around each, and the output is what it has kept of the rank's: what the launcher makes of ranks that end one after
// the other, and what it passes on of what they have printed last, differs from one bare run to the next. There is none of a rank
// whose shell the launcher has killed.
func ending(t testing.TB, mpi *harness.Library, ranks int, account string, before, how []string) (r harness.Result, statuses map[int]int) {
	t.Helper()
	program := before[len(before)-1]
	if mpi == harness.Mpich {
		before = append([]string{"sh", "-c", `of=$0-$PMI_RANK; echo $$ >$of.shell; "$@" >$of.stdout 2>$of.stderr; status=$?; echo $status >$of.status; exit $status`, account}, before...)
	}
	r = harness.Command{}.Run(t, mpi.Launch(ranks, slices.Concat(before, []string{account}, how)...)...)
	for rank := range ranks { // MPICH 4.2's launcher leaves behind who waits for a rank that has failed, and may end before the shells
		of := fmt.Sprintf("%s-%d", account, rank)
		if a, ok := readOwnAccount(of); ok {
			if executable, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", a.pid)); executable == program {
				_ = syscall.Kill(int(a.pid), syscall.SIGKILL)
			}
		}
		if text, err := os.ReadFile(of + ".shell"); err == nil && len(text) > 0 {
			shell, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return gone(shell) }, harness.Patience, time.Millisecond)
		}
	}
	if mpi != harness.Mpich {
		return r, nil
	}
	statuses, r.Stdout, r.Stderr = map[int]int{}, "", ""
	for rank := range ranks {
		of := fmt.Sprintf("%s-%d", account, rank)
		if text, err := os.ReadFile(of + ".status"); err == nil && len(text) > 0 { // it may be killed when it begins to write
			statuses[rank], err = strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
		}
		for file, into := range map[string]*string{".stdout": &r.Stdout, ".stderr": &r.Stderr} {
			text, err := os.ReadFile(of + file)
			require.NoError(t, err)
			*into += string(text)
		}
	}
	return r, statuses
}

// ofThemselves are the different exit statuses of ranks that the launcher has not killed.
func ofThemselves(statuses map[int]int, how string) []int {
	list := slices.Sorted(maps.Values(statuses))
	return slices.DeleteFunc(slices.Compact(list), func(status int) bool { return status == 128+int(syscall.SIGKILL) && how != "SIGKILL" })
}

// sorted are the lines of an output, whose order and process ids no two runs share.
func sorted(text string) []string {
	text = regexp.MustCompile(`(PID|EXIT CODE:) \d+`).ReplaceAllString(text, "$1 #")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

// Killed at any moment, a rank leaves each call that it has ended, once, and none that it has not begun. It is read
// while it runs, too.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const ranks, scatter = 2, 20_000
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "endings")
		for i := range harness.Scale(2, 100) {
			scratch := t.TempDir()
			directory, account := filepath.Join(scratch, "run"), filepath.Join(scratch, "account")
			job := start(t, mpi.Launch(ranks, harness.Artifact(t, "marple"), "exec", "--out", directory, "--", program, account, "loop"))
			accounts := func() (list []ownAccount) {
				for rank := range ranks {
					if own, ok := readOwnAccount(fmt.Sprintf("%s-%d", account, rank)); ok && own.ended > 0 {
						list = append(list, own)
					}
				}
				return list
			}
			after := uint64(1 + rand.Int64N(scatter)) // calls
			require.Eventually(t, func() bool {
				list := accounts()
				return len(list) == ranks && list[0].ended >= after
			}, harness.Patience, time.Millisecond)

			before := accounts()
			alive := recovered(t, directory)
			consistent(t, alive, "running", before, accounts())
			for _, own := range accounts() {
				if err := syscall.Kill(int(own.pid), syscall.SIGKILL); err != syscall.ESRCH { // the launcher kills the others, too
					require.NoError(t, err)
				}
			}
			_ = job.Wait()
			dead := recovered(t, directory)
			require.Len(t, dead.PerRank, ranks, "round %d", i)
			consistent(t, dead, "vanished", accounts(), accounts())
		}
	})
}

// Whoever is killed, and recover, too, before it is done: nothing is lost. In make test-long; MARPLE_SEED repeats a round.
func TestKilledAnybody(t *testing.T) {
	rounds := harness.Scale(0, 60)
	const ranks, scatter = 2, 20_000
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		if rounds == 0 {
			return
		}
		program := mpi.Compile(t, "endings")
		for range rounds {
			seed := rand.Uint64()
			if text := os.Getenv("MARPLE_SEED"); text != "" {
				_, err := fmt.Sscan(text, &seed)
				require.NoError(t, err)
			}
			random := rand.New(rand.NewPCG(seed, 0))
			whom := []string{"a rank", "all ranks", "the launcher"}[random.IntN(3)]
			t.Run(fmt.Sprintf("%s MARPLE_SEED=%d", whom, seed), func(t *testing.T) {
				scratch := t.TempDir()
				directory, account := filepath.Join(scratch, "run"), filepath.Join(scratch, "account")
				job := start(t, mpi.Launch(ranks, harness.Artifact(t, "marple"), "exec", "--out", directory, "--", program, account, "loop"))
				accounts := func() (list []ownAccount) {
					for rank := range ranks {
						if own, ok := readOwnAccount(fmt.Sprintf("%s-%d", account, rank)); ok && own.ended > 0 {
							list = append(list, own)
						}
					}
					return list
				}
				after := 1 + random.Uint64N(scatter) // calls
				require.Eventually(t, func() bool {
					list := accounts()
					return len(list) == ranks && list[0].ended >= after
				}, harness.Patience, time.Millisecond)
				pids := []int{int(accounts()[0].pid), int(accounts()[1].pid)}
				kill := pids
				switch whom {
				case "a rank":
					kill = pids[random.IntN(ranks):][:1]
				case "the launcher":
					kill = []int{job.Process.Pid}
				}
				for _, pid := range kill {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone with another
				}
				if whom != "the launcher" {
					_ = job.Wait()
				}
				for _, pid := range pids { // a launcher that was killed cannot see to it
					_ = syscall.Kill(pid, syscall.SIGKILL)
					require.Eventually(t, func() bool { return gone(pid) }, harness.Patience, time.Millisecond)
				}
				for range 3 {
					unlucky := start(t, []string{harness.Artifact(t, "marple"), "recover", directory})
					time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond) // any moment will do
					_ = unlucky.Process.Kill()
					_ = unlucky.Wait()
				}
				dead := recovered(t, directory)
				require.Len(t, dead.PerRank, ranks)
				consistent(t, dead, "vanished", accounts(), accounts())
			})
		}
	})
}

// gone tells whether a process has ended, whoever has yet to be told of it.
func gone(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	return err != nil || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// consistent holds what was read of ranks against their own accounts from before and after the reading.
func consistent(t testing.TB, r *run.Run, ended string, before, after []ownAccount) {
	t.Helper()
	for _, p := range r.PerRank {
		assert.Equal(t, ended, p.Ended)
		assert.GreaterOrEqual(t, p.Sent, before[p.Rank].ended)
		assert.LessOrEqual(t, p.Sent, after[p.Rank].begun)
		assert.Equal(t, bytesOf(p.Sent), p.SentBytes)
	}
}

func recovered(t testing.TB, directory string) *run.Run {
	t.Helper()
	r := harness.Command{}.Run(t, harness.Artifact(t, "marple"), "recover", directory)
	require.Zero(t, r.Code, r.Stderr)
	return harness.ReadRun(t, directory)
}

// start starts a command whose end somebody else will bring about, or the end of the test.
func start(t testing.TB, line []string) *exec.Cmd {
	t.Helper()
	job := exec.Command(line[0], line[1:]...)
	job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, job.Start())
	t.Cleanup(func() { _ = syscall.Kill(-job.Process.Pid, syscall.SIGKILL) })
	return job
}

// hung starts a program that hangs, and recovers its run as soon as there is what is looked for; then it kills it.
func hung(m *harness.Library, t testing.TB, n int, ready func(r *run.Run) bool, program ...string) (r *run.Run, text string) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	job := start(t, m.Launch(n, append([]string{harness.Artifact(t, "marple"), "exec", "--out", directory}, program...)...))
	require.Eventually(t, func() bool {
		d, err := files.In(directory)
		if err == nil {
			r, _, err = pipeline.Recover(d, 0, knowledge.Library{})
		}
		return err == nil && ready(r)
	}, harness.Patience, 100*time.Millisecond)
	_ = syscall.Kill(-job.Process.Pid, syscall.SIGTERM)
	_ = job.Wait()
	return r, report.Full(r, directory)
}

// A run that hangs: each rank is told in which call it is, of whom, since when and from where.
func TestStuckCalls(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "deadlock", "-g")
		r, _ := hung(mpi, t, 2, func(r *run.Run) bool { return len(r.Stuck) == 2 && r.Stuck[0].Call == "MPI_Finalize" }, program)
		assert.Equal(t, "deadlock.c:37 in main", r.Stuck[0].Site)
		assert.Equal(t, []int{1}, r.Stuck[0].WaitsFor)
		assert.Equal(t, "MPI_Recv", r.Stuck[1].Call)
		assert.Equal(t, "deadlock.c:36 in main", r.Stuck[1].Site)
		assert.EqualValues(t, record.Any, r.Stuck[1].Peer)
		assert.Equal(t, []int{0}, r.Stuck[1].WaitsFor)
		assert.Positive(t, r.Stuck[1].SinceNs)
		assert.True(t, r.Stuck[0].Deadlock && r.Stuck[1].Deadlock)
	})
}

// Ranks that wait for each other are told in a circle, whatever communicator they do it on; those that exchange
// messages are not.
func TestDeadlocks(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := mpi.Compile(t, "deadlock", "-g")
		all := func(call string) func(r *run.Run) bool {
			return func(r *run.Run) bool {
				return len(r.Stuck) == 3 && !slices.ContainsFunc(r.Stuck, func(s run.Stuck) bool { return s.Call != call && s.Call != "MPI_Barrier" })
			}
		}
		r, text := hung(mpi, t, 3, all("MPI_Recv"), program, "circle")
		require.Equal(t, "deadlock", r.Conditions[slices.IndexFunc(r.Conditions, func(n run.Note) bool { return n.ID == "deadlock" })].ID)
		text = strings.Join(strings.Fields(text), " ")
		assert.Contains(t, text, "Deadlock: rank 0 waits for rank 1 in MPI_Recv at deadlock.c:23 in main, rank 1 waits for rank 2 in "+
			"MPI_Recv at deadlock.c:23 in main, rank 2 waits for rank 0 in MPI_Recv at deadlock.c:23 in main; all of them since ")

		r, text = hung(mpi, t, 3, all("MPI_Recv"), program, "barrier")
		text = strings.Join(strings.Fields(text), " ")
		assert.Equal(t, []int{0}, r.Stuck[2].WaitsFor)
		assert.Contains(t, text, "Deadlock: rank 0 waits for rank 1 in MPI_Recv at deadlock.c:30 in main, rank 1 waits for rank 0 in MPI_Barrier at deadlock.c:31 in main")
		assert.Contains(t, text, "Rank 2 was in MPI_Barrier, waiting for rank 0, at deadlock.c:31 in main")

		r, _ = hung(mpi, t, 3, all("MPI_Recv"), program, "unrecorded")
		assert.Equal(t, []int{0}, r.Stuck[1].WaitsFor)
		assert.Equal(t, []int{0}, r.Stuck[2].WaitsFor)

		r, _ = hung(mpi, t, 3, func(r *run.Run) bool { return harness.Function(r, "MPI_Sendrecv").Calls > 100 }, program, "exchange")
		for _, s := range r.Stuck {
			assert.False(t, s.Deadlock, "%+v", s)
		}
	})
}

// A rank is killed and the launcher lets the others go on. Open MPI's own MPI_Finalize then waits for ever, so
// the report has to come before.
func TestSurvivors(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	program := harness.OpenMPI.Compile(t, "endings")
	scratch := t.TempDir()
	directory := filepath.Join(scratch, "run")
	line := harness.OpenMPI.Launch(3, "--mca", "orte_abort_on_non_zero_status", "0", harness.Artifact(t, "marple"), "exec", "--out", directory, "--",
		program, filepath.Join(scratch, "account"), "survived", "1")
	job := start(t, line)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(directory, run.ReportFile))
		return err == nil
	}, harness.Patience, 10*time.Millisecond)
	_ = syscall.Kill(-job.Process.Pid, syscall.SIGTERM)
	_ = job.Wait()
	r := harness.ReadRun(t, directory)
	require.Len(t, r.PerRank, 3)
	for rank, ended := range []string{"finalized", "vanished", "finalized"} {
		assert.Equal(t, ended, r.PerRank[rank].Ended)
	}
	assert.Equal(t, uint64(3*5001), harness.Function(r, "MPI_Sendrecv").Calls)
}

// A rank that is not ready in time is no silence: here the first one is slow to make its directory.
func TestARankThatIsNotReady(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program, slow := mpi.Compile(t, "endings"), filepath.Join(t.TempDir(), "slow.so")
		source := `#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int mkdir(const char *path, unsigned mode)
{
    if (strstr(path, "/run"))
        sleep(4);
    return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
`
		require.NoError(t, os.WriteFile(slow+".c", []byte(source), 0o600))
		out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", slow, slow+".c").CombinedOutput()
		require.NoError(t, err, "%s", out)
		var c harness.Command
		var r harness.Result
		for tries := 0; tries == 0 || tries < 8 && r.Reported(); tries++ { // the other one may be as late, on a crowded machine
			c = harness.Command{Directory: t.TempDir(), Environment: []string{"MARPLE_DEADLINE=1", "LD_PRELOAD=" + slow}}
			r = c.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", filepath.Join(c.Directory, "run"), program, filepath.Join(t.TempDir(), "account"), "MPI_Finalize")...)
			assert.Zero(t, r.Code, r.Stderr)
		}
		require.NotEmpty(t, r.Said(), r.Stderr)
		for _, line := range r.Said() {
			assert.Regexp(t, `not all ranks were ready in time; rank [01] is not measured; MARPLE_DEADLINE`, line)
		}
		assert.NoDirExists(t, filepath.Join(c.Directory, "run"), "nothing is kept in it")
	})
}

// Once its records are mapped a rank needs the run directory no more, whoever takes that away: it is measured, and the reason why nothing
// is kept is the true one.
func TestDirectoryIsTakenAwayOnceRecordsAreMapped(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		taken := filepath.Join(t.TempDir(), "taken.so")
		source := `#define _GNU_SOURCE
#include <errno.h>
#include <linux/fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int mapped;
int openat(int at, const char *name, int flags, unsigned mode)
{
    if (strncmp(name, "rank-", 5) == 0)
        mapped = 1;
    return syscall(SYS_openat, at, name, flags, mode);
}
int open(const char *name, int flags, unsigned mode)
{
    if (mapped && strstr(name, "/run")) {
        errno = ENOENT;
        return -1;
    }
    return syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}
`
		require.NoError(t, os.WriteFile(taken+".c", []byte(source), 0o600))
		out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", taken, taken+".c").CombinedOutput()
		require.NoError(t, err, "%s", out)
		c := harness.Command{Directory: t.TempDir(), Environment: []string{"LD_PRELOAD=" + taken}}
		r := c.Run(t, mpi.Launch(2, harness.Artifact(t, "marple"), "exec", "--out", filepath.Join(c.Directory, "run"), mpi.Compile(t, "endings"), filepath.Join(t.TempDir(), "account"), "MPI_Finalize")...)
		assert.Zero(t, r.Code, r.Stderr)
		assert.True(t, r.Reported(), r.Stderr)
		assert.NotContains(t, r.Stderr, "No space left")
		assert.NotContains(t, r.Stderr, "no memory")
	})
}

// Where some ranks run without Marple, none is measured, and nothing waits for what never comes.
func TestSomeRanksWithoutMarple(t *testing.T) {
	t.Parallel()
	harness.EachReal(t, func(t *testing.T, mpi *harness.Library) { // the mock's launcher starts one program
		if mpi != harness.Mpich && !harness.Long() { // it takes ten seconds
			return
		}
		program := mpi.Compile(t, "endings")
		account := filepath.Join(t.TempDir(), "account")
		line := append(mpi.Launch(1, harness.Artifact(t, "marple"), "exec", program, account, "MPI_Finalize"), ":", "-n", "1", program, account, "MPI_Finalize")
		r := harness.Command{Directory: t.TempDir()}.Run(t, line...)
		assert.Zero(t, r.Code, r.Stderr)
		assert.Equal(t, []string{"marple: not all ranks run under Marple; rank 0 is not measured"}, r.Said())
	})
}
