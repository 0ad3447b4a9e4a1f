package proxygen

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/knowledge"
)

// Family is implementations that a proxy exchanges while the program runs: see marple_optimizer.hpp.
type Family struct {
	Name      string
	Policy    string // at first: fixed:NAME, model, trial or rules
	Stateless bool   // each call may be served by another one
	Agree     bool   // ranks have to take the same one
	Members   []Member
	Rules     *Rules // of policy rules; nil: none

	manager *knowledge.Manager
}

// Member is an implementation of a family.
type Member struct {
	Name   string
	Barred string // why it must not serve; empty: it may
	// Time is an expression of C++ for the nanoseconds of an invocation of a method, of doubles that identifier names;
	// empty if it has no model.
	Time func(method string, identifier func(parameter string) string) string
	// Without says in an error where the member stands that has no model.
	Without func(format string, arguments ...any) error
}

// behind makes the port's proxy one of the family.
func (f *Family) behind(p *port) error {
	p.proxy = strings.TrimSuffix(p.proxy, "Proxy") + "Family"
	if len(p.recorded()) == 0 {
		return usage("--family: no method of %s is recorded: there is nothing to choose for", p.name)
	}
	if f.Rules != nil {
		if err := f.manage(p); err != nil {
			return err
		}
	}
	if f.Policy == "model" {
		return f.checkModels(p)
	}
	return nil
}

// checkModels gives methods the expressions of their times, and looks whether each method has models of all members or of none. Of what depends on more than is recorded of a
// method there is no choice; some method must have one.
func (f *Family) checkModels(p *port) error {
	any, why := false, f.Members[0].Without("policy model: no model of a method of %s that is recorded", p.name)
	for _, c := range p.recorded() {
		times, missing, err := f.timesOf(c)
		switch {
		case err != nil:
			return err
		case times != nil:
			any = true
			c.times = times
		case missing != nil:
			why = missing
			p.omit(c.show(), "served without a choice of its own: %v", missing)
		}
	}
	if any {
		return nil
	}
	return why
}

// timesOf are the expressions of all members for a method, of its values as x; none if it has no models. Why not is in
// missing, if they need what is not recorded of it; err is that some have one and others not.
func (f *Family) timesOf(c *call) (list []string, missing, err error) {
	known := 0
	var without error
	for i := range f.Members {
		m := &f.Members[i]
		unknown := ""
		text := m.Time(c.name, func(parameter string) string {
			at := slices.IndexFunc(c.values, func(v value) bool { return v.name == parameter })
			if at < 0 {
				unknown = parameter
				return "0"
			}
			return fmt.Sprintf("x[%d]", at)
		})
		switch {
		case text == "":
			without = m.Without("policy model: no model of %s, which others of family %s have", c.name, f.Name)
		case unknown != "":
			missing = m.Without("the model of %s depends on %s, which is not recorded of it: say --param %s:%s=EXPRESSION", c.name, unknown, c.name, unknown)
		default:
			known++
			list = append(list, text)
		}
	}
	switch {
	case without == nil && missing == nil:
		return list, nil, nil
	case without != nil && known > 0:
		return nil, nil, without
	}
	return nil, missing, nil
}

// introduction begins the text, and returns what the proxy is made with.
func (w *output) introduction() (components string) {
	f := w.options.Family
	w.line("// Family %s behind a port of %s, written by `marple proxygen --family`. The proxy forwards", f.Name, w.options.included())
	w.line("// each call to an implementation that its policy has chosen, and records it when the program runs under Marple:")
	var names []string
	for _, m := range f.Members {
		names = append(names, m.Name)
	}
	return "{" + strings.Join(names, ", ") + "}"
}

func (w *output) familyType(p *port, recorded int) string {
	return fmt.Sprintf("%sfamily<%s, %d, %d>", p.marple, p.inside, len(w.options.Family.Members), recorded)
}

