package diagnosis

import (
	"cmp"
	"slices"

	"marple/analysis/knowledge"
	"marple/analysis/record"
	"marple/analysis/run"
)

// Likeness says how much a run looks like a model.
type Likeness struct {
	Model string `json:"model"` // name of a model or composition
	Title string `json:"title"`
	// Confidence is that of the weakest sign, from 0 to 1.
	Confidence float64 `json:"confidence"`
	Signs      []Sign  `json:"signs"`
	fits       float64 // that, however little names prove
	plain      bool
	told       bool // by names
	parts      int  // a composition says more than the models that it is made of
}

// Sign is something a run has, or has not, of a model's looks.
type Sign struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"` // 0: not at all, 1: wholly
}

// Recognized is the confidence from which on a program is said to embody a model.
const Recognized = 0.6

// byName is the most that a look counts for which goes by names: what somebody has called it proves little. Which of two designs
// it is does not hang on it: where messages fit both as well, a name is what there is to tell them apart.
const byName = 0.8

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
		return cmp.Or(cmp.Compare(b.fits, a.fits), cmp.Compare(later[a.plain], later[b.plain]), cmp.Compare(b.parts, a.parts))
	})
	return list, nil
}

// Choice is what a run looks like, and so what it is diagnosed with.
type Choice struct {
	Pieces []Piece
	Looks  []Likeness // of the run as a whole, the likeliest first
	Phases []*Phase   // the parts of it that look different, in order of time; none if there are no such
}

// Piece is knowledge, and the phase of the run that it is about; nil is the whole run.
type Piece struct {
	*knowledge.Knowledge
	Phase *Phase
}

// Whole makes pieces that are about the whole run.
func Whole(pieces ...*knowledge.Knowledge) (list []Piece) {
	for _, k := range pieces {
		list = append(list, Piece{Knowledge: k})
	}
	return list
}

// Choose finds what to diagnose a run with when nobody says it: general knowledge, and that of the model that the run, or
// each phase of it, looks most like, if it looks like one. Where no time is lost in MPI that a model could explain, or ranks
// have nothing to do with each other, none is looked for.
func Choose(r *run.Run, library knowledge.Library) (*Choice, error) {
	always, err := library.Load(general)
	if err != nil {
		return nil, err
	}
	r = r.Replayed()
	c := &Choice{Pieces: Whole(always), Looks: []Likeness{}}
	if d := newData(r); !together(r) || d.inMPI < always.Scopes[0].Model.Threshold("least").Value*d.core {
		return c, nil
	}
	if err := c.look(r, library); err != nil {
		return nil, err
	}
	for _, p := range c.Phases {
		if err = c.take(p.Looks, p, library); err != nil {
			return nil, err
		}
	}
	if c.Phases == nil {
		err = c.take(c.Looks, nil, library)
	}
	return c, err
}

// together tells whether ranks have called anything that other ranks take part in.
func together(r *run.Run) bool {
	return slices.ContainsFunc(r.Functions, func(f run.Function) bool {
		op := record.ParseOp(f.Op)
		return op.PointToPoint() || op.Collective() || op >= record.OpPut && op <= record.OpFileOther || op == record.OpComm || op == record.OpWindow
	})
}

// Look says what a run looks like, whether it loses time or not.
func Look(r *run.Run) (*Choice, error) {
	c := &Choice{}
	return c, c.look(r.Replayed(), knowledge.Library{})
}

func (c *Choice) look(r *run.Run, library knowledge.Library) (err error) {
	var all []*knowledge.Knowledge
	for _, name := range library.Recognizable() {
		k, err := library.Signs(name)
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	if c.Looks, err = Recognize(r, all...); err == nil {
		c.Phases, err = Phases(r, all...)
	}
	return err
}

// take loads the likeliest model, if it is likely.
func (c *Choice) take(looks []Likeness, phase *Phase, library knowledge.Library) error {
	if !recognized(looks) {
		return nil
	}
	k, err := library.Load(looks[0].Model)
	c.Pieces = append(c.Pieces, Piece{k, phase})
	return err
}

// recognized tells whether the likeliest model is likely.
func recognized(looks []Likeness) bool { return len(looks) > 0 && looks[0].Confidence >= Recognized }

// Models are those that the run, or each phase of it, looks like.
func (c *Choice) Models(r *run.Run) []run.Model {
	list := []run.Model{}
	for _, p := range c.Phases {
		if p.Recognized() {
			l := p.Looks[0]
			list = append(list, run.Model{Name: l.Model, Title: l.Title, Confidence: l.Confidence, Phase: p.Where, Share: p.Share, FirstNs: p.FirstNs, LastNs: p.LastNs})
		}
	}
	for _, l := range c.Looks {
		if c.Phases == nil && l.Confidence >= Recognized {
			list = append(list, run.Model{Name: l.Model, Title: l.Title, Confidence: l.Confidence, Share: 1, LastNs: r.WallNs})
		}
	}
	return list
}

func (e *evaluator) likeness(look *knowledge.Look) Likeness {
	l := Likeness{Confidence: 1, told: look.Told()}
	var doubt []Sign
	for _, s := range look.Signs {
		x, err := e.number(s.Is, nil)
		if err != nil || x != x {
			x = 0
		}
		x = min(1, max(0, x))
		if s.Doubt {
			doubt = append(doubt, Sign{e.text(s.Says, nil, knowledge.Unit{}), x})
			continue
		}
		l.Signs = append(l.Signs, Sign{e.text(s.Says, nil, knowledge.Unit{}), x})
		l.Confidence = min(l.Confidence, x)
	}
	l.fits = l.Confidence
	for _, s := range doubt {
		if l.Confidence > s.Value {
			l.Signs = append(l.Signs, s)
			l.Confidence = s.Value
		}
	}
	if l.told && l.Confidence > byName {
		l.Signs = append(l.Signs, Sign{"only names say so", byName})
		l.Confidence = byName
	}
	return l
}
