// What marple doctor --machine says of the machine that it runs on: what there is, in which units. What the values are, nobody knows.
package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/machine"
	"marple/test/harness"
)

func TestMachine(t *testing.T) {
	t.Parallel()
	harness.OpenMPI.Need(t)
	c := harness.Command{Directory: t.TempDir()}
	marple := harness.Artifact(t, "marple")
	r := c.Run(t, append([]string{marple, "doctor", "--machine", "--name", "here", "--"}, harness.OpenMPI.Launch(2)...)...)
	require.Zero(t, r.Code, r.Stderr)
	const number = `[\d.]+(e\+\d+)?`
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(r.Stdout, "\n             ", " ")), "\n") // what was broken begins behind the titles
	expect := func(title, text string) {
		t.Helper()
		require.NotEmpty(t, lines, title)
		require.Regexp(t, `^`+title+` +`+text+`$`, lines[0])
		lines = lines[1:]
	}
	expect("machine", "here: .*")
	expect("clock", number+" GHz, with [1-9][0-9]* cores? busy")
	expect("flops", number+" Gflop/s a core, in double precision")
	caches := 0
	for ; strings.HasPrefix(lines[0], "l"); caches++ {
		expect(`l[1-9]`, `[\d,.]+ [KMG]iB: [\d,.]+ (ns|µs), `+number+` GB/s a core`)
	}
	expect("memory", `[\d,.]+ (ns|µs), `+number+` GB/s a core`)
	expect("messages", `[\d,.]+ (ns|µs|ms|s), `+number+` GB/s between neighbours of 2 ranks on one host \(Open MPI v[\d.]+\)`)
	for strings.HasPrefix(lines[0], "not measured") { // of a cache that no core has a piece of
		expect("not measured", ".+: .+")
	}
	expect("file", `machine\.json`)
	require.Empty(t, lines)

	// The file has what was said, in SI units, and is read again; a run carries it.
	m, err := machine.Read(filepath.Join(c.Directory, "machine.json"))
	require.NoError(t, err)
	require.Equal(t, "here", m.Name)
	require.Len(t, m.Memory, caches+1)
	for i, l := range m.Memory {
		require.Positive(t, l.Latency)
		require.Positive(t, l.Bandwidth)
		require.Equal(t, i < caches, l.Bytes > 0, "of main memory the size is not told")
	}
	require.Equal(t, 2, m.Messages.Ranks)
	require.Equal(t, "one host", m.Messages.Between)
	require.Positive(t, m.Messages.Latency)
	require.Positive(t, m.Messages.Bandwidth)
	require.Positive(t, m.Clock)
	require.Positive(t, m.Flops)
	program := harness.OpenMPI.Compile(t, "heat", "-lm")
	measured, end := harness.OpenMPI.Measured(t, c, 2, []string{program}, "--machine", "machine.json")
	require.Zero(t, end.Code, end.Stderr)
	require.Equal(t, m, measured.Machine)

	// Without a launcher there are no messages, and it is said why.
	r = c.Run(t, marple, "doctor", "--machine", "--format", "json")
	require.Zero(t, r.Code, r.Stderr)
	var alone machine.Machine
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &alone))
	require.NoError(t, alone.Check())
	require.Nil(t, alone.Messages)
	require.Equal(t, machine.Missing{What: "messages", Why: "no launcher was given: marple doctor --machine -- mpirun -n 2"}, alone.NotMeasured[len(alone.NotMeasured)-1])
}
