package run

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"marple/analysis/callgraph"
	"marple/analysis/words"
)

// Label is a node's name with the place where it was called: "exchange (step.c:12)".
func (n *Node) Label() string { return withSite(n.Name, n.Site) }

// LabelIn is Label in at most width columns: the name is shortened, the place is not; but of MPI calls the place is.
func (n *Node) LabelIn(width int) string {
	switch room := width - words.Width(n.Name) - 3; {
	case n.Site == "":
		return words.Fit(words.Name(n.Name, width), width)
	case n.Kind == callgraph.KindMPI.String() && room > 0:
		return withSite(n.Name, words.Fit(n.Site, room))
	}
	return words.Fit(withSite(words.Name(n.Name, width-words.Width(n.Site)-3), n.Site), width)
}

func withSite(name, site string) string {
	if site == "" {
		return name
	}
	return name + " (" + site + ")"
}

// Paths knows what is above each node of a run.
type Paths struct {
	parents map[*Node]*Node
	program string
}

// Paths looks at all trees of the run once.
func (r *Run) Paths() *Paths {
	p := &Paths{map[*Node]*Node{}, r.Program}
	for _, root := range r.CallGraph {
		root.Walk(func(n *Node, _ int) bool {
			for _, c := range n.Children {
				p.parents[c] = n
			}
			return true
		})
	}
	return p
}

// Parent is the node above; nil above a root.
func (p *Paths) Parent(n *Node) *Node { return p.parents[n] }

// Steps are the parts of a node's path for people, the innermost first: what was called and where, with the
// functions that were inlined on the way. Functions without a name, as stripped libraries have them, are left out
// where a function with a name follows, but for the place where that one called them; of a stripped program the one that
// makes the call is not.
func (p *Paths) Steps(n *Node) []string {
	var steps []string
	var beyond string // where the outermost of those that are left out was called
	nameless, depth := 0, 0
	if n != nil && n.Name == callItself && p.parents[n] != nil {
		n = p.parents[n]
	}
	for ; n != nil && p.parents[n] != nil; n = p.parents[n] {
		switch {
		case depth == 0, len(n.Inlined) > 0, !n.nameless(), depth == 1 && path.Base(n.Module) == p.program:
			if nameless > 0 {
				steps = append(steps[:len(steps)-nameless], withSite(left, beyond))
			}
			steps, nameless = append(append(steps, n.Label()), n.inlinedSteps()...), 0
		default:
			steps, nameless, beyond = append(steps, n.Label()), nameless+1, ""
			if n.File != "" {
				beyond = n.Site
			}
		}
		depth++
	}
	return steps
}

// left stands for steps that are left out.
const left = "…"

var address = regexp.MustCompile(`\+0x[0-9a-f]+$`)

// nameless tells a function that is known by its address only.
func (n *Node) nameless() bool {
	return n.Kind == callgraph.KindFrame.String() && address.MatchString(n.Name)
}

func (n *Node) inlinedSteps() []string {
	var steps []string
	for _, i := range n.Inlined {
		site := "inlined"
		if i.Site != "" {
			site = i.Site + ", inlined"
		}
		steps = append(steps, withSite(i.Function, site))
	}
	return steps
}

// Path is a node's path in one line: "MPI_Send (halo.c:33) in exchange (step.c:12) in step (main.c:7) in main". Of
// long paths the middle is left out.
func (p *Paths) Path(n *Node) string { return strings.Join(p.Brief(n), " in ") }

// Brief are the steps of a node's path; of long ones the middle is left out.
func (p *Paths) Brief(n *Node) []string {
	const most, inner = 9, 7
	steps := p.Steps(n)
	if len(steps) <= most {
		return steps
	}
	kept := steps[:inner]
	for len(kept) > 1 && strings.HasPrefix(kept[len(kept)-1], left) {
		kept = kept[:len(kept)-1]
	}
	return slices.Concat(kept, []string{left}, steps[len(steps)-1:])
}
