package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// readableName turns the name of a symbol into one for people:
//
//	_ZN9LAMMPS_NS6Verlet3runEi       LAMMPS_NS::Verlet::run
//	_Z4loopv.constprop.0             loop
//	_Z4loopv._omp_fn.1               loop [omp 1]
//	__solver_MOD_step                solver::step
//	MAIN__                           MAIN
//
// Parameters and return types are dropped, as are the suffixes of copies that
// gcc makes of functions; template arguments are kept unless they are long.
func readableName(symbol string) string {
	if i := strings.IndexByte(symbol, '@'); i > 0 {
		symbol = symbol[:i] // the version, as in memcpy@@GLIBC_2.14
	}
	base, mark := splitClone(symbol)
	if base == "" {
		return strings.TrimSpace(mark)
	}
	return limitName(readableBase(base)) + mark
}

// isPlain reports whether a name is as in the source, and not that of a symbol.
func isPlain(name string) bool {
	base, _ := splitClone(name)
	return base == name && readableBase(name) == name
}

// readableBase is readableName for a name without clone suffixes.
func readableBase(name string) string {
	if name == "MAIN__" || name == "_QQmain" {
		return "MAIN" // the main program of gfortran and flang
	}
	if s, ok := gfortranName(name); ok {
		return s
	}
	if s, ok := flangName(name); ok {
		return s
	}
	if s, ok := demangled(name); ok {
		return s
	}
	return name
}

// cloneWords are the parts of suffixes with which gcc and clang name copies
// and parts of functions. Each may be followed by a number.
var cloneWords = map[string]bool{
	"clone": true, "cold": true, "constprop": true, "isra": true,
	"llvm": true, "localalias": true, "lto_priv": true, "part": true,
}

// ompWords are the parts of suffixes with which gcc and clang name functions
// made of the body of an OpenMP construct.
var ompWords = map[string]bool{
	"_omp_fn": true, "_omp_cpyfn": true,
	"omp_outlined": true, "omp_outlined_debug__": true, "_debug__": true,
}

// splitClone takes the clone suffixes off a symbol's name. What they tell
// about OpenMP is in mark, to be appended to the readable name.
func splitClone(symbol string) (base, mark string) {
	// clang up to version 16 does not say which function it was.
	if rest, ok := strings.CutPrefix(symbol, ".omp_outlined."); ok {
		return "", ompMark(strings.TrimLeft(strings.TrimPrefix(rest, "_debug__"), "."))
	}
	base = symbol
	number := "" // between base's end and what was looked at
	for rest := base; ; {
		i := strings.LastIndexByte(rest, '.')
		if i <= 0 {
			return base, mark
		}
		word := rest[i+1:]
		rest = rest[:i]
		switch {
		case isNumber(word):
			number = word // of the word before it
			continue
		case cloneWords[word]:
		case ompWords[word]:
			if word != "_debug__" {
				mark = ompMark(number)
			}
		default:
			return base, mark
		}
		base, number = rest, ""
	}
}

func ompMark(number string) string {
	if isNumber(number) {
		return " [omp " + number + "]"
	}
	return " [omp]"
}