// familyHead writes the constructor, and what the application may say.
func (w *output) familyHead(p *port, recorded int) {
	f := w.options.Family
	n := len(f.Members)
	head := fmt.Sprintf("    explicit %s(const %starget<%s> (&implementations)[%d], const %sstring &policy = \"%s\")",
		p.proxy, p.marple, p.inside, n, p.std, quoted(f.Policy))
	var members, methods []string
	switch p.construct {
	case "copy":
		members = append(members, p.inside+"(implementations[0]())")
	case "arguments":
		w.line("    template <class... Base>")
		head = fmt.Sprintf("    explicit %s(const %starget<%s> (&implementations)[%d], Base &&...base)", p.proxy, p.marple, p.inside, n)
		members = append(members, fmt.Sprintf("%s(%sforward<Base>(base)...)", p.inside, p.std))
	}
	policy := "policy"
	if p.construct == "arguments" {
		policy = `"` + quoted(f.Policy) + `"`
	}
	for _, m := range f.Members {
		methods = append(methods, fmt.Sprintf("{\"%s\", \"%s\", marple_names_}", quoted(m.Name), quoted(f.Name)))
	}
	predict := "nullptr"
	if f.Policy == "model" {
		predict = "marple_predict"
	}
	if f.manager != nil {
		policy += ", &marple_rules_"
	}
	members = append(members, "marple_methods_{"+strings.Join(methods, ",\n                          ")+"}",
		fmt.Sprintf("marple_family_(\"%s\", marple_implementations_, marple_barred_, implementations, %s, %t, %s)", quoted(f.Name), predict, f.Stateless, policy))
	w.line("%s", head)
	w.line("        : %s\n    {\n    }", strings.Join(members, ",\n          "))
	w.line("\n    // Takes another policy: fixed:NAME, model, trial or rules. No call may be under way, on any thread.")
	w.line("    void marple_policy(const %sstring &policy) { marple_family_.policy(policy); }", p.std)
	w.line("\n    // Who serves what has no choice of its own.")
	w.line("    const char *marple_current() const { return marple_implementations_[marple_family_.current()]; }")
	if f.manager != nil {
		w.line("\n    // What the component says of its results, for rules that look at it.")
		w.line("    void marple_tell(const char *name, double value) noexcept { marple_family_.tell(name, value); }")
	}
	if !f.Stateless || f.settles() {
		if f.Stateless {
			w.line("\n    // Settings may change here: no call is under way. See marple::tunable.")
		} else {
			w.line("\n    // Another implementation may go on from here: see marple::family::quiet.")
		}
		w.line("    template <class Sum> void marple_quiet(Sum sum) { marple_family_.quiet(sum); }")
		if !f.Agree {
			w.line("    void marple_quiet() { marple_family_.quiet([](long long *, int) {}); }")
		}
	}
	w.line("\n    // Which functions of an implementation are recorded, to be changed at any time.")
	w.line("    %smethods<%d> &marple_methods(%ssize_t implementation) { return marple_methods_[implementation]; }", p.marple, recorded, p.std)
}

// familyTail writes the members.
func (w *output) familyTail(p *port, recorded []*call) {
	f := w.options.Family
	var names, barred []string
	for _, m := range f.Members {
		names = append(names, `"`+quoted(m.Name)+`"`)
		why := "nullptr"
		if m.Barred != "" {
			why = `"` + quoted(m.Barred) + `"`
		}
		barred = append(barred, why)
	}
	w.line("    static constexpr const char *marple_implementations_[] = {%s};", strings.Join(names, ", "))
	w.line("    static constexpr const char *marple_barred_[] = {%s};", strings.Join(barred, ", "))
	if f.Policy == "model" {
		w.line("    static bool marple_predict(%ssize_t method, [[maybe_unused]] const double *x, double *ns)\n    {", p.std)
		w.line("        switch (method) {")
		for i, c := range recorded {
			if c.times == nil {
				continue
			}
			w.line("        case %d:", i)
			for k, text := range c.times {
				w.line("            ns[%d] = %s;", k, text)
			}
			w.line("            return true;")
		}
		w.line("        }\n        return false;\n    }")
	}
	if f.manager != nil {
		w.rules(p, recorded)
	}
	w.line("    mutable %smethods<%d> marple_methods_[%d];", p.marple, len(recorded), len(f.Members))
	w.line("    mutable %s marple_family_;", w.familyType(p, len(recorded)))
}

// served writes the choice of who serves a call, and the beginning of its record. A parameter is evaluated once.
func (w *output) served(p *port, c *call, index int, self string) {
	chosen, local, arguments := c.local("chosen"), c.local("call"), ""
	var values []string
	for i, v := range c.values {
		name := c.local(fmt.Sprintf("value%d", i))
		w.line("        const auto %s = %s;", name, v.expression)
		values = append(values, fmt.Sprintf("static_cast<double>(%s)", name))
	}
	if len(values) > 0 {
		list := c.local("values")
		w.line("        const double %s[] = {%s};", list, strings.Join(values, ", "))
		arguments = fmt.Sprintf(", %s, %d", list, len(values))
	}
	w.line("        const %s::service %s(%smarple_family_, %d%s);", w.familyType(p, len(p.recorded())), chosen, self, index, arguments)
	w.line("        %sinvocation %s(%smarple_methods_[%s][%d]);", p.marple, local, self, chosen, index)
	for i, v := range c.values {
		w.line("        %s.parameter(\"%s\", %s);", local, quoted(v.name), c.local(fmt.Sprintf("value%d", i)))
	}
}
