package profile

import (
	"fmt"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/record"
)

// account notes what a process says that it has recorded. One that ended before MPI_Finalize may have been stopped
// between counting a call and committing its record, once in each thread; of one that may still run nothing is compared.
func (p *Profile) account(of *record.Process) {
	spare := uint64(0)
	for _, t := range of.Threads() {
		p.Behind += t.Behind
		for op, n := range t.Made {
			p.Made[op] += n
		}
		if t.Inside && of.Header().State != record.Finalized {
			spare++
		}
	}
	for op, have := range p.calls() {
		made := &p.Made[op]
		if of.Header().State == record.Running {
			*made = have
		}
		*made -= min(*made, of.LostCalls(record.Op(op)).Calls)
		if *made > have && *made-have <= spare {
			spare -= *made - have
			*made = have
		}
	}
	p.Unmerged = of.Header().Unmerged
}

// calls are those in the graph, by operation.
func (p *Profile) calls() (n [record.OpCount]uint64) {
	for i := range p.Graph.Nodes {
		if node := &p.Graph.Nodes[i]; node.Kind == callgraph.KindMPI && node.Op < record.OpCount {
			n[node.Op] += node.Calls.N
		}
	}
	return n
}

// Missing is how many records were made and are not in the profile, and of what: calls by operation, as in
// "send 50000, wait 3". What was counted without a record, for want of room, is not among them.
func (p *Profile) Missing() (count uint64, what string) {
	var list []string
	for op, have := range p.calls() {
		if made := p.Made[op]; made > have {
			count += made - have
			list = append(list, fmt.Sprintf("%s %d", record.Op(op), made-have))
		}
	}
	return max(count, p.Behind), strings.Join(list, ", ")
}
