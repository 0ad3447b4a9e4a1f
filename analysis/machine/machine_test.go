package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/machine"
)

const good = `{
 "schema": 1,
 "name": "node",
 "processor": "P",
 "measured": "2026-11-24T04:00:00Z",
 "cores": 2,
 "clock_hz": 3e9,
 "flops": 4e10,
 "memory": [
  {"name": "l1", "bytes": 32768, "latency_s": 1e-9, "bandwidth_bytes_per_s": 1e11},
  {"name": "memory", "latency_s": 1e-7, "bandwidth_bytes_per_s": 1e10}
 ],
 "messages": {"latency_s": 5e-7, "bandwidth_bytes_per_s": 8e9, "between": "one host", "ranks": 2, "library": "MPI"}
}
`

func read(t *testing.T, text string) (*machine.Machine, error) {
	path := filepath.Join(t.TempDir(), "machine.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	m, err := machine.Read(path)
	if err != nil {
		assert.Contains(t, err.Error(), path)
	}
	return m, err
}

func TestReading(t *testing.T) {
	m, err := read(t, good)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"clock": 3e9, "flops": 4e10, "latency_l1": 1e-9, "bandwidth_l1": 1e11, "cache_l1": 32768,
		"latency_memory": 1e-7, "bandwidth_memory": 1e10, "message_latency": 5e-7, "message_bandwidth": 8e9}, m.Properties())
	data, err := m.Encode()
	require.NoError(t, err)
	again, err := read(t, string(data))
	require.NoError(t, err)
	assert.Equal(t, m, again)
}

func TestMistakesAreToldWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"no number", "3e9", `"fast"`, "machine.json:7:19: clock_hz: expected a number, found string"},
		{"negative", "3e9", "-3", "machine.json:7:2: clock_hz: -3: expected a number above 0"},
		{"a level's", "1e10}", "0}", "machine.json:11:41: bandwidth_bytes_per_s: 0: expected a number above 0"},
		{"messages", "5e-7", "0", "machine.json:13:15: latency_s: 0: expected a number above 0"},
		{"a level twice", `"name": "memory"`, `"name": "l1"`, `machine.json:11:4: name: "l1": expected l1, l2, … or memory, each once`},
		{"no name", `"node"`, `""`, "machine.json:3:2: name: \"\": expected a name"},
		{"an unknown key", `"cores"`, `"coers"`, `machine.json:6:2: unknown key "coers"`},
		{"cut off", ` "cores": 2,`, "", ""},
		{"another version", `"schema": 1`, `"schema": 2`, "machine.json:2:2: a machine of version 2; this Marple reads version 1"},
		{"no version", `"schema": 1,`, "", "machine.json:1:1: no machine: it has no schema number"},
		{"a list", good, "[]", "machine.json:1:1: expected an object, found array"},
		{"too much", "2,\n \"clock", "1e30,\n \"clock", "machine.json:6:14: cores: expected a number, found number 1e30"},
		{"more behind it", "\"MPI\"}\n}", "\"MPI\"}\n} {}", "machine.json:14:1: expected nothing behind the machine"},
		{"half of it", good[100:], "", "machine.json:6:11: the text ends too early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, good, c.from)
			_, err := read(t, strings.Replace(good, c.from, c.to, 1))
			if c.want == "" {
				require.NoError(t, err, "what is not needed may be missing")
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestTakingWhatWasMeasured(t *testing.T) {
	m := &machine.Machine{}
	require.NoError(t, m.Take(strings.NewReader("cores\t2\nclock\t3e9\nflops\t4e10\nlevel\tl1\t32768\t1e-9\t1e11\nlevel\tl2\t1048576\t0\t0\n"+
		"not measured\tmemory\tit needs 8 MiB\nmessages\t5e-7\t8e9\t2\tone host\tOpen MPI v4\n")))
	assert.Equal(t, 2, m.Cores)
	assert.Equal(t, []machine.Level{{Name: "l1", Bytes: 32768, Latency: 1e-9, Bandwidth: 1e11}}, m.Memory)
	assert.Equal(t, []machine.Missing{{What: "l2", Why: "there was no memory for it"}, {What: "memory", Why: "it needs 8 MiB"}}, m.NotMeasured)
	assert.Equal(t, "Open MPI v4", m.Messages.Library)
	assert.Error(t, m.Take(strings.NewReader("speed\t3\n")))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := read(t, string(data)); err == nil {
			require.NoError(t, m.Check())
		}
	})
}
