package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/store"
)

const regions = 15

// storeMany makes so many run directories, each with a measurement of its own.
func storeMany(t *testing.T, n int) (directories []string) {
	above := t.TempDir()
	for i := range n {
		r := analysistest.Run(4, 4, func(r *analysistest.Rank) {
			for region := range regions {
				r.Region(fmt.Sprint("region ", region), func() {
					r.Compute(uint64(1000 + i))
					r.Barrier(5, 1000)
				})
			}
		})
		directory := filepath.Join(above, fmt.Sprint("run-", i))
		require.NoError(t, os.Mkdir(directory, 0o777))
		require.NoError(t, r.Write(analysistest.In(directory), report.Full(r, directory)))
		directories = append(directories, directory)
	}
	return directories
}

// wholeTrials looks whether every trial is there as a whole: the run, and all that is made of it.
func wholeTrials(t *testing.T, location string, directories []string) (trials int) {
	ctx := context.Background()
	s, err := store.Open(ctx, location, store.Create)
	require.NoError(t, err)
	defer s.Close()
	list, err := s.Trials(ctx)
	require.NoError(t, err)
	var runs []*run.Run
	for _, x := range list {
		for _, d := range directories {
			if filepath.Base(d) == x.Name {
				want, err := run.Read(d)
				require.NoError(t, err)
				have, err := s.Run(ctx, x.ID)
				require.NoError(t, err)
				require.Equal(t, want, have)
				require.Len(t, x.Findings, len(want.Findings))
				runs = append(runs, want)
			}
		}
	}
	require.Len(t, runs, len(list))
	stored, err := s.Runs(ctx, list, 0)
	require.NoError(t, err)
	for i, p := range stored.Points {
		require.Len(t, p.Times, 2*regions+3, "call paths of trial %d", list[i].ID) // regions and barriers; root, main, MPI_Finalize
	}
	return len(list)
}

// Whenever an import is killed, what is there is whole, and the next one completes it.
func TestKilledImport(t *testing.T) {
	directories := storeMany(t, 75)
	for name, place := range map[string]struct {
		fresh func(t *testing.T) string
		busy  func(t *testing.T, location string) bool // a transaction is on its way
	}{
		"SQLite": {func(t *testing.T) string { return filepath.Join(t.TempDir(), "runs.db") }, func(_ *testing.T, location string) bool {
			_, err := os.Stat(location + "-journal")
			return err == nil
		}},
		"PostgreSQL": {func(t *testing.T) string { return postgres.Fresh(t) }, func(t *testing.T, _ string) bool {
			return postgres.Ask(t, "postgres", "SELECT 1 FROM pg_stat_activity WHERE application_name = 'marple' AND backend_xid IS NOT NULL") > 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			location, last := place.fresh(t), 0
			for killed := 0; killed < 6; {
				command := importing(location, directories)
				require.NoError(t, command.Start())
				ended := make(chan error, 1)
				go func() { ended <- command.Wait() }()
				for len(ended) == 0 && !place.busy(t, location) {
				}
				time.Sleep(time.Duration(killed) * 7 * time.Millisecond) // different moments of the transaction
				// It may have ended before; then Kill has nobody to kill, and the import must have succeeded.
				gone := command.Process.Kill()
				err := <-ended
				if gone == nil && err != nil {
					require.Equal(t, -1, command.ProcessState.ExitCode(), "it ended by the signal")
					killed++
				} else {
					require.NoError(t, err)
				}
				now := wholeTrials(t, location, directories)
				require.GreaterOrEqual(t, now, last, "what was stored is lost")
				if last = now; now == len(directories) {
					location, last = place.fresh(t), 0
				}
			}
			out, err := importing(location, directories).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, len(directories), wholeTrials(t, location, directories))
		})
	}
}

func importing(location string, directories []string, more ...string) *exec.Cmd {
	return exec.Command("marple", slices.Concat([]string{"db", "import", "--db", location}, more, directories)...)
}

// Processes that write at once lose nothing, and store nothing twice.
func TestImportsAtOnce(t *testing.T) {
	directories := storeMany(t, 60)
	for name, location := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "runs.db"), "PostgreSQL": ""} {
		t.Run(name, func(t *testing.T) {
			if location == "" {
				location = postgres.Fresh(t)
			}
			results := make(chan error)
			const writers = 3
			for i := range writers { // each has 30, of which others have some
				go func() {
					out, err := importing(location, directories[15*i:15*i+30], "--experiment", "e").CombinedOutput()
					if err != nil {
						err = fmt.Errorf("%w: %s", err, out)
					}
					results <- err
				}()
			}
			for range writers {
				require.NoError(t, <-results)
			}
			require.Equal(t, len(directories), wholeTrials(t, location, directories))
		})
	}
}

// storeSeries makes directories 1 to 6 with runs of 2 to 64 ranks.
func storeSeries(directory string) error {
	const ms = 1_000_000
	for i := range 6 {
		ranks := 2 << i
		r := analysistest.Run(ranks, ranks, func(r *analysistest.Rank) {
			r.Region("solve", func() {
				r.Compute(uint64(640 * ms / ranks))
				r.Barrier(5, uint64(ranks)*ms)
			})
		})
		into := filepath.Join(directory, fmt.Sprint(i+1))
		if err := errors.Join(os.MkdirAll(into, 0o777), r.Write(analysistest.In(into), report.Full(r, into))); err != nil {
			return err
		}
	}
	return nil
}
