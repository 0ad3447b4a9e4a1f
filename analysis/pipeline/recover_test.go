package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/report"
	"marple/analysis/run"
)

const calls = 10_000 // per rank: the ring is handed over twice, and a rest lies in it

func script(r *analysistest.Rank) {
	for i := range calls {
		r.Compute(10)
		r.Send(12, (r.Rank+1)%r.Ranks, uint64(i%97), 5)
	}
}

// runDirectory holds the record files of ranks that were killed.
func runDirectory(t *testing.T, files [][]byte) string {
	directory := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(directory, run.RawDir), 0o777))
	for i, data := range files {
		require.NoError(t, os.WriteFile(analysistest.RankFile(directory, i), data, 0o666))
	}
	return directory
}

func sends(r *run.Run) run.Function {
	for _, f := range r.Functions {
		if f.Name == "MPI_Send" {
			return f
		}
	}
	return run.Function{}
}

func TestRecover(t *testing.T) {
	directory := runDirectory(t, analysistest.Files(3, 4, script))
	for range 2 { // recovering changes nothing
		r, problems, err := Recover(analysistest.In(directory), 0, knowledge.Library{})
		require.NoError(t, err)
		assert.Empty(t, problems)
		assert.Equal(t, 3, r.Measured)
		assert.Equal(t, uint64(3*calls), sends(r).Calls)
		assert.Equal(t, uint64(3*calls*5), sends(r).Ns)
		for _, rank := range r.PerRank {
			assert.Equal(t, "vanished", rank.Ended)
		}
		assert.Contains(t, report.Full(r, directory), "Marple: The run failed: ranks 0, 1 and 2 vanished after the last event")
	}
}

// What is wrong with a file is said; what is right in it, and in the others, is kept.
func TestRecoverDamage(t *testing.T) {
	inUse := record.TablesSize + record.Extent(analysistest.Files(1, 4, script)[0][record.TablesSize:])
	for name, c := range map[string]struct {
		spoil   func(data []byte) []byte
		problem string
		calls   uint64 // of the spoilt file
	}{
		"empty":              {func([]byte) []byte { return nil }, "0 bytes; a record file has at least", 0},
		"foreign":            {func(d []byte) []byte { return bytes.Repeat([]byte("\x7fELF"), len(d)/4) }, "not a record file", 0},
		"another version":    {func(d []byte) []byte { d[8] = 77; return d }, "a record file of version 77; this Marple reads version ", 0},
		"of before":          {func(d []byte) []byte { d[8] = 3; return d[:record.HeaderSize] }, "use the older Marple that wrote it", 0},
		"cut in the tables":  {func(d []byte) []byte { return d[:record.TablesSize-1] }, "a record file has at least", 0},
		"cut in the ring":    {func(d []byte) []byte { return d[:record.TablesSize+record.HotSize+100] }, "cut off after", 0},
		"cut after its data": {func(d []byte) []byte { return d[:inUse] }, "", calls},
		"cut in its data":    {func(d []byte) []byte { return d[:inUse-1] }, "cut off after", calls},
		"of a rank twice": {func([]byte) []byte { return analysistest.Files(1, 4, script)[0] },
			"left out: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			files := analysistest.Files(2, 4, script)
			files[1] = c.spoil(files[1])
			directory := runDirectory(t, files)
			r, problems, err := Recover(analysistest.In(directory), 0, knowledge.Library{})
			require.NoError(t, err)
			assert.Equal(t, calls+c.calls, sends(r).Calls)
			if c.problem == "" {
				assert.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			assert.ErrorContains(t, problems[0], analysistest.RankFile(directory, 1)+": ")
			assert.ErrorContains(t, problems[0], c.problem)
		})
	}
}

