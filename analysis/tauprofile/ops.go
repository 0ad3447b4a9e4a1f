package tauprofile

import (
	"regexp"

	"marple/analysis/event"
)

// classes of MPI functions, by what a call does: the first whose pattern matches the name behind MPI_, whose
// large-count, non-blocking and persistent forms do the same.
var classes = []struct {
	op      event.Op
	pattern *regexp.Regexp
}{
	{event.OpRequest, name(`P(send|recv)_init|Pready.*|Start|Startall|Cancel|Request_free|Grequest_start`)},
	{event.OpSend, name(`I?send(_init)?`)},
	{event.OpBsend, name(`I?bsend(_init)?`)},
	{event.OpSsend, name(`I?ssend(_init)?`)},
	{event.OpRsend, name(`I?rsend(_init)?`)},
	{event.OpRecv, name(`I?m?recv(_init)?`)},
	{event.OpSendrecv, name(`I?sendrecv(_replace)?`)},
	{event.OpProbe, name(`M?probe`)},
	{event.OpWait, name(`Wait(any|some|all)?`)},
	{event.OpTest, name(`Im?probe|Parrived|Test(any|some|all)?|Request_get_status`)},
	{event.OpBarrier, name(`I?barrier(_init)?`)},
	{event.OpLocal, name(`Reduce_local|Buffer_(at|de)tach|Grequest_complete|Win_(at|de)tach|(Alloc|Free)_mem|(Cart|Graph)_map|` +
		`(Open|Close)_port|((Unp|P)ublish|Lookup)_name|(Unp|P)ack(_external)?`)},
	{event.OpNToN, name(`I?(allgatherv?|alltoall[vw]?|allreduce|reduce_scatter(_block)?)(_init)?`)},
	{event.OpOneToN, name(`I?(bcast|scatterv?)(_init)?`)},
	{event.OpNToOne, name(`I?(gatherv?|reduce)(_init)?`)},
	{event.OpScan, name(`I?(ex)?scan(_init)?`)},
	{event.OpNeighbor, name(`I?neighbor_.*`)},
	{event.OpPut, name(`R?(put|accumulate)`)},
	{event.OpGet, name(`R?get`)},
	{event.OpFetch, name(`R?get_accumulate|Fetch_and_op|Compare_and_swap`)},
	{event.OpFence, name(`Win_fence`)},
	{event.OpWindow, name(`Win_(create.*|allocate.*|free)`)},
	{event.OpRMASync, name(`Win_(post|start|complete|wait|test|(un)?lock(_all)?|flush.*|sync)`)},
	{event.OpFileOther, name(`File_.*_begin|File_(open|close|delete|set_.*|preallocate|get_size|seek.*|get_position_shared|sync)`)},
	{event.OpFileRead, name(`File_i?read.*`)},
	{event.OpFileWrite, name(`File_i?write.*`)},
	{event.OpComm, name(`Comm_(create.*|i?dup.*|split.*|spawn.*|accept|connect|join|get_parent|free|disconnect)|Cart_(create|sub)|` +
		`Graph_create|Dist_graph_create.*|Intercomm_.*`)},
	{event.OpFinalize, name(`Finalize`)},
	{event.OpDatatype, name(`Type_(commit|free|dup|contiguous|h?vector|h?indexed|struct|create_.*)`)},
}

func name(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + pattern + `)(_c)?$`) }

// opOf is what an MPI function does; OpNone if that is not known.
func opOf(function string) event.Op {
	const prefix = len("MPI_")
	for _, c := range classes {
		if len(function) > prefix && c.pattern.MatchString(function[prefix:]) {
			return c.op
		}
	}
	return event.OpNone
}
