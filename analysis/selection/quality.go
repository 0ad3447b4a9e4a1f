package selection

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Quality is something that implementations have more or less of, beside their time.
type Quality struct {
	Name  string
	at    place
	rule  *composition
	Lower bool // less of it is better
	least float64
	most  float64
	has   struct{ least, most bool }
}

// composition is how an assembly's quality follows from its instances'. As a sum it can be limited by sums:
// scale turns a value into a summand. A minimum is limited by leaving out what is below.
type composition struct {
	name   string
	start  float64
	add    func(whole, part float64) float64
	sum    bool
	scale  func(x float64) float64
	lowest float64 // a value must be above
}

var compositions = []*composition{
	{name: "min", start: math.Inf(1), add: math.Min, lowest: math.Inf(-1)},
	{name: "product", start: 1, add: func(a, b float64) float64 { return a * b }, sum: true, scale: math.Log},
	{name: "sum", start: 0, add: func(a, b float64) float64 { return a + b }, sum: true,
		scale: func(x float64) float64 { return x }, lowest: math.Inf(-1)},
}

func (p *Plan) quality(name string, keyNode, value ast.Node) error {
	f, what := p.file, "quality "+name
	q := &Quality{Name: name, at: at(keyNode)}
	if strings.ContainsAny(name, "<>= \t") {
		return f.fail(q.at, "%s: expected a name without spaces, <, > and =", what)
	}
	limit := func(to *float64, has *bool) reader {
		return func(n ast.Node) error { *has = true; return f.number(what, to)(n) }
	}
	err := f.object(value, what, []field{
		{"rule", func(n ast.Node) error {
			s, _ := scalar(n)
			i := slices.IndexFunc(compositions, func(c *composition) bool { return c.name == s })
			if i < 0 {
				return f.fail(at(n), "%s: rule: %q: expected one of min, product, sum", what, s)
			}
			q.rule = compositions[i]
			return nil
		}},
		{"better", func(n ast.Node) error {
			s, _ := scalar(n)
			if s != "higher" && s != "lower" {
				return f.fail(at(n), "%s: better: %q: expected higher or lower", what, s)
			}
			q.Lower = s == "lower"
			return nil
		}},
		{"at_least", limit(&q.least, &q.has.least)},
		{"at_most", limit(&q.most, &q.has.most)},
	}, "rule")
	p.Qualities = append(p.Qualities, q)
	return err
}

func (p *Plan) checkQualities() error {
	for _, q := range p.Qualities {
		if err := q.check(); err != nil {
			return p.file.fail(q.at, "quality %s: %v", q.Name, err)
		}
		for _, fam := range p.Families {
			for _, i := range fam.Implementations {
				if x, ok := i.qualities[q.Name]; ok && !(x > q.rule.lowest) {
					return p.file.fail(i.at, "%s: %s: %v: expected a number above %v, since the rule is %s", i, q.Name, x, q.rule.lowest, q.rule.name)
				}
			}
		}
	}
	return nil
}

func (q *Quality) check() error {
	switch {
	case !q.rule.sum && (q.has.most || q.Lower):
		return fmt.Errorf("a minimum can only be wanted higher: expected at_least")
	case q.rule.lowest == 0 && (q.has.least && q.least <= 0 || q.has.most && q.most <= 0):
		return fmt.Errorf("expected a limit above 0, since the rule is %s", q.rule.name)
	}
	return nil
}

// limit is sign·quality ≥ sign·value.
type limit struct {
	quality *Quality
	sign    float64
	value   float64
}

func (l limit) String() string {
	return fmt.Sprintf("%s %s %.6g", l.quality.Name, map[float64]string{1: "≥", -1: "≤"}[l.sign], l.value)
}

// limits are all that the qualities have.
func (p *Plan) limits() (list []limit) {
	for _, q := range p.Qualities {
		if q.has.least {
			list = append(list, limit{q, 1, q.least})
		}
		if q.has.most {
			list = append(list, limit{q, -1, q.most})
		}
	}
	return list
}

// Limit adds a limit such as accuracy>=0.9 to a quality, instead of the one that the file has.
func (p *Plan) Limit(text string) error {
	for _, sign := range []string{">=", "<="} {
		name, value, ok := strings.Cut(text, sign)
		if !ok {
			continue
		}
		q, err := p.Quality(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(math.Abs(x) <= most) {
			break
		}
		if sign == ">=" {
			q.least, q.has.least = x, true
		} else {
			q.most, q.has.most = x, true
		}
		if err := q.check(); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		return nil
	}
	return fmt.Errorf("%q: expected quality>=value or quality<=value", text)
}

// Quality finds one by its name.
func (p *Plan) Quality(name string) (*Quality, error) {
	var known []string
	for _, q := range p.Qualities {
		if q.Name == name {
			return q, nil
		}
		known = append(known, q.Name)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%q: %s describes no qualities", name, p.file.path)
	}
	return nil, fmt.Errorf("%q: expected one of %s", name, strings.Join(known, ", "))
}
