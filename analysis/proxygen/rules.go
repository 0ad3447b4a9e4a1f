package proxygen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Rules are a file by whose rules the implementations and settings of a family are managed: see marple_rules.hpp.
type Rules struct {
	File     string
	Data     []byte
	Families map[string][]string // all there are, with their implementations
	Longest  int                 // bytes of what can be declared to Marple at once
}

// manage reads the rules of a family, whose calls have these parameters.
func (f *Family) manage(p *port) error {
	managed := knowledge.Managed{Family: f.Name, Stateless: f.Stateless, Agree: f.Agree, Families: f.Rules.Families,
		Barred: func(name string) string {
			return f.Members[slices.IndexFunc(f.Members, func(m Member) bool { return m.Name == name })].Barred
		}}
	for _, m := range f.Members {
		if m.Name == run.RulesComponent {
			return m.Without("the records of rules have this name; expected another one")
		}
		managed.Implementations = append(managed.Implementations, m.Name)
	}
	for _, c := range p.recorded() {
		for _, v := range c.values {
			if !slices.Contains(managed.Parameters, v.name) {
				managed.Parameters = append(managed.Parameters, v.name)
			}
		}
		if len(c.values) > mostValues {
			return usage("--rules: %s has %d parameters: at most %d are looked at", c.show(), len(c.values), mostValues)
		}
	}
	var err error
	if f.manager, err = knowledge.ReadManager(f.Rules.File, f.Rules.Data, managed); err != nil {
		return UsageError{err}
	}
	for _, x := range f.manager.Rules {
		if text := f.declaration(x); len(text) >= f.Rules.Longest {
			return UsageError{knowledge.Problem{File: f.Rules.File, Position: x.Position, Message: fmt.Sprintf(
				"rule %s: what the proxy tells of it takes %d bytes, and at most %d are kept: expected shorter conditions", x.Name, len(text), f.Rules.Longest-1)}}
		}
	}
	return nil
}

// mostValues is what the table of a call's values has room for.
const mostValues = 127

// declaration is what Marple is told of a rule, in the form of a file of families.
func (f *Family) declaration(x *knowledge.ManagerRule) string {
	when := x.When.Text
	if x.Until != nil {
		when += " until " + x.Until.Text
	}
	if x.For > 1 {
		when += fmt.Sprintf(" for %d looks", x.For)
	}
	at := fmt.Sprintf("%s:%d", f.Rules.File[strings.LastIndexByte(f.Rules.File, '/')+1:], x.Line)
	return fmt.Sprintf("exchanged: {%s: {rules: [{rule: %s, when: %s, then: %s, at: %s}], changes: %d}}", f.Name, x.Name, strconv.Quote(when), strconv.Quote(x.Then()), strconv.Quote(at), f.manager.Changes)
}

// settles says whether there is something to be done at quiet points even where each call has its own choice.
func (f *Family) settles() bool { return f.manager != nil && len(f.manager.Settings()) > 0 }

