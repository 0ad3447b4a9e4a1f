// Hosts that have no directory in common, and clocks of their own.
package e2e

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
	"marple/test/harness"
)

const (
	apartHosts = 4
	apartRanks = 8
	apartBy    = 5 * time.Second // each host's clock
)

// hostsName is what hosts are called: the mock's library tells ranks names of its own.
func hostsName(mpi *harness.Library, i int) string {
	if mpi == harness.Mock {
		return fmt.Sprintf("mock%d", i)
	}
	return fmt.Sprintf("host%d", i)
}

// marple is a command line of Marple's.
func marple(t *testing.T, arguments ...string) []string {
	t.Helper()
	return append([]string{harness.Artifact(t, "marple")}, arguments...)
}

// calls are how many a rank of test/apps/endings.c has begun and ended so far, by its own account.
func calls(account string, rank int) (begun, ended uint64) {
	data, err := os.ReadFile(fmt.Sprintf("%s-%d", account, rank))
	if err != nil || len(data) < 32 {
		return 0, 0
	}
	return binary.NativeEndian.Uint64(data[8:]), binary.NativeEndian.Uint64(data[16:])
}

// The report is whole, clocks are where they are said to be, and nothing is left on the hosts that do not see the run directory.
func TestHostsApart(t *testing.T) {
	for _, mpi := range []*harness.Library{harness.OpenMPI, harness.Mock} { // over TCP, Debian's MPICH mostly does not come back from MPI_Finalize, bare as well
		mpi.Need(t)
		hosts := harness.NewHosts(t, apartHosts, apartBy)
		account := filepath.Join(t.TempDir(), "account")
		line := marple(t, "exec", "--out", filepath.Join(hosts.Local, "run"), "--", mpi.Compile(t, "endings"), account, "finalize")
		got := harness.Command{}.Run(t, hosts.Launch(mpi, apartRanks, nil, line...)...)
		require.Zero(t, got.Code, got.Stderr)
		assert.Empty(t, got.Said())
		directory := filepath.Join(hosts.Disk(0), "run")
		r := harness.ReadRun(t, directory)
		harness.Sound(t, directory, r)
		assert.Equal(t, apartRanks, r.Measured)
		assert.Len(t, r.Hosts, apartHosts)
		_, ended := calls(account, 0)
		assert.Equal(t, apartRanks*ended, harness.Function(r, "MPI_Sendrecv").Calls)
		assert.Equal(t, []string{"replay.bin", "report.txt", "run.json"}, harness.Entries(t, directory))
		for i := 1; i < apartHosts; i++ {
			assert.Empty(t, harness.Entries(t, hosts.Disk(i)), "on host %d", i)
		}
		require.NotNil(t, r.Waits)
		require.Len(t, r.Waits.Clocks, apartHosts)
		for i, c := range r.Waits.Clocks {
			assert.Equal(t, hostsName(mpi, i), c.Host)
			assert.True(t, c.Measured)
			assert.InDelta(t, i*int(apartBy), c.AheadNs, float64(c.ErrorNs), c.Host)
		}
	}
}

var fetch = regexp.MustCompile(`to fetch them: (.*)`)

