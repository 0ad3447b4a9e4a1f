package selection

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Members writes a class of C++ for each implementation that has a model: it predicts what the model does. It
// is derived from AbstractFamilyMember in marple_family.hpp. Machine parameters have the file's values.
func (p *Plan) Members() (string, error) {
	if err := p.placed(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("// Written by marple select --emit-cpp. Times are in seconds.\n#pragma once\n\n" +
		"#include <algorithm>\n#include <cmath>\n\n#include \"marple_family.hpp\"\n\nnamespace modeling {\n")
	classes := names{}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			if len(i.methods) > 0 {
				p.member(&b, i, classes.of(fam.Name+" "+i.Name, "member"))
			}
		}
	}
	b.WriteString("\n} // namespace modeling\n")
	return b.String(), nil
}

func (p *Plan) member(b *strings.Builder, i *Implementation, class string) {
	methods := slices.Sorted(maps.Keys(i.methods))
	var inputs []string
	for _, method := range methods {
		inputs = append(inputs, i.methods[method].parameters()...)
	}
	slices.Sort(inputs)
	inputs = slices.DeleteFunc(slices.Compact(inputs), func(name string) bool { _, machine := p.machine[name]; return machine })
	identifiers, locals := map[string]string{}, names{}
	for _, name := range inputs {
		identifiers[name] = locals.of(name, "input")
	}
	identifier := func(name string) string {
		if x, machine := p.machine[name]; machine {
			return "(" + strconv.FormatFloat(x, 'g', -1, 64) + ")"
		}
		return identifiers[name]
	}
	quoted := make([]string, len(inputs))
	for k, name := range inputs {
		quoted[k] = quote(name)
	}
	fmt.Fprintf(b, `
// %s
class %s : public virtual AbstractFamilyMember {
public:
    explicit %s(std::string name = %s) : AbstractFamilyMember(std::move(name)) {}
    std::vector<std::string> inputNames() const override { return {%s}; }
    int getPerfPrediction([[maybe_unused]] std::vector<double> inputs, [[maybe_unused]] std::string method_name,
                          std::map<std::string, double> &predictions) override
    {
        if (inputs.size() < %d)
            return -1;
`, comment(i.String()), class, class, quote(i.Name), strings.Join(quoted, ", "), len(inputs))
	for k, name := range inputs {
		fmt.Fprintf(b, "        [[maybe_unused]] const double %s = inputs[%d];\n", identifiers[name], k)
	}
	// The model without a method is for all others, and comes last.
	for _, method := range slices.Concat(methods[1:], methods[:1]) {
		e, indent := i.methods[method], "        "
		if method != "" {
			fmt.Fprintf(b, "        if (method_name == %s) {\n", quote(method))
			indent += "    "
		}
		time, deviation, unit := e.cpp(p, identifier)
		fmt.Fprintf(b, "%spredictions[\"Exec. Time\"] = (%s)%s;\n", indent, time, unit)
		if deviation != "" {
			fmt.Fprintf(b, "%spredictions[\"Deviation\"] = (%s)%s;\n", indent, deviation, unit)
		}
		for _, q := range slices.Sorted(maps.Keys(i.qualities)) {
			fmt.Fprintf(b, "%spredictions[%s] = %s;\n", indent, quote(q), strconv.FormatFloat(i.qualities[q], 'g', -1, 64))
		}
		fmt.Fprintf(b, "%sreturn 0;\n", indent)
		if method != "" {
			b.WriteString("        }\n")
		}
	}
	if i.methods[""] == nil {
		b.WriteString("        return -1;\n")
	}
	b.WriteString("    }\n};\n")
}

// cpp is an estimate as expressions of C++, and what turns them into seconds. Of several modes the deviation is
// left out: it would need the expression of each twice.
func (e *estimate) cpp(p *Plan, identifier func(string) string) (time, deviation, unit string) {
	seconds := p.Unit
	if e.fitted == nil {
		time = e.time.CPP(identifier)
		if e.deviation != nil {
			deviation = e.deviation.CPP(identifier)
		}
	} else {
		if u := e.fitted.unit(); u != 0 {
			seconds = u
		}
		var parts []string
		for i, m := range e.fitted.models {
			machine := map[string]float64{}
			maps.Copy(machine, m.Machine)
			maps.Copy(machine, p.machine)
			part := m.Expression.Bind(machine).CPP(identifier)
			if len(e.fitted.models) > 1 {
				part = strconv.FormatFloat(e.fitted.shares[i], 'g', -1, 64) + " * (" + part + ")"
			} else if m.Deviation != nil {
				deviation = m.Deviation.Expression.Bind(machine).CPP(identifier)
			}
			parts = append(parts, part)
		}
		time = strings.Join(parts, " + ")
	}
	if seconds != 1 {
		unit = " * " + strconv.FormatFloat(seconds, 'g', -1, 64)
	}
	return time, deviation, unit
}

// names makes identifiers of C++ that differ from each other.
type names map[string]bool

// of ends in a word that none of the language's own ends in.
func (n names) of(text, end string) string {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	name := strings.Join(append(words, end), "_")
	if name[0] >= '0' && name[0] <= '9' {
		name = "n" + name
	}
	for n[name] {
		name += "x"
	}
	n[name] = true
	return name
}

// quote makes a string of C++, byte by byte.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '?' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// comment is a text that stays on its line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '\\' {
			return '_'
		}
		return r
	}, s)
}
