package diagnosis

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"marple/analysis/inference"
	"marple/analysis/knowledge"
	"marple/analysis/run"
)

// Script tests knowledge: given facts, and what must follow from them. A file holds lines of the forms
//
//	knowledge NAME              the model or composition that the cases are about; a name ending in .yaml is a file
//	case TEXT                   begins a case, which everything indented below belongs to
//	  given METRIC = QUANTITY   [SCOPE.]METRIC[(COMPONENT)], run.TOTAL, or cost(FACT) as a share of the core time
//	  set THRESHOLD = QUANTITY  [SCOPE.]THRESHOLD
//	  run PATH                  a stored run instead of given metrics
//	  holds FACT
//	  rejects FACT [because METRIC]
//	  unknown FACT
//
// and comments after #. Metrics that are not given are unknown; what costs nothing is said about costs enough.
type Script struct {
	File  string
	Cases []*ScriptCase
}

// ScriptCase is one case of a script.
type ScriptCase struct {
	Line      int
	Name      string
	knowledge string
	steps     []step
}

type step struct {
	line       int
	verb, what string
	value      string // after = or because
}

// parseStep reads a line of a case.
func parseStep(text string) (x step, ok bool) {
	verb, rest, _ := strings.Cut(text, " ")
	x.verb, rest = verb, strings.TrimSpace(rest)
	separator := " because "
	switch verb {
	case "given", "set":
		separator = "="
	case "holds", "rejects", "unknown", "run":
	default:
		return x, false
	}
	what, value, found := strings.Cut(rest, separator)
	x.what, x.value = strings.TrimSpace(what), strings.TrimSpace(value)
	return x, x.what != "" && !strings.Contains(x.what, " ") && found == (x.value != "") && (found || separator != "=")
}