// A host is killed with all that runs there. The others' records, and its own when it is back, make the run; what is missing is told, and
// how to get it.
func TestHostKilled(t *testing.T) {
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		const killed = 2
		hosts := harness.NewHosts(t, apartHosts, apartBy)
		out, account := filepath.Join(hosts.Local, "run"), filepath.Join(t.TempDir(), "account")
		line := hosts.Launch(mpi, apartRanks, nil, marple(t, "exec", "--out", out, "--", mpi.Compile(t, "endings"), account, "loop")...)
		done := make(chan harness.Result)
		go func() { done <- harness.Command{}.Run(t, line...) }()
		for rank := 0; rank < apartRanks; {
			if _, ended := calls(account, rank); ended > 5000 {
				rank++
			}
			time.Sleep(time.Millisecond)
			require.False(t, t.Failed())
		}
		hosts.Kill(killed)
		got := <-done
		assert.NotZero(t, got.Code)
		assert.False(t, got.Reported(), got.Stderr)
		for i := range apartHosts { // what a launcher has left, and then they are there again
			if i != killed {
				hosts.Kill(i)
			}
			hosts.Start(i)
		}

		// recover checks what was recovered against the ranks' own accounts.
		recover := func(ranks []int, directories ...string) []string {
			t.Helper()
			again := hosts.On(0, marple(t, append([]string{"recover"}, directories...)...)...)
			got := harness.Command{}.Run(t, again...)
			require.Zero(t, got.Code, got.Stderr)
			r := harness.ReadRun(t, filepath.Join(hosts.Disk(0), "run"))
			assert.Equal(t, apartRanks, r.Ranks)
			assert.Equal(t, len(ranks), r.Measured)
			var least, most uint64
			for i, rank := range ranks {
				begun, ended := calls(account, rank)
				least, most = least+ended, most+begun
				assert.Equal(t, rank, r.PerRank[i].Rank)
				assert.Equal(t, "vanished", r.PerRank[i].Ended)
			}
			sum := harness.Function(r, "MPI_Sendrecv").Calls
			assert.GreaterOrEqual(t, sum, least)
			assert.LessOrEqual(t, sum, most)
			if r.Waits != nil {
				for _, c := range r.Waits.Clocks {
					var i int
					_, err := fmt.Sscanf(c.Host[4:], "%d", &i)
					require.NoError(t, err)
					assert.True(t, c.Measured, c.Host)
					assert.InDelta(t, i*int(apartBy), c.AheadNs, float64(c.ErrorNs), c.Host)
				}
			}
			for _, note := range harness.NotSeen(r) {
				if note.ID == "log-ended" { // their own, which a long wait for the end may fill
					assert.LessOrEqual(t, note.Count, uint64(len(ranks)), note.Text)
				}
			}
			return got.Said()
		}
		missing := func(i int) string {
			return fmt.Sprintf("marple: no records here of ranks %d-%d: host %s has them in %s", 2*i, 2*i+1, hostsName(mpi, i), out)
		}
		const repeat = "marple: when they are here, repeat this command"

		said := recover([]int{0, 1}, out)
		require.Len(t, said, apartHosts, "%q", said)
		for i := 1; i < apartHosts; i++ {
			assert.True(t, strings.HasPrefix(said[i-1], missing(i)+";"), said[i-1])
			assert.NotEmpty(t, fetch.FindStringSubmatch(said[i-1]))
		}
		assert.True(t, strings.HasPrefix(said[apartHosts-1], repeat))

		// From where all disks can be seen.
		var some []string
		for _, i := range []int{1, 3} {
			some = append(some, filepath.Join(hosts.Disk(i), "run"))
		}
		said = recover([]int{0, 1, 2, 3, 6, 7}, append([]string{out}, some...)...)
		require.Len(t, said, 2, "%q", said)
		assert.True(t, strings.HasPrefix(said[0], missing(killed)+";"), said[0])
		assert.Empty(t, recover([]int{0, 1, 2, 3, 4, 5, 6, 7}, append([]string{out, filepath.Join(hosts.Disk(killed), "run")}, some...)...))

		// With the commands that were told.
		said = recover([]int{0, 1}, out)
		for _, line := range said[:apartHosts-1] {
			command := strings.ReplaceAll(fetch.FindStringSubmatch(line)[1], "ssh mock", "ssh host")
			got := harness.Command{}.Run(t, hosts.On(0, "sh", "-ec", "PATH="+hosts.Shell()+":$PATH; "+command)...)
			require.Zero(t, got.Code, got.Stderr)
		}
		assert.Empty(t, recover([]int{0, 1, 2, 3, 4, 5, 6, 7}, out))

		// What one of the others has says whose it is.
		got = harness.Command{}.Run(t, hosts.On(1, marple(t, "recover", out)...)...)
		require.Zero(t, got.Code, got.Stderr)
		assert.Equal(t, []string{"marple: no records here of ranks 0-1, 4-7, but what one host has of a run whose directory is " + out + " on host " +
			hostsName(mpi, 0) + "; where they are in other directories, give all of them: marple recover RUN OTHER-RUN"}, got.Said())
	})
}

// What needs files of the ranks on rank 0's host is said to be missing, and goes away.
func TestInvocationsOfHosts(t *testing.T) {
	harness.Mock.Need(t)
	hosts := harness.NewHosts(t, apartHosts, 0)
	line := marple(t, "exec", "--out", filepath.Join(hosts.Local, "run"), "--", harness.Mock.Compile(t, "components", "-ldl"))
	got := harness.Command{}.Run(t, hosts.Launch(harness.Mock, apartRanks, nil, line...)...)
	require.Zero(t, got.Code, got.Stderr)
	assert.Empty(t, got.Said())
	r := harness.ReadRun(t, filepath.Join(hosts.Disk(0), "run"))
	var texts []string
	for _, note := range r.NotSeen {
		if note.ID == "invocations-missing" {
			assert.Equal(t, r.Invocations*(apartHosts-1)/apartHosts, note.Count)
			texts = append(texts, note.Text)
		}
	}
	require.Len(t, texts, 1)
	assert.Contains(t, texts[0], "(put the run directory where all hosts see it)")
	for i := 1; i < apartHosts; i++ {
		assert.Empty(t, harness.Entries(t, hosts.Disk(i)), "on host %d", i)
	}
}

// A rank ends the run on a host that does not see the run directory: it says where records are, since it may be the last one to say anything.
func TestHostAborts(t *testing.T) {
	harness.Mock.Need(t)
	hosts := harness.NewHosts(t, apartHosts, 0)
	out := filepath.Join(hosts.Local, "run")
	line := marple(t, "exec", "--out", out, "--", harness.Mock.Compile(t, "endings"), filepath.Join(t.TempDir(), "account"), "MPI_Abort", "5")
	got := harness.Command{}.Run(t, hosts.Launch(harness.Mock, apartRanks, nil, line...)...)
	assert.Equal(t, 7, got.Code)
	assert.Equal(t, []string{"marple: records are kept, those of this host (mock2) in " + out + "; make the report on host mock0 with: marple recover " + out}, got.Said())
}

