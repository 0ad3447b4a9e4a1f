package pattern

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// maxStates bounds a machine. Concurrent parts multiply states; anything a person would write has few.
const maxStates = 1024

// Machine recognizes an expression. States are numbered from 0, the initial one; -1 is failure.
type Machine struct {
	Symbols []string
	next    []int16 // state*width + symbol
	width   int     // how many symbols there are
	accepts []bool
}

// Compile makes the machine of an expression over these symbols; components that are not among them never
// occur. The error says that the machine would be too large.
func Compile(e *Expr, symbols []string) (*Machine, error) {
	index := map[string]int{}
	for i, s := range symbols {
		index[s] = i
	}
	t := newTerms()
	return t.machine(t.of(e, func(leaf *Expr) int {
		if i, ok := index[leaf.Name]; ok {
			return i
		}
		return -1
	}), symbols)
}

// Next is the state after a symbol, or -1.
func (m *Machine) Next(state, symbol int) int {
	return int(m.next[state*m.width+symbol])
}

// Accepts tells whether the expression is fulfilled in a state.
func (m *Machine) Accepts(state int) bool { return m.accepts[state] }

// States is how many there are.
func (m *Machine) States() int { return len(m.accepts) }

// Pair says that the occurrence Next may come directly after the occurrence Last; both number Leaves.
type Pair struct{ Last, Next int }

// Follow lists which occurrences of components may directly follow each other, within one instance and, if
// around is set, from the end of one to the beginning of the next.
func (e *Expr) Follow(around bool) ([]Pair, error) {
	leaves := e.Leaves()
	symbols := make([]string, len(leaves))
	number := map[*Expr]int{}
	for i, l := range leaves {
		number[l] = i
	}
	t := newTerms()
	m, err := t.machine(t.of(e, func(leaf *Expr) int { return number[leaf] }), symbols)
	if err != nil {
		return nil, err
	}
	// A state may be reached by several occurrences, and an occurrence may lead to several states.
	found := map[Pair]bool{}
	for state := range m.States() {
		for last := range symbols {
			via := m.Next(state, last)
			if via < 0 {
				continue
			}
			for next := range symbols {
				if m.Next(via, next) >= 0 || around && m.Accepts(via) && m.Next(0, next) >= 0 {
					found[Pair{last, next}] = true
				}
			}
		}
	}
	var list []Pair
	for p := range found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Pair) int {
		if a.Last != b.Last {
			return a.Last - b.Last
		}
		return a.Next - b.Next
	})
	return list, nil
}

// terms are expressions in a normal form in which equal ones have equal numbers, so that there are finitely
// many derivatives (Brzozowski 1964): choices and concurrent parts are sorted sets and bags.
type terms struct {
	nodes []term
	known map[string]int
}

type term struct {
	kind     termKind
	symbol   int
	args     []int
	nullable bool
}

type termKind uint8

const (
	nothing termKind = iota // matched by nothing
	empty                   // matched by no event
	symbol
	sequence // of two
	choice
	concurrent
	repeat
)

const (
	termNothing = 0
	termEmpty   = 1
)

func newTerms() *terms {
	t := &terms{known: map[string]int{}}
	t.make(term{kind: nothing})
	t.make(term{kind: empty, nullable: true})
	return t
}

func (t *terms) make(n term) int {
	key := []byte{byte(n.kind)}
	key = binary.AppendVarint(key, int64(n.symbol))
	for _, a := range n.args {
		key = binary.AppendVarint(key, int64(a))
	}
	if i, ok := t.known[string(key)]; ok {
		return i
	}
	t.nodes = append(t.nodes, n)
	t.known[string(key)] = len(t.nodes) - 1
	return len(t.nodes) - 1
}

// of turns an expression into a term; number gives a leaf's symbol, or -1 if it never occurs.
func (t *terms) of(e *Expr, number func(*Expr) int) int {
	var args []int
	for _, a := range e.Args {
		args = append(args, t.of(a, number))
	}
	switch e.Operator {
	case Component:
		s := number(e)
		if s < 0 {
			return termNothing
		}
		return t.make(term{kind: symbol, symbol: s})
	case Sequence:
		out := args[len(args)-1]
		for _, a := range slices.Backward(args[:len(args)-1]) {
			out = t.sequence(a, out)
		}
		return out
	case Choice:
		return t.choice(args...)
	case Concurrent:
		return t.concurrent(args...)
	case Repeat:
		return t.repeat(args[0])
	case Several:
		return t.sequence(args[0], t.repeat(args[0]))
	}
	return t.choice(args[0], termEmpty)
}

