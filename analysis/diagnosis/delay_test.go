package diagnosis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// Two models run interleaved: bulges are chased, then what they did is applied to the blocks of all ranks, and then all
// wait for each other. Both kinds of work may be late, and show in the same wait.
const interleaved = `
composition: interleaved
title: Bulges and blocks
models: {pipeline: pipeline, geometric: geometric-decomposition}
host: pipeline
event: (pipeline.receive? pipeline.work geometric.update geometric.exchange)+
match:
  pipeline.receive: {region: pass}
  pipeline.work: {region: chase}
  pipeline.send: {op: sends}
  geometric.blocking: {region: nothing}
  geometric.exchange: {region: exchange}
  geometric.update: {region: update}
`

// interleavedRun makes ten steps on four ranks; chase and update are the extra ms of rank 2.
func interleavedRun(chase, update uint64) *run.Run {
	return analysistest.Run(4, 4, func(r *rank) {
		late := uint64(0)
		if r.Rank == 2 {
			late = 1
		}
		analysistest.Steps(10, func() {
			r.Region("pass", func() {
				if r.Rank > 0 {
					r.Recv(1, r.Rank-1, 8, 0)
				}
				if r.Rank < 3 {
					r.Send(2, r.Rank+1, 8, 0)
				}
			})
			r.Region("chase", func() { r.Compute((2 + late*chase) * ms) })
			r.Region("update", func() { r.Compute((3 + late*update) * ms) })
			r.Region("exchange", func() {
				r.Call(9, "MPI_Neighbor_alltoall", record.OpNeighbor, 0, record.Call{Duration: (1 - late) * (chase + update) * ms, Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
			})
		})
	})
}

func TestDelegatedAndCompositeDelays(t *testing.T) {
	k, err := knowledge.Library{}.Read("interleaved.yaml", []byte(interleaved))
	require.NoError(t, err)
	for _, c := range []struct {
		name                    string
		chase, update           uint64  // ms per step that rank 2 takes longer
		pipeline, geometric     float64 // seconds that the other three wait for each
		delegated, composite    string  // verdicts
		slowStage, unevenPieces string
	}{
		{"both are late, one three times as much", 3, 1, 0.090, 0.030, "holds", "holds", "holds", "rejected"},
		{"both are late alike", 2, 2, 0.060, 0.060, "holds", "holds", "holds", "holds"},
		{"only the bulges are late", 4, 0, 0.120, 0, "holds", "rejected", "holds", "rejected"},
		{"only the blocks are late", 0, 4, 0, 0.120, "rejected", "rejected", "rejected", "holds"},
		{"nothing is late", 0, 0, 0, 0, "rejected", "rejected", "rejected", "rejected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := interleavedRun(c.chase, c.update)
			g, err := apply(newData(r), k, nil)
			require.NoError(t, err)
			// What is waited for in the exchange, by whose delay it is.
			var at *knowledge.Wait
			for _, w := range k.Waits {
				if w.At.String() == "geometric.exchange" {
					at = w
				}
			}
			parts, err := g.attribute(at)
			require.NoError(t, err)
			got := map[string]float64{}
			for i, cause := range at.Causes {
				got[cause.String()] = parts[i]
			}
			require.InDelta(t, c.pipeline, got["pipeline.work"], 1e-9)
			require.InDelta(t, c.geometric, got["geometric.update"], 1e-9)
			// The delay counts for the model that causes it, wherever it is waited for.
			own, err := g.evaluators[k.Scope("pipeline")].metric("waiting_for_slow", "")
			require.NoError(t, err)
			require.InDelta(t, c.pipeline, own, 1e-9)
			verdict := map[string]string{}
			seconds := map[string]float64{}
			for _, conclusion := range g.applied(nil).Conclusions {
				verdict[conclusion.ID], seconds[conclusion.ID] = conclusion.Verdict, conclusion.Seconds
			}
			require.Equal(t, c.delegated, verdict["delegated-pipeline-in-geometric-exchange"])
			require.Equal(t, c.composite, verdict["composite-geometric-exchange"])
			if c.composite == "holds" {
				require.InDelta(t, c.pipeline+c.geometric, seconds["composite-geometric-exchange"], 1e-9)
			}
		})
	}
}

// bulges is PDLAHQR's form on four ranks, with BLACS between it and MPI: what a bulge stands on comes from the rank before
// and goes on; the bulge is chased; then the reflections that it made are broadcast, and applied to the blocks of all,
// across whose border there is an exchange. Rank 2 takes longer for each bulge, or for its blocks, which the others wait
// for in the broadcast.
func bulges(chase, update uint64) *run.Run {
	return analysistest.Run(4, 4, func(r *rank) {
		late := uint64(0)
		if r.Rank == 2 {
			late = 1
		}
		receive := func(line, from int) {
			r.Function(line, "dgerv2d_", func() { r.Function(20, "BI_Srecv", func() { r.Recv(1, from, 72, 0) }) })
		}
		send := func(line, to int) {
			r.Function(line, "dgesd2d_", func() { r.Function(21, "BI_Asend", func() { r.Send(2, to, 72, 0) }) })
		}
		r.Compute(5 * ms) // the matrix, before there is a bulge
		r.Function(10, "pdlahqr_", func() {
			analysistest.Steps(12, func() {
				r.Function(11, "pdlacp3_", func() {
					if r.Rank > 0 {
						receive(12, r.Rank-1)
					}
					if r.Rank < 3 {
						send(13, r.Rank+1)
					}
				})
				r.Compute((1 + late*chase) * ms)
				r.Function(14, "dgebs2d_", func() {
					r.Call(3, "MPI_Bcast", record.OpOneToN, 0, record.Call{Duration: (1 - late) * (chase + update) * ms, Peer: record.NoPeer, Collective: true, Out: 72})
				})
				r.Compute((1 + late*update) * ms)
				if r.Rank < 3 {
					send(15, r.Rank+1)
				}
				r.Compute(500_000)
				if r.Rank > 0 {
					receive(16, r.Rank-1)
				}
				r.Compute(500_000)
			})
		})
	})
}

// The knowledge of PDLAHQR tells what is computed for a bulge from what is computed on the blocks, and so to the nanosecond
// what each makes all ranks wait for.
func TestDelaysOfTheModelOfPDLAHQR(t *testing.T) {
	k, err := knowledge.Library{}.Load("pdlahqr")
	require.NoError(t, err)
	pipeline, geometric := k.Scope("pipeline"), k.Scope("geometric")
	for _, c := range []struct {
		chase, update        uint64 // ms per bulge that rank 2 takes longer
		delegated, composite string
	}{{3, 1, "holds", "holds"}, {1, 3, "holds", "holds"}, {2, 0, "holds", "rejected"}, {0, 2, "rejected", "rejected"}, {0, 0, "rejected", "rejected"}} {
		g, err := apply(newData(bulges(c.chase, c.update)), k, nil)
		require.NoError(t, err)
		for part, want := range map[knowledge.ComponentRef]float64{
			{Scope: pipeline, Name: "work"}:    12 * float64(4+c.chase) / 1000,
			{Scope: geometric, Name: "update"}: (20 + 12*float64(8+c.update)) / 1000,
		} {
			time, err := g.evaluators[part.Scope].time(selection{component: part.Name})
			require.NoError(t, err)
			require.InDelta(t, want, time, 1e-9, part.String())
		}
		got := map[string]float64{}
		for _, w := range k.Waits {
			if w.At.String() == "geometric.exchange" {
				parts, err := g.attribute(w)
				require.NoError(t, err)
				for i, cause := range w.Causes {
					got[cause.String()] = parts[i]
				}
			}
		}
		require.InDelta(t, 12*3*float64(c.chase)/1000, got["pipeline.work"], 1e-9)
		require.InDelta(t, 12*3*float64(c.update)/1000, got["geometric.update"], 1e-9)
		verdicts, lost := map[string]string{}, map[string]float64{}
		for _, x := range g.applied(nil).Conclusions {
			verdicts[x.ID], lost[x.ID] = x.Verdict, x.Seconds
		}
		require.Equal(t, c.delegated, verdicts["delegated-pipeline-in-geometric-exchange"], c)
		require.Equal(t, c.composite, verdicts["composite-geometric-exchange"])
		if c.composite == "holds" {
			require.InDelta(t, 12*3*float64(c.chase+c.update)/1000, lost["composite-geometric-exchange"], 1e-9)
		}
		// What ranks work for one model is not lost to the other.
		for scope, metric := range map[*knowledge.Scope]string{pipeline: "stage_loss", geometric: "idle_loss"} {
			loss, err := g.evaluators[scope].metric(metric, "")
			require.NoError(t, err)
			require.InDelta(t, 12*3*float64(c.chase+c.update)/1000, loss, 1e-9, metric)
		}
	}
}

// In a multifrontal factorization a rank is late with a front, or with its part as the master of a large one; others wait
// where they expect work for such a master, or what is below a front.
func TestDelaysOfTheModelOfMUMPS(t *testing.T) {
	k, err := knowledge.Library{}.Load("mumps")
	require.NoError(t, err)
	for _, c := range []struct{ front, master uint64 }{{2, 0}, {0, 3}, {0, 0}} {
		r := analysistest.Run(4, 4, func(r *rank) {
			late := uint64(0)
			if r.Rank == 2 {
				late = 1
			}
			wait := func(line int, ns uint64) { r.Recv(line, (r.Rank+1)%4, 8, (1-late)*ns) }
			r.Region("dmumps_fac_par", func() {
				analysistest.Steps(10, func() {
					r.Send(1, (r.Rank+3)%4, 8, 0)
					r.Compute((1 + late*c.front) * ms)
					r.Region("dmumps_process_blfac_slave", func() { wait(2, c.front*ms); r.Compute(1 * ms) })
					r.Region("dmumps_fac_asm_niv2", func() { r.Compute((1 + late*c.master) * ms); r.Send(3, (r.Rank+3)%4, 8, 0) })
					r.Region("dmumps_try_recvtreat", func() { wait(4, c.master*ms) })
				})
			})
		})
		g, err := apply(newData(r), k, nil)
		require.NoError(t, err)
		want := map[string]float64{}
		if c.front > 0 {
			want["delegated-tree-in-farm-wait-for-task"] = 10 * 3 * float64(c.front) / 1000
		}
		if c.master > 0 {
			want["delegated-farm-in-tree-remote-child"] = 10 * 3 * float64(c.master) / 1000
		}
		for _, x := range g.applied(nil).Conclusions {
			if between := strings.HasPrefix(x.ID, "delegated-") || strings.HasPrefix(x.ID, "composite-"); between && x.Verdict == "holds" {
				require.InDelta(t, want[x.ID], x.Seconds, 1e-9, x.ID)
				delete(want, x.ID)
			}
		}
		require.Empty(t, want)
	}
}

// What stands before and after a computation is known by any of the functions between the two, but not by one that the
// computation itself is in.
func TestComputationBesideFunctions(t *testing.T) {
	r := analysistest.Run(2, 2, func(r *rank) {
		r.Function(1, "solve", func() {
			r.Function(2, "fetch", func() { r.Function(3, "get", func() { r.Barrier(4, 0) }) })
			r.Compute(1 * ms)
			r.Region("store", func() { r.Function(5, "put", func() { r.Barrier(6, 0); r.Compute(2 * ms); r.Barrier(7, 0) }) })
		})
	})
	for glob, want := range map[string]float64{"after: fetch": 0.001, "after: get": 0.001, "after: MPI_Barrier": 0.003, "after: solve": 0, "after: main": 0,
		"before: store": 0.001, "before: put": 0.002, "after: fetch, before: store": 0.001, "after: put": 0.002} {
		k, err := knowledge.Library{}.Read("beside.yaml", []byte("extends: pipeline\nmatch: {work: {computation: any, "+glob+"}}\n"))
		require.NoError(t, err)
		g, err := apply(newData(r), k, nil)
		require.NoError(t, err)
		time, err := g.evaluators[k.Scopes[0]].time(selection{component: "work"})
		require.NoError(t, err)
		require.InDelta(t, 2*want, time, 1e-9, glob)
	}
}