// What lies in the way on a host is left alone, and its own directory gets a number, or a place in $TMPDIR.
func TestPlacesOfHosts(t *testing.T) {
	mpi := harness.Mock
	mpi.Need(t)
	hosts := harness.NewHosts(t, apartHosts, 0)
	program, account := mpi.Compile(t, "endings"), filepath.Join(t.TempDir(), "account")
	on := func(i int, script string) {
		t.Helper()
		got := harness.Command{Directory: hosts.Local}.Run(t, hosts.On(i, "sh", "-ec", "cd "+hosts.Local+"; "+script)...)
		require.Zero(t, got.Code, got.Stderr)
	}
	on(0, `mkdir work`)
	on(1, `mkdir -p work/run/raw; echo "run 0123456789abcdef host0 /elsewhere" > work/run/hosts; mkdir work/run-2; chown 1:1 work/run-2`) // an earlier run, another user's
	on(2, `mkdir -p work tmp victim; ln -s ../victim work/run`)
	on(3, `mkdir "tmp 3"; : > 'tmp 3/run'`)
	var before []string
	contents := func() (list []string) {
		for i := 1; i < apartHosts; i++ {
			got := harness.Command{}.Run(t, "find", hosts.Disk(i), "-printf", "%p %y %u %l %s\n")
			list = append(list, got.Stdout)
		}
		return list
	}
	before = contents()
	out := filepath.Join(hosts.Local, "work/run")
	c := harness.Command{Environment: []string{"TMPDIR=" + hosts.Local + "/tmp 3"}}

	whole := func(directory string, flags ...string) harness.Result {
		t.Helper()
		flags = append(flags, "--out", filepath.Join(hosts.Local, "work", directory))
		line := marple(t, append(append([]string{"exec"}, flags...), "--", program, account, "finalize")...)
		got := c.Run(t, hosts.Launch(mpi, apartRanks, nil, line...)...)
		require.Zero(t, got.Code, got.Stderr)
		r := harness.ReadRun(t, filepath.Join(hosts.Disk(0), "work", directory))
		assert.Equal(t, apartRanks, r.Measured)
		_, ended := calls(account, 0)
		assert.Equal(t, apartRanks*ended, harness.Function(r, "MPI_Sendrecv").Calls)
		return got
	}
	assert.Empty(t, whole("run").Said())
	assert.Equal(t, before, contents())

	// What stays is told, and can be fetched.
	assert.Empty(t, whole("run-2", "--trace", "8").Said())
	directory := filepath.Join(hosts.Local, "work/run-2")
	h, err := run.ReadHosts(filepath.Join(hosts.Disk(0), "work/run-2"))
	require.NoError(t, err)
	assert.Equal(t, &run.Hosts{Host: "mock0", Directory: directory, Places: []run.Place{
		{Host: "mock1", Directory: out + "-2-2", Ranks: []run.Span{{First: 2, Last: 3}}},
		{Host: "mock2", Directory: out + "-2", Ranks: []run.Span{{First: 4, Last: 5}}},
		{Host: "mock3", Directory: hosts.Local + "/tmp 3/run-2", Ranks: []run.Span{{First: 6, Last: 7}}}}}, h)
	assert.Empty(t, harness.Entries(t, filepath.Join(hosts.Disk(2), "victim")))
	timeline := hosts.On(0, marple(t, "timeline", "--most", "1000000", directory)...)
	got := harness.Command{}.Run(t, timeline...)
	require.Zero(t, got.Code, got.Stderr)
	said := got.Said()
	require.Len(t, said, apartHosts, "%q", said)
	for _, line := range said[:apartHosts-1] {
		command := strings.ReplaceAll(fetch.FindStringSubmatch(line)[1], "ssh mock", "ssh host")
		got := harness.Command{}.Run(t, hosts.On(0, "sh", "-ec", "PATH="+hosts.Shell()+":$PATH; "+command)...)
		require.Zero(t, got.Code, got.Stderr)
	}
	lines := strings.Count(got.Stdout, "\n")
	got = harness.Command{}.Run(t, timeline...)
	require.Zero(t, got.Code, got.Stderr)
	assert.Empty(t, got.Said())
	assert.Equal(t, 4*(lines-1), strings.Count(got.Stdout, "\n")-1, "each rank makes the same calls")

	// Where nothing can be written, that is said at the beginning, and the report is whole all the same.
	c.Environment = []string{"TMPDIR=" + hosts.Local + "/nowhere"}
	assert.Equal(t, []string{"marple: cannot write to " + out + "-3: No such file or directory; records are kept in memory only"}, whole("run-3").Said())
}