func (t *terms) sequence(a, b int) int {
	switch {
	case a == termNothing || b == termNothing:
		return termNothing
	case a == termEmpty:
		return b
	case b == termEmpty:
		return a
	}
	if n := t.nodes[a]; n.kind == sequence { // to the right, so that there is one form only
		return t.sequence(n.args[0], t.sequence(n.args[1], b))
	}
	return t.make(term{kind: sequence, args: []int{a, b}, nullable: t.nodes[a].nullable && t.nodes[b].nullable})
}

func (t *terms) choice(args ...int) int {
	var set []int
	for _, a := range args {
		if n := t.nodes[a]; n.kind == choice {
			set = append(set, n.args...)
		} else if a != termNothing {
			set = append(set, a)
		}
	}
	slices.Sort(set)
	set = slices.Compact(set)
	switch len(set) {
	case 0:
		return termNothing
	case 1:
		return set[0]
	}
	nullable := slices.ContainsFunc(set, func(a int) bool { return t.nodes[a].nullable })
	return t.make(term{kind: choice, args: set, nullable: nullable})
}

func (t *terms) concurrent(args ...int) int {
	var bag []int
	nullable := true
	for _, a := range args {
		switch n := t.nodes[a]; {
		case n.kind == concurrent:
			bag = append(bag, n.args...)
		case a == termNothing:
			return termNothing
		case a != termEmpty:
			bag = append(bag, a)
		}
		nullable = nullable && t.nodes[a].nullable
	}
	slices.Sort(bag)
	switch len(bag) {
	case 0:
		return termEmpty
	case 1:
		return bag[0]
	}
	return t.make(term{kind: concurrent, args: bag, nullable: nullable})
}

func (t *terms) repeat(a int) int {
	if a == termNothing || a == termEmpty {
		return termEmpty
	}
	if t.nodes[a].kind == repeat {
		return a
	}
	return t.make(term{kind: repeat, args: []int{a}, nullable: true})
}

// derivative is what must follow a symbol.
func (t *terms) derivative(of, s int, memo map[int]int) int {
	if d, ok := memo[of]; ok {
		return d
	}
	n := t.nodes[of]
	d := termNothing
	switch n.kind {
	case symbol:
		if n.symbol == s {
			d = termEmpty
		}
	case sequence:
		d = t.sequence(t.derivative(n.args[0], s, memo), n.args[1])
		if t.nodes[n.args[0]].nullable {
			d = t.choice(d, t.derivative(n.args[1], s, memo))
		}
	case choice:
		for _, a := range n.args {
			d = t.choice(d, t.derivative(a, s, memo))
		}
	case concurrent:
		for i, a := range n.args {
			if i > 0 && a == n.args[i-1] {
				continue
			}
			rest := slices.Delete(slices.Clone(n.args), i, i+1)
			d = t.choice(d, t.concurrent(append(rest, t.derivative(a, s, memo))...))
		}
	case repeat:
		d = t.sequence(t.derivative(n.args[0], s, memo), of)
	}
	memo[of] = d
	return d
}

func (t *terms) machine(start int, symbols []string) (*Machine, error) {
	m := &Machine{Symbols: symbols, width: len(symbols)}
	number := map[int]int{start: 0}
	states := []int{start}
	for i := 0; i < len(states); i++ {
		m.accepts = append(m.accepts, t.nodes[states[i]].nullable)
		for s := range symbols {
			d := t.derivative(states[i], s, map[int]int{})
			if d == termNothing {
				m.next = append(m.next, -1)
				continue
			}
			to, ok := number[d]
			if !ok {
				if len(states) == maxStates || len(t.nodes) > 16*maxStates {
					return nil, fmt.Errorf("too many ways to interleave: more than %d states", maxStates)
				}
				to = len(states)
				number[d] = to
				states = append(states, d)
			}
			m.next = append(m.next, int16(to))
		}
	}
	return m, nil
}
