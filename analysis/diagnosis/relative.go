package diagnosis

import (
	"cmp"
	"math"
	"slices"

	"marple/analysis/run"
)

// Relative is how the diagnoses of two runs by the same knowledge differ.
type Relative struct {
	A       Side     `json:"a"`
	B       Side     `json:"b"`
	Changes []Change `json:"changes"`
}

// Side is one of the runs.
type Side struct {
	Program string     `json:"program"`
	Ranks   int        `json:"ranks"`
	Wall    float64    `json:"wall"` // s
	Looks   []Likeness `json:"looks"`
}

// Change is a conclusion about one of the runs, or both, and what it costs in each.
type Change struct {
	Model string `json:"model"`
	ID    string `json:"id"`
	Kind  string `json:"kind"`  // observation or factor
	Title string `json:"title"` // of where it holds, and costs more
	Where string `json:"where,omitempty"`
	A     Cost   `json:"a"`
	B     Cost   `json:"b"`
}

// Cost is what a fact costs, whether it holds or not.
type Cost struct {
	Verdict string  `json:"verdict"` // holds, rejected or unknown
	Seconds float64 `json:"seconds"` // of core time of all ranks, 0 where that is not known; in Relative of each rank, as a mean
	Share   float64 `json:"share"`   // of the core time
}

// Relate applies the knowledge that was chosen for two runs, what was chosen for either to both, and compares what was concluded. Where
// one run is of more ranks, what changes is how the program scales. Phases are left out: those of one run are not the other's. Events are
// as in Diagnose.
func Relate(a, b *run.Run, forA, forB *Choice, eventsA, eventsB Events) (*Relative, error) {
	out := &Relative{A: side(a, forA), B: side(b, forB), Changes: []Change{}}
	var pieces []Piece
	for _, p := range slices.Concat(forA.Pieces, forB.Pieces) {
		if p.Phase == nil && !slices.ContainsFunc(pieces, func(x Piece) bool { return x.Name == p.Name }) {
			pieces = append(pieces, p)
		}
	}
	before, err := Diagnose(a, eventsA, pieces...)
	if err != nil {
		return nil, err
	}
	after, err := Diagnose(b, eventsB, pieces...)
	if err != nil {
		return nil, err
	}
	for i, model := range before.Models[:min(len(before.Models), len(after.Models))] { // a run without calls has none
		then := map[string]*Conclusion{}
		for k := range after.Models[i].Conclusions {
			c := &after.Models[i].Conclusions[k]
			then[c.ID] = c
		}
		for k := range model.Conclusions {
			if x, y := &model.Conclusions[k], then[model.Conclusions[k].ID]; y != nil {
				out.add(model.Model, x, y)
			}
		}
	}
	slices.SortStableFunc(out.Changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(math.Abs(y.B.Share-y.A.Share), math.Abs(x.B.Share-x.A.Share)))
	})
	return out, nil
}

func side(r *run.Run, c *Choice) Side {
	return Side{r.Program, r.Ranks, seconds(r.WallNs), c.Looks}
}

// add notes a conclusion that holds of one of the runs and that no other model decides about.
func (r *Relative) add(model string, x, y *Conclusion) {
	told := func(c *Conclusion) bool { return c.Verdict == "holds" && c.JudgedBy == "" }
	if !told(x) && !told(y) {
		return
	}
	c := Change{Model: model, ID: x.ID, Kind: x.Kind, Title: x.Title, Where: x.Where, A: x.costs, B: y.costs}
	c.A.Seconds /= float64(max(r.A.Ranks, 1))
	c.B.Seconds /= float64(max(r.B.Ranks, 1))
	if x.Verdict != "holds" || y.Verdict == "holds" && c.B.Share > c.A.Share {
		c.Title, c.Where = y.Title, y.Where
	}
	r.Changes = append(r.Changes, c)
}
