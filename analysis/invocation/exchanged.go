package invocation

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"marple/analysis/record"
	"marple/analysis/run"
)

const (
	maxKinds = 4096 // of calls of a thread: methods and sizes
	maxParts = 20   // of the run
	few      = 16   // calls that tell what an implementation takes at some time
	near     = 0.2  // of the run: calls further apart than this tell nothing of those in between
)

// Exchanged finds out of the ranks' records who served the calls of families, and what each implementation would have
// taken for them. An implementation serves when it is thought to be fast: what it took then says little of other times.
// So each call of another one is compared only with its own calls next before and next after on the same thread, of the
// same method and size, which are near each other. length is the run's, in seconds.
func Exchanged(sources []*Source, families []run.Exchanged, length float64) error {
	list := map[string]*served{}
	for _, e := range families {
		e.Implementations = slices.Clone(e.Implementations) // what cannot all be read changes nothing
		list[e.Family] = &served{Exchanged: e, length: length, exact: slices.Contains(e.Policies, "model"),
			squares: make([]float64, len(e.Implementations)), firings: map[string]int{}}
	}
	for _, s := range sources {
		if len(list) > 0 {
			if err := s.eachServed(list); err != nil {
				return err
			}
		}
	}
	for i := range families {
		s := list[families[i].Family]
		s.conclude()
		families[i] = s.Exchanged
	}
	return nil
}

func seconds(s *Source, ticks uint64) float64 { return float64(ticks) * s.NsPerTick / 1e9 }

// since is when an invocation began, in seconds after MPI_Init.
func since(s *Source, i *record.Invocation) float64 {
	return float64(int64(i.Start-s.Begin)) * s.NsPerTick / 1e9
}

type served struct {
	run.Exchanged
	length float64 // of the run, in seconds
	exact  bool    // sizes are the parameters' values: by them the policy chose
	spells [maxParts][]uint64

	kinds   map[string]kind // of the thread
	order   []kind          // as they were met: sums do not depend on a map's order
	squares []float64       // of errors, of the rank
	key     []byte          // scratch
	firings map[string]int  // where in Firings what is the same on several ranks
}

// kind is calls of a thread that are alike, as each implementation has them before and after its own ones.
type kind []between

// between is calls of others between two stretches of an implementation's own.
type between struct {
	before, own stretch // own: since then
	others      uint64
	took        float64 // by these
}

type stretch struct {
	calls      int     // as many as are needed at most
	mean       float64 // of about so many
	begin, end float64
}

func (s *stretch) add(at, wall float64) {
	if s.calls == 0 {
		s.begin = at
	}
	s.calls = min(s.calls+1, few)
	s.mean += (wall - s.mean) / float64(s.calls)
	s.end = at
}

// who served: a member of a family, by one of its methods.
type who struct {
	*served     // nil: none
	member  int // -1: one of its rules, by this name
	method  string
}