// rules writes the tables of the rules.
func (w *output) rules(p *port, recorded []*call) {
	f := w.options.Family
	m := f.manager
	settings := m.Settings()
	kinds := map[knowledge.MetricKind]string{knowledge.OfParameter: "parameter", knowledge.OfTime: "time", knowledge.OfCalls: "calls",
		knowledge.OfFailures: "failures", knowledge.OfImbalance: "imbalance", knowledge.OfTold: "told", knowledge.OfSetting: "setting", knowledge.OfServing: "serving"}
	of := func(x knowledge.ManagerMetric) int {
		if x.Kind == knowledge.OfServing {
			return slices.IndexFunc(f.Members, func(member Member) bool { return member.Name == x.Of })
		}
		return max(slices.Index(settings, x.Of), 0)
	}
	timed := false
	var metrics []string
	for _, x := range m.Metrics {
		timed = timed || x.Kind == knowledge.OfTime || x.Kind == knowledge.OfFailures || x.Kind == knowledge.OfImbalance
		metrics = append(metrics, fmt.Sprintf("{\"%s\", %smetric_of::%s, %d}", quoted(x.Name), p.marple, kinds[x.Kind], of(x)))
	}
	table := func(declared string, items []string) string {
		if len(items) == 0 {
			return "nullptr"
		}
		name := declared[strings.LastIndexByte(declared, ' ')+1:]
		if len(items) == 1 || len(strings.Join(items, ", ")) < width {
			w.line("    static constexpr %s[] = {%s};", declared, strings.Join(items, ", "))
		} else {
			w.line("    static constexpr %s[] = {\n        %s};", declared, strings.Join(items, ",\n        "))
		}
		return name
	}
	// The condition of each rule.
	w.line("    static unsigned marple_state([[maybe_unused]] %ssize_t rule, [[maybe_unused]] const double *m, [[maybe_unused]] %ssize_t serving)\n    {", p.std, p.std)
	w.line("        switch (rule) {")
	name := func(metric string) string {
		at := slices.IndexFunc(m.Metrics, func(x knowledge.ManagerMetric) bool { return x.Name == metric })
		if x := m.Metrics[at]; x.Kind == knowledge.OfServing {
			return fmt.Sprintf("(serving == %d)", of(x))
		}
		return fmt.Sprintf("m[%d]", at)
	}
	for i, x := range m.Rules {
		known := func(c *knowledge.RuleCondition) string {
			text := "m"
			for _, u := range c.Uses() {
				text += ", " + strconv.Itoa(slices.IndexFunc(m.Metrics, func(x knowledge.ManagerMetric) bool { return x.Name == u }))
			}
			return p.marple + "known(" + text + ")"
		}
		when, knows, until, ends := x.When.CPP(name), known(x.When), "!when", "knows"
		if x.Until != nil {
			until, ends = x.Until.CPP(name), known(x.Until)
		}
		w.line("        case %d: { // %s, %s:%d", i, x.Name, f.Rules.File[strings.LastIndexByte(f.Rules.File, '/')+1:], x.Line)
		w.line("            const bool knows = %s, ends = %s;", knows, ends)
		w.line("            const bool when = knows && %s;", when)
		w.line("            const bool until = ends && %s;", until)
		w.line("            return (when ? 1u : 0u) | (until ? 2u : 0u) | (knows ? 4u : 0u) | (ends ? 8u : 0u);\n        }")
	}
	w.line("        }\n        return 0;\n    }")
	var rules []string
	for i, x := range m.Rules {
		timed = timed || x.Tune != nil
		var set, tune, uses []string
		for _, s := range x.Set {
			set = append(set, fmt.Sprintf("{%d, %d}", slices.Index(settings, s.Name), s.Value))
		}
		calls, evaluations := 0, 0
		if x.Tune != nil {
			calls, evaluations = x.Tune.Calls, x.Tune.Evaluations
			for _, s := range x.Tune.Parameters {
				tune = append(tune, strconv.Itoa(slices.Index(settings, s)))
			}
		}
		for _, u := range x.Uses {
			uses = append(uses, strconv.Itoa(u))
		}
		sets := table(fmt.Sprintf("%ssetting_to marple_set%d_", p.marple, i), set)
		tunes := table(fmt.Sprintf("%ssize_t marple_tune%d_", p.std, i), tune)
		used := table(fmt.Sprintf("%ssize_t marple_uses%d_", p.std, i), uses)
		rules = append(rules, fmt.Sprintf("{\"%s\", \"%s\", %d, %d, %d, %t, %s, %d, %s, %d, %d, %d, %s, %d}",
			x.Name, quoted(f.declaration(x)), x.For, int(x.Ranks), slices.IndexFunc(f.Members, func(member Member) bool { return member.Name == x.Select }),
			x.Migrate, sets, len(set), tunes, len(tune), calls, evaluations, used, len(uses)))
	}
	ruleTable := table(p.marple+"rule marple_rule_", rules)
	metricTable := table(p.marple+"metric marple_metric_", metrics)
	settingTable := "nullptr"
	if len(settings) > 0 {
		var pairs []string
		for _, s := range settings {
			pairs = append(pairs, fmt.Sprintf("{\"%s\", \"set.%s\"}", s, s))
		}
		settingTable = "marple_setting_"
		w.line("    static constexpr const char *marple_setting_[][2] = {%s};", strings.Join(pairs, ", "))
	}
	var parameters []string
	for _, c := range recorded {
		for _, x := range m.Metrics {
			at := -1
			if x.Kind == knowledge.OfParameter {
				at = slices.IndexFunc(c.values, func(v value) bool { return v.name == x.Name })
			}
			parameters = append(parameters, strconv.Itoa(at))
		}
	}
	parameterTable := table("signed char marple_parameter_", parameters)
	w.line("    static constexpr %srules marple_rules_ = {%s, %d, %s, %d, %s, %d, %s, marple_state, %d, %d, %t};", p.marple, ruleTable, len(rules),
		metricTable, len(metrics), settingTable, len(settings), parameterTable, m.Every, m.Changes, timed)
}