// ParseScript reads a script. Errors are knowledge.Problems.
func ParseScript(file string, data []byte) (*Script, error) {
	s := &Script{File: file}
	var problems knowledge.Problems
	name := ""
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		trimmed := strings.TrimSpace(text)
		fail := func(format string, arguments ...any) {
			column := len(text) - len(strings.TrimLeft(text, " \t")) + 1
			problems = append(problems, knowledge.Problem{File: file, Position: knowledge.Position{Line: n, Column: column}, Message: fmt.Sprintf(format, arguments...)})
		}
		verb, rest, _ := strings.Cut(trimmed, " ")
		indented := text != strings.TrimLeft(text, " \t")
		switch {
		case trimmed == "":
		case !indented && verb == "knowledge" && rest != "":
			name = strings.TrimSpace(rest)
		case !indented && verb == "case" && rest != "":
			if name == "" {
				fail("a case before  knowledge NAME")
			}
			s.Cases = append(s.Cases, &ScriptCase{Line: n, Name: strings.TrimSpace(rest), knowledge: name})
		case !indented:
			fail("expected  knowledge NAME  or  case TEXT; what belongs to a case is indented")
		case len(s.Cases) == 0:
			fail("expected  case TEXT  first")
		default:
			x, ok := parseStep(trimmed)
			if !ok {
				fail("expected  given METRIC = QUANTITY, set THRESHOLD = QUANTITY, run PATH, holds FACT, rejects FACT [because METRIC]  or  unknown FACT")
				continue
			}
			x.line = n
			c := s.Cases[len(s.Cases)-1]
			c.steps = append(c.steps, x)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// Run runs all cases and gives what went wrong, with its line; nothing if all is as it must be.
func (s *Script) Run(library knowledge.Library) (wrong knowledge.Problems) {
	for _, c := range s.Cases {
		wrong = append(wrong, c.run(s.File, library)...)
	}
	return wrong
}

func (c *ScriptCase) run(file string, library knowledge.Library) (wrong knowledge.Problems) {
	fail := func(line int, format string, arguments ...any) {
		wrong = append(wrong, knowledge.Problem{File: file, Position: knowledge.Position{Line: line, Column: 1},
			Message: c.Name + ": " + fmt.Sprintf(format, arguments...)})
	}
	var k *knowledge.Knowledge
	var err error
	if strings.HasSuffix(c.knowledge, ".yaml") {
		path := filepath.Join(filepath.Dir(file), c.knowledge)
		var data []byte
		if data, err = knowledge.ReadFile(path); err == nil {
			k, err = library.Read(path, data)
		}
	} else {
		k, err = library.Load(c.knowledge)
	}
	if err != nil {
		fail(c.Line, "%v", err)
		return wrong
	}
	given := map[string]map[string]float64{"": {}}
	var stored *run.Run
	for _, x := range c.steps {
		switch x.verb {
		case "run":
			if stored, err = run.Read(filepath.Join(filepath.Dir(file), x.what)); err != nil {
				fail(x.line, "%v", err)
				return wrong
			}
		case "set":
			if err := k.Set(x.what, x.value); err != nil {
				fail(x.line, "%v", err)
			}
		case "given":
			if err := give(k, given, x.what, x.value); err != nil {
				fail(x.line, "%v", err)
			}
		}
	}
	d := newData(&run.Run{})
	d.imagined = stored == nil
	if stored != nil {
		d = newData(stored)
	}
	g, err := apply(d, k, given)
	if err != nil {
		fail(c.Line, "%v", err)
		return wrong
	}
	for _, x := range c.steps {
		want, ok := map[string]inference.Truth{"holds": inference.True, "rejects": inference.False, "unknown": inference.Unknown}[x.verb]
		if !ok {
			continue
		}
		f, known := g.ground.Named(x.what)
		if !known {
			fail(x.line, "no fact %s", x.what)
			continue
		}
		conclusion := g.conclude(f)
		switch {
		case g.truths[f] != want:
			fail(x.line, "%s %s, not as expected%s", x.what, says[conclusion.Verdict], why(conclusion))
		case x.value != "" && !conclusion.against(x.value):
			fail(x.line, "%s is rejected, but not because of %s%s", x.what, x.value, why(conclusion))
		}
	}
	return wrong
}

var says = map[string]string{"holds": "holds", "rejected": "is rejected", "unknown": "is unknown"}

// give enters the value of a metric.
func give(k *knowledge.Knowledge, given map[string]map[string]float64, name, value string) error {
	x, unit, err := knowledge.ParseQuantity(value)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "run.") || strings.HasPrefix(name, "cost(") {
		given[""][name] = x
		return nil
	}
	scope, rest := k.Split(name)
	if scope == nil {
		return fmt.Errorf("no metric %s", name)
	}
	plain, _, _ := strings.Cut(rest, "(")
	m := scope.Model.Metric(plain)
	if m == nil {
		return fmt.Errorf("%s has no metric %s", scope.Model.Name, plain)
	}
	if m.Unit.Dimension != unit.Dimension {
		return fmt.Errorf("%s is in %s; %q is in %s", name, m.Unit.Name, value, unit.Name)
	}
	if given[scope.Name] == nil {
		given[scope.Name] = map[string]float64{}
	}
	given[scope.Name][rest] = x
	return nil
}

// conclude is one fact's conclusion.
func (g *Diagnosis) conclude(f int) Conclusion {
	var rules []*rule
	for i := range g.rules {
		if g.rules[i].Then == f {
			rules = append(rules, &g.rules[i])
		}
	}
	return g.conclusion(f, rules)
}

// against tells whether evidence of a metric, or a fact, speaks against a conclusion.
func (c Conclusion) against(metric string) bool {
	for _, r := range c.Reasons {
		for _, l := range r.Lines {
			if l.Verdict == "rejected" && (l.Metric == metric || l.Premise && strings.TrimPrefix(l.Text, "not ") == metric) {
				return true
			}
		}
	}
	return false
}

// why lists the lines that decided.
func why(c Conclusion) string {
	var parts []string
	for _, r := range c.Reasons {
		for _, l := range r.Lines {
			if l.Verdict == r.Verdict {
				parts = append(parts, l.Text)
			}
		}
	}
	if len(parts) == 0 {
		return ": no rule concludes it"
	}
	return ": " + strings.Join(parts, "; ")
}