// eachServed adds the invocations that members of the families have served on a rank.
func (s *Source) eachServed(families map[string]*served) error {
	known := map[uint32]who{} // by call path
	for _, thread := range s.Threads {
		for _, f := range families {
			f.kinds, f.order = map[string]kind{}, nil
		}
		err := s.Each(thread, func(i *record.Invocation) error {
			found, ok := known[i.Path]
			if !ok {
				p := s.path(i.Path)
				component := p.component.String()
				if family := families[p.instance.String()]; family != nil {
					at := slices.IndexFunc(family.Implementations, func(s run.Served) bool { return s.Name == component })
					if at >= 0 || component == run.RulesComponent && len(family.Rules) > 0 {
						found = who{family, at, p.method.String()}
					}
				}
				known[i.Path] = found
			}
			if found.served != nil && found.member < 0 {
				found.fire(found.method, s, i)
			} else if found.served != nil {
				found.add(found.member, since(s, i), seconds(s, i.Wall), found.kind(found.method, s, i))
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("rank %d, thread %d: %w", s.Rank, thread.Index, err)
		}
		for _, f := range families {
			f.settle()
		}
	}
	for _, f := range families {
		f.endRank()
	}
	return nil
}

// size of a parameter: its sign and power of two; all numbers below 1 are one size, and infinite ones and such as are
// none count as these. It is that of marple_optimizer.hpp.
func size(x float64) uint64 {
	signAndExponent := math.Float64bits(x) >> 52
	if exponent := signAndExponent & 2047; exponent < 1023 || exponent == 2047 {
		return 0
	}
	return signAndExponent - 1022
}

// kind of an invocation: its method and the names and sizes of its parameters.
func (s *served) kind(method string, from *Source, i *record.Invocation) kind {
	s.key = append(append(s.key[:0], method...), 0)
	for _, v := range i.Values {
		if v.Quality || v.Counter {
			continue
		}
		of := size(v.Float())
		if s.exact {
			of = math.Float64bits(v.Float())
		}
		s.key = binary.LittleEndian.AppendUint32(s.key, v.Name)
		s.key = binary.LittleEndian.AppendUint64(s.key, of)
	}
	k, known := s.kinds[string(s.key)]
	if !known {
		if len(s.kinds) >= maxKinds {
			s.Crowded++
			return nil
		}
		k = make(kind, len(s.Implementations))
		s.kinds[string(s.key)] = k
		s.order = append(s.order, k)
	}
	return k
}

func (s *served) add(member int, at, wall float64, k kind) {
	s.Calls++
	s.Time += wall
	one := &s.Implementations[member]
	one.Calls++
	one.Time += wall
	one.Compared++
	one.Took += wall
	one.Always += wall // its own calls are known
	part := 0
	if s.length > 0 {
		part = int(max(0, min(at/s.length*maxParts, maxParts-1)))
	}
	if s.spells[part] == nil {
		s.spells[part] = make([]uint64, len(s.Implementations))
	}
	s.spells[part][member]++
	for i := range k {
		b := &k[i]
		if i == member {
			b.own.add(at, wall)
			if b.own.calls == few {
				s.compare(i, b)
			}
			continue
		}
		if b.own.calls > 0 {
			s.compare(i, b)
			b.before, b.own = b.own, stretch{}
		}
		b.others++
		b.took += wall
	}
}

// compare knows what an implementation took before and after calls of others.
func (s *served) compare(member int, b *between) {
	if b.before.calls > 0 && b.others > 0 && b.own.begin-b.before.end <= near*s.length {
		one, n, difference := &s.Implementations[member], float64(b.others), b.own.mean-b.before.mean
		one.Compared += b.others
		one.Took += b.took
		one.Always += n * (b.before.mean + b.own.mean) / 2
		// The mean of two has a quarter of this, and each stretch is in the error of two: no more than half.
		s.squares[member] += n * n * difference * difference / 2
	}
	b.others, b.took = 0, 0
}

// settle ends a thread.
func (s *served) settle() {
	for _, k := range s.order {
		for i := range k {
			if k[i].own.calls > 0 {
				s.compare(i, &k[i])
			}
		}
	}
}

// endRank adds up the errors of ranks, which may have one cause.
func (s *served) endRank() {
	for i, squares := range s.squares {
		s.Implementations[i].Error += math.Sqrt(squares)
		s.squares[i] = 0
	}
}

// tunings are what a record of a rule that tunes is about; see manager::tell_tuning of marple_rules.hpp.
var tunings = []string{"begins", "measured", "found", "stopped", "inputs", "times"}

// fire keeps what a rule has done; where ranks agree it is the same on all of them.
func (s *served) fire(rule string, from *Source, i *record.Invocation) {
	s.Recorded++
	f := run.Firing{At: since(from, i), Rank: int(from.Rank), Ranks: 1, Rule: rule, Why: []run.Reason{}}
	var did []string
	evaluations := 0.0
	member := func(x float64) string {
		if at := int(x); at >= 0 && at < len(s.Implementations) {
			return s.Implementations[at].Name
		}
		return "?"
	}
	for _, v := range i.Values {
		if v.Counter {
			continue
		}
		x := v.Float()
		if math.IsNaN(x) || math.IsInf(x, 0) { // it was not known, and is no number of JSON's
			continue
		}
		switch name := from.text(v.Name); {
		case v.Quality: // metrics are told so
			f.Why = append(f.Why, run.Reason{Metric: name, Value: x})
		case name == "from":
			did = append(did, member(x))
		case name == "to":
			did = append(did, "→ "+member(x))
		case strings.HasPrefix(name, "set."):
			did = append(did, fmt.Sprintf("%s = %.0f", strings.TrimPrefix(name, "set."), x))
		case name == "change":
			f.Change = int(x)
			s.Made = max(s.Made, f.Change)
		case name == "overruled":
			f.Overruled = int(x)
		case name == "ranks":
			f.Holding = int(x)
		case name == "tuning" && x >= 0 && int(x) < len(tunings):
			f.Tuning = tunings[int(x)]
		case name == "evaluations":
			evaluations = x
			fallthrough
		default:
			f.Why = append(f.Why, run.Reason{Metric: name, Value: x})
		}
	}
	if f.Did = strings.Join(did, ", "); strings.Contains(f.Did, ", →") {
		f.Did = strings.Replace(f.Did, ", →", " →", 1)
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%g", rule, f.Did, f.Tuning, f.Change, evaluations)
	if at, same := s.firings[key]; same && s.Firings[at].Rank != f.Rank {
		s.Firings[at].Ranks++
	} else if !same && len(s.Firings) < run.MaxFirings {
		s.firings[key] = len(s.Firings)
		s.Firings = append(s.Firings, f)
	}
}

func (s *served) conclude() {
	slices.SortStableFunc(s.Firings, func(a, b run.Firing) int { return cmp.Compare(a.At, b.At) })
	for part, calls := range s.spells {
		var all, most uint64
		who := -1
		for i, n := range calls {
			all += n
			if n > most {
				most, who = n, i
			}
		}
		if who < 0 {
			continue
		}
		spell := run.Spell{Until: s.length * float64(part+1) / maxParts, Implementation: s.Implementations[who].Name, Share: float64(most) / float64(all)}
		if n := len(s.Spells); n > 0 && s.Spells[n-1].Implementation == spell.Implementation {
			// The share of a longer spell is its least one: what is said holds throughout.
			spell.Share = min(spell.Share, s.Spells[n-1].Share)
			s.Spells[n-1] = spell
		} else {
			s.Spells = append(s.Spells, spell)
		}
	}
}
