package formula

import (
	"strconv"
	"strings"
)

// CPP writes the expression as one of C++ with doubles, for programs that include <algorithm> and <cmath>.
// identifier gives the names of parameters there.
func (e *Expr) CPP(identifier func(parameter string) string) string {
	switch {
	case e.name != "":
		return identifier(e.name)
	case e.operation == nil:
		text := strconv.FormatFloat(e.value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = a.CPP(identifier)
		if a.operation != nil && a.operation.symbol != "" || a.isNumber() && a.value < 0 {
			args[i] = "(" + args[i] + ")"
		}
	}
	isTrue := func(i int) string { return args[i] + " != 0.0" }
	switch o := e.operation; o {
	case opOr, opAnd:
		for i := range args {
			args[i] = isTrue(i)
		}
		return strings.Join(args, map[*operation]string{opOr: " || ", opAnd: " && "}[o]) + " ? 1.0 : 0.0"
	case opIf:
		return "(" + isTrue(0) + " ? " + args[1] + " : " + args[2] + ")"
	case opPower:
		return "std::pow(" + args[0] + ", " + args[1] + ")"
	case opNegate:
		return "-" + args[0]
	default:
		switch {
		case o.level == levelCompare:
			return args[0] + " " + o.symbol + " " + args[1] + " ? 1.0 : 0.0"
		case o.symbol != "":
			return strings.Join(args, " "+o.symbol+" ")
		case o.most != 1: // minimum and maximum of any number
			return "std::" + o.name + "({" + strings.Join(args, ", ") + "})"
		}
		return "std::" + o.name + "(" + args[0] + ")"
	}
}
