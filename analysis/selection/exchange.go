package selection

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/proxygen"
	"marple/analysis/run"
)

// Exchange is a family as its implementations are to be exchanged while the program runs, by this policy: fixed:NAME,
// model, trial or rules. What its qualities' limits leave out must not serve. Errors say file:line:column.
func (p *Plan) Exchange(name, policy string) (*proxygen.Family, error) {
	at := slices.IndexFunc(p.Families, func(f *Family) bool { return f.Name == name })
	if at < 0 {
		var there []string
		for _, f := range p.Families {
			there = append(there, f.Name)
		}
		return nil, p.file.fail(place{1, 1}, "no family %s; there are: %s", name, strings.Join(there, ", "))
	}
	if err := p.placed(); err != nil {
		return nil, err
	}
	fam := p.Families[at]
	out := &proxygen.Family{Name: fam.Name, Policy: policy}
	fixed, isFixed := strings.CutPrefix(policy, "fixed:")
	switch {
	case policy != "model" && policy != "trial" && policy != "rules" && !isFixed:
		return nil, fmt.Errorf("policy %q: expected fixed:NAME, model, trial or rules", policy)
	case isFixed && !slices.ContainsFunc(fam.Implementations, func(i *Implementation) bool { return i.Name == fixed }):
		return nil, p.file.fail(fam.at, "family %s: policy %q: no implementation %s", name, policy, fixed)
	}
	if err := p.samePorts(fam); err != nil {
		return nil, err
	}
	if n := len(fam.Implementations); n > run.MaxExchanged {
		return nil, p.file.fail(fam.at, "family %s: %d implementations: at most %d can be exchanged", name, n, run.MaxExchanged)
	}
	if n := declaredLength(fam); n >= MaxDeclaration {
		return nil, p.file.fail(fam.at, "family %s: the names of its implementations are too long: what the proxy tells of them takes %d bytes, and at most %d are kept",
			name, n, MaxDeclaration-1)
	}
	may := 0
	for _, i := range fam.Implementations {
		if !exchangeable.MatchString(i.Name) || !exchangeable.MatchString(fam.Name) {
			return nil, p.file.fail(i.at, "%s: expected names of letters, digits, _, . and -", i)
		}
		if first := fam.Implementations[0]; i.layout != first.layout {
			return nil, p.file.fail(i.at, "%s: its layout is %q and that of %s %q: expected the same, since a proxy translates nothing", i, i.layout, first, first.layout)
		}
		m, err := p.exchanged(i)
		if err != nil {
			return nil, err
		}
		if m.Barred != "" && isFixed && i.Name == fixed {
			return nil, p.file.fail(i.at, "%s: policy %q: %s", i, policy, m.Barred)
		}
		if m.Barred == "" {
			may++
		}
		out.Members = append(out.Members, m)
	}
	if may == 0 {
		return nil, p.file.fail(fam.at, "family %s: no implementation is within the limits of the qualities", name)
	}
	return out, nil
}

// exchanged is what a family's proxy has to know of an implementation.
func (p *Plan) exchanged(i *Implementation) (m proxygen.Member, err error) {
	m = proxygen.Member{Name: i.Name, Without: func(format string, arguments ...any) error {
		return p.file.fail(i.at, "%s: %s", i, fmt.Sprintf(format, arguments...))
	}}
	m.Time = func(method string, identifier func(string) string) string {
		e := i.estimate(method)
		if e == nil {
			return ""
		}
		time, _, unit := e.cpp(p, func(name string) string {
			if x, machine := p.machine[name]; machine {
				return "(" + strconv.FormatFloat(x, 'g', -1, 64) + ")"
			}
			return identifier(name)
		})
		return "(" + time + ")" + unit + " * 1e9"
	}
	m.Barred, err = p.bars(i)
	return m, err
}

// Implementations are those of all families.
func (p *Plan) Implementations() map[string][]string {
	list := map[string][]string{}
	for _, f := range p.Families {
		for _, i := range f.Implementations {
			list[f.Name] = append(list[f.Name], i.Name)
		}
	}
	return list
}

// declaredLength is how long a text the proxy makes of a family, with any policy: see marple::family::policy.
func declaredLength(fam *Family) int {
	list, longest := "", "trial"
	for n, i := range fam.Implementations {
		if n > 0 {
			list += ", "
		}
		list += `"` + i.Name + `"`
		if fixed := "fixed:" + i.Name; len(fixed) > len(longest) {
			longest = fixed
		}
	}
	return len(fmt.Sprintf(`exchanged: {%s: {policies: ["%s"], implementations: [%s]}}`, fam.Name, longest, list))
}

var exchangeable = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// bars says which quality keeps an implementation from serving. A limit on a whole assembly's product or sum cannot be
// held by one family alone.
func (p *Plan) bars(i *Implementation) (string, error) {
	for _, l := range p.limits() {
		if slices.ContainsFunc(p.reported, func(r *reported) bool { return r.implementation == i && r.quality == l.quality.Name }) {
			return "", p.file.fail(i.at, "%s: %s is measured, and limited: expected a number, which is known before the program runs", i, l.quality.Name)
		}
		x, known := i.qualities[l.quality.Name]
		switch {
		case !known:
		case l.quality.rule.sum:
			return "", p.file.fail(l.quality.at, "quality %s: the limit is of the %s over a whole assembly, which one family cannot hold while the program runs: expected rule: min", l.quality.Name, l.quality.rule.name)
		case !(l.sign*x >= l.sign*l.value):
			return fmt.Sprintf("its %s is %.6g, and the limit %s", l.quality.Name, x, l), nil
		}
	}
	return "", nil
}

// samePorts looks whether the implementations' connections provide the same ports: one port has them all behind it.
func (p *Plan) samePorts(fam *Family) error {
	var first []string
	for n, i := range fam.Implementations {
		var ports []string
		for _, c := range i.wiring.connections {
			if c.provider == "self" {
				ports = append(ports, c.provides)
			}
		}
		slices.Sort(ports)
		ports = slices.Compact(ports)
		if n == 0 {
			first = ports
		} else if !slices.Equal(first, ports) {
			at := i.at
			if len(i.wiring.connections) > 0 {
				at = i.wiring.connections[0].at
			}
			return p.file.fail(at, "%s: its connections provide %s, and those of %s %s: expected the same ports of all that stand behind one", i, list(ports), fam.Implementations[0], list(first))
		}
	}
	return nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
