package pipeline

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/report"
	"marple/analysis/run"
)

// What a header says of its rank is believed only as far as others say the same.
func TestRecoverRanksInHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		file        int
		rank, ranks int32
		problem     string
		measured    int
	}{
		"of a larger run":     {1, 105, 108, "left out: of a run on 108 ranks, where others are of one on 3", 2},
		"of the largest run":  {2, 1<<31 - 2, 1<<31 - 1, "left out: of a run on 2147483647 ranks", 2},
		"of a smaller run":    {0, 0, 1, "left out: of a run on 1 ranks", 2},
		"beyond its own run":  {1, 3, 3, "rank 3 of 3", 2},
		"before its own run":  {1, -1, 3, "rank -1 of 3", 2},
		"another one's":       {1, 0, 3, "left out: ", 2},
		"of no rank":          {1, 0, 0, "left out: of a run on 0 ranks", 2},
		"of less than no run": {1, 0, -5, "rank 0 of -5", 2},
	} {
		t.Run(name, func(t *testing.T) {
			directory := logged(t, 3)
			data, err := os.ReadFile(analysistest.RankFile(directory, c.file))
			require.NoError(t, err)
			h := record.HeaderOf(data)
			h.Rank, h.Ranks = c.rank, c.ranks
			require.NoError(t, os.WriteFile(analysistest.RankFile(directory, c.file), data, 0o666))
			r, problems, err := recovered(t, directory)
			require.NoError(t, err)
			require.NotEmpty(t, problems)
			assert.ErrorContains(t, problems[0], c.problem)
			assert.Equal(t, c.measured, r.Measured)
			assert.Equal(t, 3, r.Ranks)
		})
	}
	t.Run("one of many", func(t *testing.T) {
		directory := logged(t, 3)
		for i := range 3 {
			data, err := os.ReadFile(analysistest.RankFile(directory, i))
			require.NoError(t, err)
			h := record.HeaderOf(data)
			h.Rank, h.Ranks = int32(102+i), 108
			require.NoError(t, os.WriteFile(analysistest.RankFile(directory, i), data, 0o666))
		}
		r, _, err := recovered(t, directory)
		require.NoError(t, err)
		assert.Equal(t, 3, r.Measured)
		assert.Equal(t, 108, r.Ranks)
	})
}

// logged is a run directory as ranks leave it that were killed: with their logs, messages, collectives and regions.
func logged(t testing.TB, ranks int) string {
	directory := t.TempDir()
	require.NoError(t, analysistest.KeepIn(directory, ranks, func(r *analysistest.Rank) {
		for i := range 50 {
			r.Compute(uint64(100 * (r.Rank + 1)))
			r.Send(12, (r.Rank+1)%r.Ranks, uint64(i), 5)
			r.Call(13, "MPI_Recv", record.OpRecv, 0, record.Call{Peer: int32((r.Rank + r.Ranks - 1) % r.Ranks), Duration: 50, In: uint64(i)})
			r.Call(14, "MPI_Allreduce", record.OpNToN, 0, record.Call{Peer: record.NoPeer, Duration: 70, Out: 8, In: 8, Collective: true})
		}
	}))
	return directory
}

// recovered recovers a directory; it has minutes for what takes milliseconds, so that only what never ends fails.
func recovered(t *testing.T, directory string) (r *run.Run, problems []error, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, problems, err = Recover(analysistest.In(directory), 0, knowledge.Library{})
		if err == nil {
			_ = report.Full(r, directory)
			_, err = r.Encode()
		}
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("it never ends")
	}
	return r, problems, err
}

// Whatever has become of the files of a run as a whole, it is read to the end, with an answer. MARPLE_SEED repeats a round.
func TestRecoverDamagedRuns(t *testing.T) {
	const ranks = 3
	whole := logged(t, ranks)
	files, err := filepath.Glob(filepath.Join(whole, run.RawDir, "*"))
	require.NoError(t, err)
	contents := map[string][]byte{}
	for _, file := range files {
		if contents[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	rounds, seed := 12, uint64(1)
	if os.Getenv("MARPLE_TEST_LONG") == "1" {
		rounds = 3000
	}
	if s, err := strconv.ParseUint(os.Getenv("MARPLE_SEED"), 10, 64); err == nil {
		rounds, seed = 1, s
	}
	for range rounds {
		damaged(t, contents, seed)
		seed++
	}
}

func damaged(t *testing.T, contents map[string][]byte, seed uint64) {
	defer func() {
		if t.Failed() {
			t.Logf("MARPLE_SEED=%d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 15))
	directory := runDirectory(t, nil)
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range contents {
			if !yield(name) {
				return
			}
		}
	})
	spoilt := map[string][]byte{}
	for _, name := range names {
		spoilt[name] = contents[name]
	}
	for range 1 + random.IntN(4) {
		name := names[random.IntN(len(names))]
		data := spoilt[name]
		switch random.IntN(12) {
		case 0:
			data = data[:random.IntN(len(data)+1)]
		case 1:
			spoilt[names[random.IntN(len(names))]] = data // another one's
			continue
		default:
			data = bytes.Clone(data)
			for range 1 + random.IntN(8) {
				word(random, data)
			}
		}
		spoilt[name] = data
	}
	for name, data := range spoilt {
		sparse(t, filepath.Join(directory, run.RawDir, name), data)
	}
	r, _, err := recovered(t, directory)
	if err == nil {
		assert.LessOrEqual(t, r.Measured, r.Ranks)
	}
	os.RemoveAll(directory)
}

// word puts a number where one may mean something: into the header, the tables, or what is in use of a thread's block.
func word(random *rand.Rand, data []byte) {
	if len(data) < 8 {
		return
	}
	regions := []int{0, record.HeaderSize, record.TablesSize, record.TablesSize + record.HotSize, len(data)}
	i := random.IntN(4)
	from, to := min(regions[i], len(data)-8), min(regions[i+1], len(data)-8)
	if i == 0 {
		to = min(int(unsafe.Sizeof(record.Header{})), len(data)-8)
	}
	at := from + random.IntN(max(to-from, 1))
	if i > 0 && random.IntN(4) > 0 { // rather where there is something
		for tries := 0; tries < 200 && binary.LittleEndian.Uint64(data[at:]) == 0; tries++ {
			at = from + random.IntN(max(to-from, 1))
		}
	}
	at &^= 3
	values := []uint64{0, 1, 2, 3, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1, random.Uint64(), random.Uint64N(1 << 20)}
	v := values[random.IntN(len(values))]
	switch random.IntN(4) {
	case 0:
		data[at] = byte(v)
	case 1:
		binary.LittleEndian.PutUint16(data[at:], uint16(v))
	case 2:
		binary.LittleEndian.PutUint32(data[at:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(data[at:], v)
	}
}

// sparse writes a file whose zeros take no room.
func sparse(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	const page = 4096
	zero := make([]byte, page)
	for at := 0; at < len(data); at += page {
		if part := data[at:min(at+page, len(data))]; !bytes.Equal(part, zero[:len(part)]) {
			_, err := file.WriteAt(part, int64(at))
			require.NoError(t, err)
		}
	}
	require.NoError(t, file.Truncate(int64(len(data))))
}
