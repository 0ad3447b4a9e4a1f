package report

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/knowledge"
	"marple/analysis/words"
)

// ListedKnowledge is an entry of `marple knowledge list --format json`.
type ListedKnowledge struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	About  string   `json:"about"`
	Models []string `json:"models"` // that it is composed of
}

// KnowledgeList is what there is.
func KnowledgeList(all []*knowledge.Knowledge) (list []ListedKnowledge) {
	for _, k := range all {
		list = append(list, ListedKnowledge{k.Name, k.Title, k.About, models(k)})
	}
	return list
}

// models that a composition is made of; none of a model by itself.
func models(k *knowledge.Knowledge) []string {
	list := []string{}
	for _, s := range k.Scopes {
		if s.Name != "" && !slices.Contains(list, s.Model.Name) {
			list = append(list, s.Model.Name)
		}
	}
	return list
}

// KnowledgeListText is the same for people.
func KnowledgeListText(all []*knowledge.Knowledge) string {
	w := &writer{}
	for _, k := range all {
		text := k.Title
		if m := models(k); len(m) > 0 {
			text += " (" + strings.Join(m, ", ") + ")"
		}
		w.block(fmt.Sprintf("%-24s ", k.Name), strings.Repeat(" ", 25), text)
	}
	return w.String()
}

// ShownKnowledge is what `marple knowledge show` and `graph` print with --format json.
type ShownKnowledge struct {
	Name   string           `json:"name"`
	Title  string           `json:"title"`
	About  string           `json:"about"`
	Scopes []ShownScope     `json:"scopes"`
	Nodes  []knowledge.Node `json:"nodes"`
	Links  []ShownLink      `json:"links"`
}

// ShownScope is a model in its place.
type ShownScope struct {
	Name   string `json:"name"`
	Model  string `json:"model"`
	Parent string `json:"parent,omitempty"`
	Into   string `json:"into,omitempty"` // component of the parent
}

// ShownLink joins facts of two models: delegated or composite.
type ShownLink struct {
	From string `json:"from"`
	To   string `json:"to"`
	Kind string `json:"kind"`
}

// Knowledge is a piece of knowledge for programs.
func Knowledge(k *knowledge.Knowledge) (*ShownKnowledge, error) {
	nodes, err := k.Tree()
	if err != nil {
		return nil, err
	}
	out := &ShownKnowledge{Name: k.Name, Title: k.Title, About: k.About, Nodes: nodes, Links: links(k)}
	for _, s := range k.Scopes {
		shown := ShownScope{Name: s.Name, Model: s.Model.Name, Into: s.Into}
		if s.Parent != nil {
			shown.Parent = s.Parent.Name
		}
		out.Scopes = append(out.Scopes, shown)
	}
	return out, nil
}

func links(k *knowledge.Knowledge) []ShownLink {
	list := []ShownLink{}
	for _, l := range k.Links {
		list = append(list, ShownLink{l.From.Scope.Full(l.From.Fact), l.To.Scope.Full(l.To.Fact), l.Kind})
	}
	return list
}

