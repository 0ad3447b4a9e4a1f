package assemble

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Setting is a value of -ksp_type or -pc_type, and options that go with it, as they are written: -pc_asm_overlap, 2.
type Setting struct {
	Type    string
	Options []string
}

func (s Setting) String() string { return strings.Join(append([]string{s.Type}, s.Options...), " ") }

// Solver is a Krylov method of PETSc's (KSP) with a preconditioner (PC); without a type it is the program's own one.
type Solver struct {
	Name    string
	KSP, PC Setting
}

// Solvers are those that KSPs with a prefix of their options may be.
type Solvers struct {
	Prefix string
	List   []Solver
}

// Own is the solver that a program has by itself.
const Own = "its own"

// Component is what records call the solves with these solvers: by the prefix of their options.
func (s *Solvers) Component() string {
	if s.Prefix == "" {
		return noPrefix
	}
	return s.Prefix
}

const noPrefix = "KSP"

// MaxSolvers of a prefix.
const MaxSolvers = 1000

// ParseSolvers reads 'prefix_: gmres,cg × jacobi,ilu'; an x between blanks is a ×. Prefix and colon may be missing, and so may ×
// and what follows.
func ParseSolvers(text string) (*Solvers, error) {
	bad := func(format string, arguments ...any) (*Solvers, error) {
		return nil, fmt.Errorf("%q: %s", text, fmt.Sprintf(format, arguments...))
	}
	s, rest := &Solvers{}, text
	if prefix, after, ok := strings.Cut(text, ":"); ok {
		s.Prefix, rest = strings.TrimPrefix(strings.TrimSpace(prefix), "-"), after
		if strings.ContainsFunc(s.Prefix, func(r rune) bool { return !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') }) {
			return bad("%q cannot be a prefix of options: expected letters, digits and _ before the colon", s.Prefix)
		}
	}
	rest = strings.Join(strings.FieldsFunc(rest, unicode.IsSpace), " ")
	sides := strings.Split(strings.ReplaceAll(" "+rest+" ", " x ", "×"), "×")
	if len(sides) > 2 {
		return bad("expected one ×, between Krylov methods and preconditioners")
	}
	lists := make([][]Setting, 2)
	lists[1] = []Setting{{}}
	for i, side := range sides {
		lists[i] = nil
		for item := range strings.SplitSeq(side, ",") {
			words := strings.Fields(item)
			if len(words) == 0 {
				return bad("expected names of types, such as gmres,cg × jacobi,ilu, with commas between them")
			}
			setting := Setting{words[0], words[1:]}
			if why := setting.wrong(s.Prefix); why != "" {
				return bad("%s", why)
			}
			if slices.ContainsFunc(lists[i], func(other Setting) bool { return other.String() == setting.String() }) {
				return bad("%s stands there twice", setting)
			}
			lists[i] = append(lists[i], setting)
		}
	}
	if len(lists[0])*len(lists[1]) > MaxSolvers {
		return bad("%d solvers: at most %d can be tried", len(lists[0])*len(lists[1]), MaxSolvers)
	}
	for _, ksp := range lists[0] {
		for _, pc := range lists[1] {
			one := Solver{Name: ksp.String(), KSP: ksp, PC: pc}
			if pc.Type != "" {
				one.Name += " + " + pc.String()
			}
			s.List = append(s.List, one)
		}
	}
	return s, nil
}

// wrong says what a setting lacks; "": nothing.
func (s Setting) wrong(prefix string) string {
	if strings.HasPrefix(s.Type, "-") {
		return fmt.Sprintf("%q: expected the name of a type before its options", s.Type)
	}
	if len(s.Options) > 0 && !isOption(s.Options[0]) {
		return fmt.Sprintf("%q after %s: expected a comma, or an option that begins with -", s.Options[0], s.Type)
	}
	for _, o := range s.Options {
		if strings.HasPrefix(o, "-"+prefix) && prefix != "" {
			return fmt.Sprintf("%s: the prefix is put before options: expected -%s", o, strings.TrimPrefix(o, "-"+prefix))
		}
	}
	return ""
}

// isOption tells an option from its value, which may be a negative number.
func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && unicode.IsLetter(rune(word[1]))
}

// Incomplete factorisations are not there for matrices that are spread over ranks.
var local = []string{"ilu", "icc"}

// on is the setting on some ranks: what has no parallel form is done in each rank's block.
func (s Setting) on(ranks int) Setting {
	if ranks < 2 || !slices.Contains(local, s.Type) {
		return s
	}
	out := Setting{"bjacobi", []string{"-sub_pc_type", s.Type}}
	for _, o := range s.Options {
		if strings.HasPrefix(o, "-pc_") {
			o = "-sub_" + o[1:]
		}
		out.Options = append(out.Options, o)
	}
	return out
}

// Blockwise tells whether any of the solvers is done in each rank's block on some ranks.
func (s *Solvers) Blockwise(ranks int) bool {
	return slices.ContainsFunc(s.List, func(one Solver) bool { return one.PC.on(ranks).Type != one.PC.Type })
}

// Find is a solver by its name; nil: there is none, it is the program's own.
func (s *Solvers) Find(name string) *Solver {
	if i := slices.IndexFunc(s.List, func(one Solver) bool { return one.Name == name }); i >= 0 {
		return &s.List[i]
	}
	return nil
}

// Options choose a solver on some ranks, for KSPs with this prefix.
func (s *Solvers) Options(name string, ranks int) (list []string) {
	one := s.Find(name)
	if one == nil {
		return nil
	}
	for _, x := range []struct {
		option string
		Setting
	}{{"-ksp_type", one.KSP}, {"-pc_type", one.PC.on(ranks)}} {
		if x.Type == "" {
			continue
		}
		for _, word := range append([]string{x.option, x.Type}, x.Setting.Options...) {
			if isOption(word) {
				word = "-" + s.Prefix + word[1:]
			}
			list = append(list, word)
		}
	}
	return list
}

// Types are what PETSc calls the solver on some ranks; "" is whatever it was.
func (s *Solvers) Types(name string, ranks int) (ksp, pc string) {
	one := s.Find(name)
	if one == nil {
		return "", ""
	}
	return one.KSP.Type, one.PC.on(ranks).Type
}

// OptionsFile is options as PETSc's -options_file and .petscrc have them, one a line.
func OptionsFile(title []string, options []string) string {
	var b strings.Builder
	for _, line := range title {
		b.WriteString("# " + line + "\n")
	}
	for i := 0; i < len(options); {
		b.WriteString(options[i])
		for i++; i < len(options) && !isOption(options[i]); i++ {
			b.WriteString(" " + options[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
