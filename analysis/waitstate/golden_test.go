package waitstate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is found of random programs, with and without a core for each rank, stays what it is.
func TestTablesOfRandomPrograms(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("# program: ranks, ideal of replayed ns, length with cores, checksum of the whole table\n")
	for seed := range 40 {
		w := rapid.Custom(func(t *rapid.T) *world {
			ranks := rapid.IntRange(2, 9).Draw(t, "ranks")
			comms := randomComms(t, ranks)
			w := newWorld(ranks, comms)
			if rapid.Bool().Draw(t, "crowded") {
				w.crowded = newWorld(ranks, comms)
				w.latency, w.crowded.latency = 0, 0
				w.work, w.crowded.work = 2, 2
			}
			w.random(t, rapid.IntRange(1, 40).Draw(t, "steps"))
			return w
		}).Example(seed)
		if w.crowded != nil {
			w = w.crowded
		}
		table := replayAll(t, w.own())
		table.Program = nil
		data, err := json.Marshal(table)
		require.NoError(t, err)
		length := uint64(0)
		if table.Cored != nil {
			length = table.Cored.Length
		}
		fmt.Fprintf(&text, "%d: %d, %d of %d, %d, %016x\n", seed, table.Ranks, table.Ideal, table.Replayed, length, crc64.Checksum(bytes.ReplaceAll(data, []byte(`,"Program":null`), nil), crc64.MakeTable(crc64.ECMA)))
	}
	const golden = "testdata/tables.golden"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text.String())
}
