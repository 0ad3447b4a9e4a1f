package run

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"marple/analysis/callgraph"
)

func TestSteps(t *testing.T) {
	frame := callgraph.KindFrame.String()
	for name, c := range map[string]struct {
		path []Node // the innermost first
		want string
	}{
		"names": {[]Node{{Name: "MPI_Send", Site: "a.c:1"}, {Name: "f", Kind: frame, Site: "a.c:2"}, {Name: "main", Kind: frame}},
			"MPI_Send (a.c:1) in f (a.c:2) in main"},
		"between names": {[]Node{{Name: "MPI_Send", Site: "lib+0x12"}, {Name: "lib+0x10", Kind: frame, Site: "lib+0x22"},
			{Name: "lib+0x20", Kind: frame, Site: "lib+0x32"}, {Name: "solve", Kind: frame, Site: "a.c:2"}, {Name: "a+0x4", Kind: frame, Site: "a+0x19"},
			{Name: "main", Kind: frame}}, "MPI_Send (lib+0x12) in … in solve (a.c:2) in … in main"},
		"none": {[]Node{{Name: "MPI_Send", Site: "a+0x12"}, {Name: "a+0x10", Kind: frame, Site: "a+0x22"}, {Name: "a+0x20", Kind: frame}},
			"MPI_Send (a+0x12) in a+0x10 (a+0x22) in a+0x20"},
		"inlined into one without": {[]Node{{Name: "MPI_Send", Site: "a.c:1", Inlined: []Inlined{{Function: "f"}}}, {Name: "a+0x10", Kind: frame, Site: "a+0x22"},
			{Name: "main", Kind: frame}}, "MPI_Send (a.c:1) in f (inlined) in … in main"},
		"of the program": {[]Node{{Name: "MPI_Send", Site: "program+0x12"}, {Name: "program+0x10", Kind: frame, Module: "/bin/program", Site: "program+0x22"},
			{Name: "main", Kind: frame, Module: "/bin/program"}}, "MPI_Send (program+0x12) in program+0x10 (program+0x22) in main"},
		"of the program, many": {[]Node{{Name: "MPI_Send", Site: "program+0x12"}, {Name: "program+0x10", Kind: frame, Module: "/bin/program", Site: "program+0x22"},
			{Name: "program+0x20", Kind: frame, Module: "/bin/program", Site: "program+0x32"}, {Name: "program+0x30", Kind: frame, Module: "/bin/program"},
			{Name: "main", Kind: frame, Module: "/bin/program"}}, "MPI_Send (program+0x12) in program+0x10 (program+0x22) in … in main"},
		"nothing is left out twice in a row": {[]Node{{Name: "MPI_Send", Site: "a.c:1"}, {Name: "b", Kind: frame}, {Name: "c", Kind: frame}, {Name: "d", Kind: frame},
			{Name: "e", Kind: frame}, {Name: "f", Kind: frame}, {Name: "lib+0x20", Kind: frame}, {Name: "g", Kind: frame}, {Name: "h", Kind: frame},
			{Name: "main", Kind: frame}}, "MPI_Send (a.c:1) in b in c in d in e in f in … in main"},
	} {
		t.Run(name, func(t *testing.T) {
			var below *Node
			var innermost *Node
			for i := range c.path {
				n := &c.path[i]
				if below != nil {
					n.Children = []*Node{below}
				} else {
					innermost = n
				}
				below = n
			}
			r := &Run{Program: "program", CallGraph: []*Node{{Name: "program", Children: []*Node{below}}}}
			assert.Equal(t, c.want, r.Paths().Path(innermost))
		})
	}
}

func TestLabelsOfCallsKeepTheName(t *testing.T) {
	call := Node{Kind: callgraph.KindMPI.String(), Name: "MPI_Allreduce", Site: "solver-production+0x2305"}
	assert.Equal(t, "MPI_Allreduce (solver-p…on+0x2305)", call.LabelIn(34))
	function := Node{Kind: callgraph.KindFrame.String(), Name: "a_very_long_name_of_a_function", Site: "solver.f90:120"}
	assert.Equal(t, "a_very_…unction (solver.f90:120)", function.LabelIn(32))
}
