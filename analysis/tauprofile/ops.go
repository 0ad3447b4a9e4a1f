package tauprofile

import (
	"regexp"

	"marple/analysis/record"
)

// classes of MPI functions, by what a call does: the first whose pattern matches the name behind MPI_, whose
// large-count, non-blocking and persistent forms do the same.
var classes = []struct {
	op      record.Op
	pattern *regexp.Regexp
}{
	{record.OpRequest, name(`P(send|recv)_init|Pready.*|Start|Startall|Cancel|Request_free|Grequest_start`)},
	{record.OpSend, name(`I?send(_init)?`)},
	{record.OpBsend, name(`I?bsend(_init)?`)},
	{record.OpSsend, name(`I?ssend(_init)?`)},
	{record.OpRsend, name(`I?rsend(_init)?`)},
	{record.OpRecv, name(`I?m?recv(_init)?`)},
	{record.OpSendrecv, name(`I?sendrecv(_replace)?`)},
	{record.OpProbe, name(`M?probe`)},
	{record.OpWait, name(`Wait(any|some|all)?`)},
	{record.OpTest, name(`Im?probe|Parrived|Test(any|some|all)?|Request_get_status`)},
	{record.OpBarrier, name(`I?barrier(_init)?`)},
	{record.OpLocal, name(`Reduce_local|Buffer_(at|de)tach|Grequest_complete|Win_(at|de)tach|(Alloc|Free)_mem|(Cart|Graph)_map|` +
		`(Open|Close)_port|((Unp|P)ublish|Lookup)_name|(Unp|P)ack(_external)?`)},
	{record.OpNToN, name(`I?(allgatherv?|alltoall[vw]?|allreduce|reduce_scatter(_block)?)(_init)?`)},
	{record.OpOneToN, name(`I?(bcast|scatterv?)(_init)?`)},
	{record.OpNToOne, name(`I?(gatherv?|reduce)(_init)?`)},
	{record.OpScan, name(`I?(ex)?scan(_init)?`)},
	{record.OpNeighbor, name(`I?neighbor_.*`)},
	{record.OpPut, name(`R?(put|accumulate)`)},
	{record.OpGet, name(`R?get`)},
	{record.OpFetch, name(`R?get_accumulate|Fetch_and_op|Compare_and_swap`)},
	{record.OpFence, name(`Win_fence`)},
	{record.OpWindow, name(`Win_(create.*|allocate.*|free)`)},
	{record.OpRMASync, name(`Win_(post|start|complete|wait|test|(un)?lock(_all)?|flush.*|sync)`)},
	{record.OpFileOther, name(`File_.*_begin|File_(open|close|delete|set_.*|preallocate|get_size|seek.*|get_position_shared|sync)`)},
	{record.OpFileRead, name(`File_i?read.*`)},
	{record.OpFileWrite, name(`File_i?write.*`)},
	{record.OpComm, name(`Comm_(create.*|i?dup.*|split.*|spawn.*|accept|connect|join|get_parent|free|disconnect)|Cart_(create|sub)|` +
		`Graph_create|Dist_graph_create.*|Intercomm_.*`)},
	{record.OpFinalize, name(`Finalize`)},
	{record.OpDatatype, name(`Type_(commit|free|dup|contiguous|h?vector|h?indexed|struct|create_.*)`)},
}

func name(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + pattern + `)(_c)?$`) }

// opOf is what an MPI function does; OpNone if that is not known.
func opOf(function string) record.Op {
	const prefix = len("MPI_")
	for _, c := range classes {
		if len(function) > prefix && c.pattern.MatchString(function[prefix:]) {
			return c.op
		}
	}
	return record.OpNone
}
