package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/page"
	"marple/analysis/record"
	"marple/analysis/report"
	"marple/analysis/store"
	"marple/test/harness"
)

// Whoever shows a run shows one verdict: the same findings with the same shares in the same order.
func TestOneVerdict(t *testing.T) {
	const ms, us = 1_000_000, 1_000
	some := false
	for name, c := range map[string]struct {
		ranks, cores int
		script       func(*analysistest.Rank)
	}{
		"healthy": {4, 4, func(r *analysistest.Rank) {
			analysistest.Steps(20, func() { r.Compute(10 * ms); r.Barrier(20, ms/100) })
		}},
		"slow rank and dear reduction": {4, 4, func(r *analysistest.Rank) {
			analysistest.Steps(20, func() {
				slow := uint64(r.Rank/3) * 10 * ms
				r.Region("solve", func() { r.Compute(10*ms + slow); r.Barrier(20, 10*ms+100*us-slow) })
			})
			analysistest.Steps(20, func() {
				r.Compute(ms)
				r.Call(40, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: 15 * ms, Peer: record.NoPeer, Collective: true})
			})
		}},
		"tiny messages": {2, 2, func(r *analysistest.Rank) {
			analysistest.Steps(5000, func() {
				r.Compute(2 * us)
				if r.Rank == 0 {
					r.Send(30, 1, 8, 2*us)
				} else {
					r.Recv(31, 0, 8, 2*us)
				}
			})
			r.Barrier(40, us)
		}},
		"too few cores": {4, 2, func(r *analysistest.Rank) {
			analysistest.Steps(20, func() { r.OffCore(10 * ms); r.Compute(10 * ms); r.Barrier(20, 5*ms) })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := analysistest.RunWithWaits(c.ranks, c.cores, c.script)
			diagnosis.Conclude(r, knowledge.Library{})
			directory := filepath.Join(t.TempDir(), "run")
			require.NoError(t, os.Mkdir(directory, 0o777))
			require.NoError(t, r.Write(analysistest.In(directory), report.Full(r, directory)))
			some = some || len(r.Findings) > 1

			stored, result, err := (&diagnose{}).diagnose(directory)
			require.NoError(t, err)
			require.Equal(t, r.Findings, stored.Findings)
			require.Equal(t, harness.Titles(r.MayBe), harness.Titles(stored.MayBe))
			require.Equal(t, stored.Findings, result.Findings)
			require.Equal(t, harness.Titles(r.Findings), harness.Told(report.Diagnosis(result, r, false)))
			require.Equal(t, harness.Titles(r.Findings), harness.Told(report.Full(stored, directory)))
			require.Equal(t, harness.Titles(r.Findings), harness.Told(report.Text(stored, directory)))

			p, err := (&pageOptions{}).load(directory)
			require.NoError(t, err)
			var html bytes.Buffer
			require.NoError(t, page.Write(&html, *p))
			require.Equal(t, harness.Titles(r.Findings), harness.Shown(html.String()))

			ctx := context.Background()
			s, err := store.Open(ctx, filepath.Join(t.TempDir(), "runs.db"), store.Create)
			require.NoError(t, err)
			defer s.Close()
			trial, err := newTrial(directory)
			require.NoError(t, err)
			_, err = s.Import(ctx, []*store.New{trial})
			require.NoError(t, err)
			trials, err := s.Trials(ctx)
			require.NoError(t, err)
			last := trials[0]
			require.Len(t, last.Findings, len(r.Findings))
			for i, f := range last.Findings {
				require.Equal(t, []any{r.Findings[i].Title, r.Findings[i].Share, r.Findings[i].Seconds}, []any{f.Title, f.Share, f.Seconds})
			}
		})
	}
	require.True(t, some, "no run has more than one finding: nothing could be out of order")
}