// What each host has of a run makes the whole of it, whichever comes first; what is missing is not made up.
func TestRecoverSeveralDirectories(t *testing.T) {
	files := analysistest.Files(4, 4, script)
	host := func(ranks ...int) string {
		directory := runDirectory(t, nil)
		for _, rank := range ranks {
			require.NoError(t, os.WriteFile(analysistest.RankFile(directory, rank), files[rank], 0o666))
		}
		return directory
	}
	first, second, empty := host(0, 1), host(2, 3), host()
	for _, c := range []struct {
		list    []string
		ranks   int
		problem string
	}{
		{[]string{first, second}, 4, ""},
		{[]string{second, first}, 4, ""},
		{[]string{empty, first, second}, 4, empty + ": no record files in "},
		{[]string{first}, 2, ""},
		{[]string{first, host(1, 2)}, 3, "is of the same rank"},
	} {
		r, problems, err := Recover(analysistest.In(c.list[0]), 0, knowledge.Library{}, c.list[1:]...)
		require.NoError(t, err)
		assert.Equal(t, 4, r.Ranks)
		assert.Equal(t, c.ranks, r.Measured)
		assert.Equal(t, uint64(c.ranks*calls), sends(r).Calls)
		if c.problem == "" {
			assert.Empty(t, problems)
		} else if assert.Len(t, problems, 1) {
			assert.ErrorContains(t, problems[0], c.problem)
		}
	}
}

func TestRecoverNothing(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(directory string)
		error   string
	}{
		"no directory": {func(d string) { os.RemoveAll(d) }, "no record files"},
		"no files":     {func(d string) { os.Remove(analysistest.RankFile(d, 0)) }, "no record files"},
		"complete": {func(d string) {
			os.Remove(analysistest.RankFile(d, 0))
			os.WriteFile(filepath.Join(d, run.File), nil, 0o666)
		}, "the run is complete; print it with: marple report"},
		"only those of another version": {func(d string) {
			data, _ := os.ReadFile(analysistest.RankFile(d, 0))
			data[8] = 77
			os.WriteFile(analysistest.RankFile(d, 0), data, 0o666)
		}, "rank-000000.mrl: a record file of version 77; this Marple reads version "},
		"what was merged by another version": {func(d string) {
			os.Remove(analysistest.RankFile(d, 0))
			os.WriteFile(filepath.Join(d, run.RawDir, mergedFile), []byte{3}, 0o666)
		}, "merged: a profile of version 3; this Marple reads version "},
		"only damaged files": {func(d string) { os.Truncate(analysistest.RankFile(d, 0), 5) }, "no record file can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := runDirectory(t, analysistest.Files(1, 4, script))
			in := analysistest.In(directory)
			c.prepare(directory)
			_, _, err := Recover(in, 0, knowledge.Library{})
			assert.ErrorContains(t, err, c.error)
		})
	}
}

// Rank 0 was killed after all others had removed their files, before it had stored the run.
func TestRecoverWhatWasMerged(t *testing.T) {
	directory := runDirectory(t, nil)
	require.NoError(t, Keep(analysistest.Profile(3, 4, script), analysistest.In(directory)))
	r, problems, err := Recover(analysistest.In(directory), 0, knowledge.Library{})
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Equal(t, uint64(3*calls), sends(r).Calls)
	assert.Equal(t, "finalized", r.PerRank[2].Ended)

	Tidy(analysistest.In(directory))
	assert.NoDirExists(t, filepath.Join(directory, run.RawDir))
}

// Records of another run are left out, however many ranks it had.
func TestRecoverAnotherRun(t *testing.T) {
	files, others := analysistest.Files(4, 4, script), analysistest.Files(4, 4, script)
	for _, data := range others {
		record.HeaderOf(data).Run = 7
	}
	first, second := runDirectory(t, files[:1]), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(second, run.RawDir), 0o777))
	for rank := 1; rank < 4; rank++ {
		require.NoError(t, os.WriteFile(analysistest.RankFile(second, rank), others[rank], 0o666))
	}
	r, problems, err := Recover(analysistest.In(first), 0, knowledge.Library{}, second)
	require.NoError(t, err)
	assert.Equal(t, 1, r.Measured)
	require.Len(t, problems, 3)
	assert.EqualError(t, problems[0], analysistest.RankFile(second, 1)+": left out: of another run than others")
}
