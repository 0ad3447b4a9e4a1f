package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/record"
	"marple/analysis/trace"
	"marple/test/harness"
)

// Whether a call that sends and receives fits one record or not, its log and its sums tell what the program does of both halves.
func TestCallsThatSendAndReceive(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		directory := filepath.Join(t.TempDir(), "run")
		r := mpi.Under(t, harness.Command{}, 2, directory, []string{mpi.Compile(t, "bothways")}, "--trace", "8")
		require.Zero(t, r.Code, r.Stderr)
		measured := harness.ReadRun(t, directory)
		harness.Sound(t, directory, measured)

		var told []string
		var sent, received, sentBytes, receivedBytes uint64
		for line := range strings.Lines(r.Stdout) {
			line = strings.TrimSpace(line)
			told = append(told, line)
			var out, in uint64
			var to, tag, from, their int
			n, _ := fmt.Sscan(line, &out, &to, &tag, &in, &from, &their)
			require.GreaterOrEqual(t, n, 3, line)
			if to >= 0 {
				sent, sentBytes = sent+1, sentBytes+out
			}
			if n > 3 {
				received, receivedBytes = received+1, receivedBytes+in
			}
		}
		require.Len(t, told, 3*16)

		ranks, err := trace.Ranks(directory)
		require.NoError(t, err)
		var logged []string
		for thread, err := range ranks[0].Threads() {
			require.NoError(t, err)
			for e, err := range thread.Events() {
				require.NoError(t, err)
				switch {
				case e.Kind == record.LogCall && e.Node.Op == record.OpSendrecv:
					logged = append(logged, fmt.Sprint(e.Bytes, " ", e.Peer, " ", e.Tag, " nobody"))
				case e.Kind == record.LogReceived:
					last := &logged[len(logged)-1]
					*last = strings.TrimSuffix(*last, "nobody") + fmt.Sprint(e.Bytes, " ", e.Peer, " ", e.Tag)
				}
			}
		}
		assert.Equal(t, told, logged)
		var with1 bool
		for _, p := range measured.Peers {
			if p.Rank == 0 && p.To == 1 {
				with1 = true
				assert.Equal(t, []uint64{sent, sentBytes, received, receivedBytes}, []uint64{p.Sent, p.SentBytes, p.Received, p.ReceivedBytes})
			}
		}
		assert.True(t, with1)
	})
}
