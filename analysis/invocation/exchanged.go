package invocation

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"marple/analysis/record"
	"marple/analysis/run"
)

const (
	maxKinds  = 4096 // of calls of a family: methods and sizes
	maxSpells = 20
)

// Exchanged finds out of the ranks' records who served the calls of families, and what each implementation would have
// taken for all of them.
func Exchanged(sources []*Source, families []run.Exchanged) error {
	if len(families) == 0 {
		return nil
	}
	list := map[string]*served{}
	for i := range families {
		e := &families[i]
		list[e.Family] = &served{Exchanged: e, kinds: map[string]*kind{}, begin: math.Inf(1), end: math.Inf(-1)}
	}
	names := map[string]uint32{} // of parameters: strings have other numbers on each rank
	if err := eachServed(sources, list, func(to who, from *Source, i *record.Invocation) {
		to.add(to.member, to.method, seconds(from, i.Wall), from.sizes(i, names))
		begin := since(from, i)
		to.begin, to.end = min(to.begin, begin), max(to.end, begin)
	}); err != nil {
		return err
	}
	if err := eachServed(sources, list, func(to who, from *Source, i *record.Invocation) {
		part := 0
		if to.end > to.begin {
			part = int(maxSpells * (since(from, i) - to.begin) / (to.end - to.begin))
		}
		part = max(0, min(part, maxSpells-1))
		if to.spells[part] == nil {
			to.spells[part] = make([]uint64, len(to.Implementations))
		}
		to.spells[part][to.member]++
	}); err != nil {
		return err
	}
	for _, s := range list {
		s.conclude()
	}
	return nil
}

func seconds(s *Source, ticks uint64) float64 { return float64(ticks) * s.NsPerTick / 1e9 }

// since is when an invocation began, in seconds after MPI_Init.
func since(s *Source, i *record.Invocation) float64 {
	return float64(int64(i.Start-s.Begin)) * s.NsPerTick / 1e9
}

// kind is calls that are alike: what each implementation took for them.
type kind struct{ cells []Cell }

type served struct {
	*run.Exchanged
	kinds      map[string]*kind
	order      []*kind // as they were met: sums do not depend on a map's order
	begin, end float64
	spells     [maxSpells][]uint64
	key        []byte // scratch
}

// who served: a member of a family, by one of its methods.
type who struct {
	*served // nil: none
	member  int
	method  string
}

// eachServed visits the invocations that members of the families have served.
func eachServed(sources []*Source, families map[string]*served, visit func(who, *Source, *record.Invocation)) error {
	for _, s := range sources {
		known := map[uint32]who{} // by call path
		for _, thread := range s.Threads {
			err := s.each(thread, func(i *record.Invocation) error {
				found, ok := known[i.Path]
				if !ok {
					p := s.path(i.Path)
					component := p.component.String()
					if family := families[p.instance.String()]; family != nil {
						at := slices.IndexFunc(family.Implementations, func(s run.Served) bool { return s.Name == component })
						if at >= 0 {
							found = who{family, at, p.method.String()}
						}
					}
					known[i.Path] = found
				}
				if found.served != nil {
					visit(found, s, i)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("rank %d, thread %d: %w", s.Rank, thread.Index, err)
			}
		}
	}
	return nil
}

// sizes of an invocation: its parameters, by names and powers of two, as a key.
func (s *Source) sizes(i *record.Invocation, names map[string]uint32) []byte {
	s.key = s.key[:0]
	for _, v := range i.Values {
		if v.Quality || v.Counter {
			continue
		}
		name := s.text(v.Name)
		at, known := names[name]
		if !known {
			if len(names) >= maxKinds {
				continue
			}
			at = uint32(len(names))
			names[name] = at
		}
		x, power := v.Float(), int16(0)
		switch a := math.Abs(x); {
		case math.IsNaN(x):
			power = math.MinInt16
		case math.IsInf(a, 0):
			power = math.MaxInt16
		case a >= 1:
			power = int16(math.Ilogb(a)) + 1
		}
		if x <= -1 {
			power = -power
		}
		s.key = binary.LittleEndian.AppendUint32(s.key, at)
		s.key = binary.LittleEndian.AppendUint16(s.key, uint16(power))
	}
	return s.key
}

func (s *served) add(who int, method string, wall float64, sizes []byte) {
	s.Calls++
	s.Time += wall
	s.Implementations[who].Calls++
	s.Implementations[who].Time += wall
	s.key = append(append(append(s.key[:0], method...), 0), sizes...)
	k := s.kinds[string(s.key)]
	if k == nil {
		key := string(s.key)
		if len(s.kinds) >= maxKinds {
			key, s.Crowded = "", s.Crowded+1
			k = s.kinds[""]
		}
		if k == nil {
			k = &kind{make([]Cell, len(s.Implementations))}
			s.kinds[key] = k
			s.order = append(s.order, k)
		}
	}
	k.cells[who].add(wall)
}

func (s *served) conclude() {
	for i := range s.Implementations {
		one, squares := &s.Implementations[i], 0.
		for _, k := range s.order {
			mine := k.cells[i]
			if mine.N == 0 {
				continue
			}
			calls := 0
			for _, c := range k.cells {
				calls += c.N
				one.Took += float64(c.N) * c.Mean
			}
			one.Compared += uint64(calls)
			one.Always += float64(calls) * mine.Mean
			deviation := mine.Deviation
			if mine.N == 1 { // nothing is known of it: as much as it took
				deviation = mine.Mean
			}
			others := float64(calls - mine.N) // its own calls are known
			squares += others * others * deviation * deviation / float64(mine.N)
		}
		one.Error = math.Sqrt(squares)
	}
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
		spell := run.Spell{Until: s.begin + (s.end-s.begin)*float64(part+1)/maxSpells, Implementation: s.Implementations[who].Name, Share: float64(most) / float64(all)}
		if n := len(s.Spells); n > 0 && s.Spells[n-1].Implementation == spell.Implementation {
			// The share of a longer spell is its least one: what is said holds throughout.
			spell.Share = min(spell.Share, s.Spells[n-1].Share)
			s.Spells[n-1] = spell
		} else {
			s.Spells = append(s.Spells, spell)
		}
	}
}
