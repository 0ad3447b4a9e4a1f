package diagnosis

import (
	"cmp"
	"slices"

	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Likeness says how much a run looks like a model.
type Likeness struct {
	Model string `json:"model"` // name of a model or composition
	Title string `json:"title"`
	// Confidence is that of the weakest sign, from 0 to 1.
	Confidence float64 `json:"confidence"`
	Signs      []Sign  `json:"signs"`
	plain      bool
	parts      int // a composition says more than the models that it is made of
}

// Sign is something a run has, or has not, of a model's looks.
type Sign struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"` // 0: not at all, 1: wholly
}

// Recognized is the confidence from which on a program is said to embody a model.
const Recognized = 0.6

// Recognize says which models a run looks like, the likeliest first, and of equal ones what says more than general
// knowledge does. Of a model that has several looks the best one counts. What is not measured is no sign.
func Recognize(r *run.Run, pieces ...*knowledge.Knowledge) ([]Likeness, error) {
	d := newData(r)
	list := []Likeness{}
	if d.core <= 0 || len(d.nodes) == 0 {
		return list, nil
	}
	for _, k := range pieces {
		s := k.Scope("") // the model by itself, or what a composition says of itself
		if s == nil || len(s.Model.Looks) == 0 {
			continue
		}
		g := prepare(d, k, nil)
		best := Likeness{Confidence: -1}
		for _, look := range s.Model.Looks {
			if l := g.evaluators[s].likeness(look); l.Confidence > best.Confidence {
				best = l
			}
		}
		best.Model, best.Title, best.plain, best.parts = k.Name, k.Title, s.Model.Plain, len(k.Scopes)
		list = append(list, best)
	}
	later := map[bool]int{true: 1}
	slices.SortStableFunc(list, func(a, b Likeness) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(later[a.plain], later[b.plain]), cmp.Compare(b.parts, a.parts))
	})
	return list, nil
}

// Choose gives the knowledge to diagnose a run with when nobody says which: general knowledge, and that of the model
// that the run looks most like, if it looks like one; and how much it looks like each. Where no time is lost in MPI
// that a model could explain, none is looked for.
func Choose(r *run.Run, library knowledge.Library) (pieces []*knowledge.Knowledge, likeness []Likeness, err error) {
	general, err := library.Load("general")
	if err != nil {
		return nil, nil, err
	}
	pieces = []*knowledge.Knowledge{general}
	if d := newData(r); d.inMPI < general.Scopes[0].Model.Threshold("least").Value*d.core {
		return pieces, []Likeness{}, nil
	}
	byName := map[string]*knowledge.Knowledge{}
	var all []*knowledge.Knowledge
	for _, name := range knowledge.Recognizable() {
		k, err := library.Load(name)
		if err != nil {
			return nil, nil, err
		}
		byName[name] = k
		all = append(all, k)
	}
	if likeness, err = Recognize(r, all...); err != nil {
		return nil, nil, err
	}
	if len(likeness) > 0 && likeness[0].Confidence >= Recognized {
		pieces = append(pieces, byName[likeness[0].Model])
	}
	return pieces, likeness, nil
}

func (e *evaluator) likeness(look *knowledge.Look) Likeness {
	l := Likeness{Confidence: 1}
	for _, s := range look.Signs {
		x, err := e.number(s.Is, nil)
		if err != nil || x != x {
			x = 0
		}
		x = min(1, max(0, x))
		l.Signs = append(l.Signs, Sign{e.text(s.Says, nil, knowledge.Unit{}), x})
		l.Confidence = min(l.Confidence, x)
	}
	return l
}