func isNumber(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// gfortranName reads __module_MOD_procedure.
func gfortranName(name string) (readable string, ok bool) {
	rest, ok := strings.CutPrefix(name, "__")
	if !ok {
		return "", false
	}
	module, procedure, ok := strings.Cut(rest, "_MOD_")
	if !ok || module == "" || procedure == "" {
		return "", false
	}
	return module + "::" + procedure, true
}

// flangName reads _QMmodulePprocedure and the like: names in lower case, each
// after a capital that says what it is the name of.
func flangName(name string) (readable string, ok bool) {
	rest, ok := strings.CutPrefix(name, "_Q")
	if !ok || rest == "" {
		return "", false
	}
	var parts []string
	for rest != "" {
		if !strings.ContainsRune("MSFP", rune(rest[0])) {
			return "", false
		}
		end := 1
		for end < len(rest) && (rest[end] < 'A' || rest[end] > 'Z') {
			end++
		}
		if end == 1 {
			return "", false
		}
		parts = append(parts, rest[1:end])
		rest = rest[end:]
	}
	return strings.Join(parts, "::"), true
}

// demangled returns the readable form of a C++ or Rust symbol.
func demangled(name string) (readable string, ok bool) {
	// The demangler is recursive, so its stack grows with the name.
	const maxMangled = 8 << 10
	if len(name) > maxMangled || !strings.HasPrefix(name, "_") {
		return "", false
	}
	defer func() {
		if recover() != nil { // a mistake in the demangler
			readable, ok = "", false
		}
	}()
	demangled := func(s string) (string, error) {
		return demangle.ToString(s, demangle.NoParams, demangle.NoEnclosingParams,
			demangle.NoABITags, demangle.MaxLength(14))
	}
	// A suffix that is not one of a clone, such as those of copies for other
	// processors, tells copies apart, so it must not get lost. In symbols of
	// old Rust however dots are inside of names.
	base, suffix := name, ""
	if i := strings.IndexByte(name, '.'); i > 0 {
		base, suffix = name[:i], name[i:]
	}
	s, err := demangled(base)
	if err != nil && suffix != "" {
		suffix = ""
		s, err = demangled(name)
	}
	if err != nil || s == "" {
		return "", false
	}
	return cleanText([]byte(noEmptyParams(s))) + suffix, true
}

// noEmptyParams turns f()::g into f::g, and f() into f: those parentheses are
// what the demangler leaves of the parameters of some functions.
func noEmptyParams(s string) string {
	const operator, placeholder = "operator()", "\x00"
	s = strings.ReplaceAll(s, operator, placeholder)
	s = strings.ReplaceAll(s, "()::", "::")
	s = strings.TrimSuffix(s, "()")
	return strings.ReplaceAll(s, placeholder, operator)
}

// Limits on the length of readable names, in bytes.
const (
	maxTemplateArgs = 60
	maxName         = 500
)

// limitName shortens template arguments, and the name as a whole, if they are
// long.
func limitName(name string) string {
	if len(name) > maxTemplateArgs {
		name = shortenTemplates(name)
	}
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

// shortenTemplates replaces template arguments of more than maxTemplateArgs
// bytes by "…". If the brackets do not match it returns the name as it is.
func shortenTemplates(name string) string {
	var b strings.Builder
	depth, open := 0, 0 // open is where the outermost bracket is
	for i := 0; i < len(name); {
		if n := operatorLen(name, i); n > 0 {
			if depth == 0 {
				b.WriteString(name[i : i+n])
			}
			i += n
			continue
		}
		switch {
		case name[i] == '<':
			if depth == 0 {
				open = i
			}
			depth++
		case name[i] == '>' && i > 0 && name[i-1] != '-': // not an arrow
			depth--
			if depth < 0 {
				return name
			}
			if depth == 0 {
				if args := name[open : i+1]; len(args) > maxTemplateArgs+len("<>") {
					b.WriteString("<…>")
				} else {
					b.WriteString(args)
				}
			}
		case depth == 0:
			b.WriteByte(name[i])
		}
		i++
	}
	if depth != 0 {
		return name
	}
	return b.String()
}

// operatorLen returns the length of the name of a C++ operator with brackets in
// it, such as "operator<<", if there is one at name[i:], else 0.
func operatorLen(name string, i int) int {
	const word = "operator"
	if !strings.HasPrefix(name[i:], word) {
		return 0
	}
	if i > 0 && (name[i-1] == '_' || name[i-1] >= '0' && name[i-1] <= '9' ||
		name[i-1] >= 'A' && name[i-1] <= 'Z' || name[i-1] >= 'a' && name[i-1] <= 'z') {
		return 0
	}
	rest := name[i+len(word):]
	for _, op := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(rest, op) {
			return len(word) + len(op)
		}
	}
	return 0
}