// Extent says how much a piece of knowledge is.
func Extent(k *knowledge.Knowledge) string {
	var components, metrics, rules, factors int
	seen := map[*knowledge.Model]bool{}
	for _, s := range k.Scopes {
		if seen[s.Model] {
			continue
		}
		seen[s.Model] = true
		components += len(s.Model.Components)
		metrics += len(s.Model.Metrics)
		rules += len(s.Model.Rules)
		for _, f := range s.Model.Facts {
			if f.Factor {
				factors++
			}
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s", words.Count(uint64(components), "component", "components"), words.Count(uint64(metrics), "metric", "metrics"),
		words.Count(uint64(rules), "rule", "rules"), words.Count(uint64(factors), "factor", "factors"))
}

// KnowledgeText is a piece of knowledge for people.
func KnowledgeText(k *knowledge.Knowledge) (string, error) {
	w := &writer{}
	w.block("", "", fmt.Sprintf("%s (%s)", k.Title, k.Name))
	w.about(k.About)
	if k.Event != nil {
		w.line("")
		w.block("event    ", "         ", k.Event.String())
	}
	for _, s := range k.Switches {
		w.block("switch   ", "         ", s[0]+" → "+s[1])
	}
	seen := map[*knowledge.Model]bool{}
	for _, s := range k.Scopes {
		if s.Parent != nil {
			w.block("nested   ", "         ", fmt.Sprintf("%s in %s.%s", s.Model.Name, s.Parent.Name, s.Into))
		}
	}
	for _, s := range k.Scopes {
		if !seen[s.Model] && len(s.Model.Components) > 0 {
			seen[s.Model] = true
			w.scope(s)
		}
	}
	w.line("")
	text, err := Tree(k)
	return w.String() + text, err
}

func (w *writer) about(text string) {
	if text != "" {
		w.block("", "", text)
	}
}

func (w *writer) scope(s *knowledge.Scope) {
	m := s.Model
	if s.Name != "" {
		w.line("")
		w.block("", "", fmt.Sprintf("%s (%s)", m.Title, m.Name))
		w.about(m.About)
	}
	w.line("")
	w.line("Components")
	for _, c := range m.Components {
		text := c.About
		if c.Within != "" {
			text += " (within " + c.Within + ")"
		}
		w.entry(c.Name, text)
	}
	if len(m.Events) > 0 {
		w.line("Abstract events")
	}
	for _, e := range m.Events {
		w.entry(e.Name, e.Text)
	}
	w.line("Thresholds")
	for _, t := range m.Thresholds {
		text := t.Unit.Print(t.Value)
		if t.About != "" {
			text += ": " + t.About
		}
		w.entry(t.Name, text)
	}
	w.line("Levels")
	for i, l := range m.Levels {
		w.entry(fmt.Sprintf("%d", i+1), fmt.Sprintf("%s; needs %s", l.Title, strings.Join(l.Needs, ", ")))
	}
	w.line("Factors")
	for _, f := range m.Facts {
		if f.Factor {
			w.entry(f.Name, f.Label)
			for _, a := range f.Advice {
				w.entry("", a.Text.Text)
			}
		}
	}
}

// entry is a name and what there is to say about it.
func (w *writer) entry(name, text string) {
	const column = 24
	if words.Width(name) > column-3 {
		w.line("  %s", name)
		name = ""
	}
	if text == "" {
		w.line("  %s", name)
		return
	}
	w.block(fmt.Sprintf("  %-*s", column-2, name), strings.Repeat(" ", column), text)
}

// Tree is the inference tree for people: facts below those that they follow from, with their evidence.
func Tree(k *knowledge.Knowledge) (string, error) {
	nodes, err := k.Tree()
	if err != nil {
		return "", err
	}
	w := &writer{}
	w.line("Inference tree of %s", k.Name)
	below := map[string][]int{}
	for i, n := range nodes {
		for _, from := range n.From {
			below[from] = append(below[from], i)
		}
	}
	shown := map[int]bool{}
	var write func(i int, first, rest string)
	write = func(i int, first, rest string) {
		n := nodes[i]
		name := n.ID
		if n.Kind == "factor" {
			name += "  (factor)"
		}
		if shown[i] && len(below[n.ID]) > 0 {
			w.line("%s%s  (above)", first, name)
			return
		}
		shown[i] = true
		w.line("%s%s", first, name)
		bar := rest
		if len(below[n.ID]) > 0 {
			bar += "│  "
		} else {
			bar += "   "
		}
		if len(n.Unless) > 0 {
			w.block(bar, bar, "unless "+strings.Join(n.Unless, ", "))
		}
		if len(n.If) > 0 {
			w.block(bar, bar, "if "+strings.Join(n.If, ", or "))
		}
		for j, c := range below[n.ID] {
			if j == len(below[n.ID])-1 {
				write(c, rest+"└─ ", rest+"   ")
			} else {
				write(c, rest+"├─ ", rest+"│  ")
			}
		}
	}
	for i, n := range nodes {
		if len(n.From) == 0 {
			write(i, "", "")
		}
	}
	for _, l := range links(k) {
		w.block("", "    ", fmt.Sprintf("%s - - %s - -> %s", l.From, l.Kind, l.To))
	}
	return w.String(), nil
}

// TreeDOT is the inference tree for Graphviz.
func TreeDOT(k *knowledge.Knowledge) (string, error) {
	nodes, err := k.Tree()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %q {\n  rankdir=TB; node [shape=box, fontname=sans]\n", k.Name)
	for _, n := range nodes {
		style := ""
		if n.Kind == "factor" {
			style = ", style=filled, fillcolor=lightgrey"
		}
		fmt.Fprintf(&out, "  %q [label=%q%s]\n", n.ID, n.ID+"\n"+n.Title, style)
		for _, from := range n.From {
			fmt.Fprintf(&out, "  %q -> %q [label=%q]\n", from, n.ID, strings.Join(n.If, "\n"))
		}
	}
	for _, l := range links(k) {
		fmt.Fprintf(&out, "  %q -> %q [style=dashed, label=%q]\n", l.From, l.To, l.Kind)
	}
	out.WriteString("}\n")
	return out.String(), nil
}

// LanguageText describes the functions of the expression language.
func LanguageText(list []knowledge.Described) string {
	w := &writer{}
	for _, f := range list {
		w.block("", "    ", fmt.Sprintf("%s(%s): %s", f.Name, strings.Join(f.Arguments, ", "), f.Gives))
		about := f.About
		if len(f.Needs) > 0 {
			about += "; needs " + strings.Join(f.Needs, ", ")
		}
		w.block("    ", "    ", about)
	}
	return w.String()
}
