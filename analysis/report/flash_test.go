package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// flash is a run on eight ranks with the shares that Li and Malony give for FLASH (section 5.4). What they do not
// say, the times and the functions, is made up; their shares of the operations add up to 84.14 %, and the rest of
// the communication belongs to none.
func flash() *run.Run {
	const (
		total = 100e9 // ns per rank
		comm  = 0.8070 * total
		guard = 0.4944 * comm
		// "Among the guardcell-filling communication, 53.01% restricting the solution, 8.27% building tree
		// connections, 38.71% transferring guardcell data"
		restriction = 0.5301 * guard
		connection  = 0.0827 * guard
		transfer    = 0.3871 * guard
		// "94.77% in transferring physical data, 5.23% in building tree connections"; "92.26% collective"
		restrictionData    = 0.9477 * restriction
		restrictionFetch   = (1 - 0.9226) * restriction // point to point, all of it in the transfer of data
		restrictionConnect = 0.0523 * restriction
		// "Among the guardcell-filling communication, 65.78% is spent in collective communications"
		guardFetch = (1-0.6578)*guard - restrictionFetch
	)
	return analysistest.Run(8, 8, func(r *analysistest.Rank) {
		reduce := func(ns float64) {
			r.Call(1, "MPI_Allreduce", record.OpNToN, 0, record.Call{Duration: uint64(ns), Peer: record.NoPeer, Collective: true, Out: 8, In: 8})
		}
		fetch := func(region string, ns float64) {
			if ns > 0 {
				r.Region(region, func() {
					r.Call(2, "MPI_Ssend", record.OpSsend, 0, record.Call{Duration: uint64(ns), Peer: int32(r.Rank+1) % 8, Out: 1 << 15})
				})
			}
		}
		operation := func(region string, share float64) { r.Region(region, func() { reduce(share * comm) }) }

		r.Compute(total - comm)
		operation("amr_check_refine", 0.0435)
		operation("amr_refine_blocks", 0.0222)
		operation("amr_check_coarsen", 0.1383)
		operation("amr_derefine_blocks", 0.0143)
		r.Region("amr_guardcell", func() {
			r.Region("amr_restrict", func() {
				r.Region("transfer_data", func() {
					reduce(restrictionData - restrictionFetch)
					fetch("fetch_child", restrictionFetch)
				})
				r.Region("build_tree_connections", func() { reduce(restrictionConnect) })
			})
			r.Region("build_tree_connections", func() { reduce(connection) })
			r.Region("transfer_guardcells", func() {
				reduce(transfer - guardFetch)
				// "parent 3.42%, sibling 85.93%, child 10.64%": rounded from shares that add up to 100 %
				fetch("fetch_parent", 0.034233*guardFetch)
				fetch("fetch_sibling", 0.859333*guardFetch)
				fetch("fetch_child", 0.106434*guardFetch)
			})
			reduce(guard - restriction - connection - transfer) // 0.01 % that the paper rounds away
		})
		operation("amr_prolong", 0.0344)
		operation("amr_load_balance", 0.0943)
		reduce((1 - 0.8414) * comm)
	})
}

// The same branch is followed as in the paper, and the same conclusions are drawn.
func TestFLASH(t *testing.T) {
	r := flash()
	k, err := knowledge.Library{}.Load("flash")
	require.NoError(t, err)
	result, err := diagnosis.Diagnose(r, nil, diagnosis.Whole(k)...)
	require.NoError(t, err)
	golden(t, "flash.txt", Diagnosis(result, r, true))

	var followed []string
	for _, c := range result.Models[0].Conclusions {
		if c.Followed {
			followed = append(followed, c.ID)
		}
	}
	require.Equal(t, []string{"amr.communication-cost", "amr.expensive-operation(guard_cell_fill)", "amr.restriction-matters",
		"amr.restriction-moves-data", "amr.restriction_transfer.fetches", "amr.restriction_transfer.contiguity-between-levels"}, followed)
	var factors []string
	for _, f := range result.Findings {
		factors = append(factors, f.ID)
	}
	require.Equal(t, []string{"amr.restriction_transfer.contiguity-between-levels", "amr.guard_transfer.contiguity-within-level"}, factors)
}
