// Package knowledge is what Marple knows about parallel computational models: for each, its components, the
// abstract events they form, metrics, performance factors and the rules that lead from evidence to a factor
// (Li and Malony, section 3). It is written in YAML files, one per model, of which those in models/ are built
// in; a user's own are read the same way.
//
// It may use pattern, inference, event and words. It knows nothing of any run.
//
// Invariant: a model that loads is whole: every name in it is known, every expression has the unit it is said
// to have, no fact or metric depends on itself, every rule can be reached. What is wrong is said with file, line
// and column.
package knowledge

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"marple/analysis/files"
	"marple/analysis/pattern"
	"marple/analysis/record"
)

// Model is one computational model, or the composition of several.
type Model struct {
	Name, Title, About, Source string
	File                       string
	// Judges are the factors of general knowledge that this model's own rules decide about: what looks like one of
	// them may be its design. It does so where it sees one of its components, if those go by names.
	Judges []string
	// Plain says that general knowledge sees the model's ailments too, in other words; it is enough for a first look.
	Plain bool

	Roles      []*RoleSet
	Components []*Part
	Groups     []*Group
	Places     []*Place
	Events     []*AbstractEvent
	Delays     []*Delay
	Thresholds []*Threshold
	Metrics    []*Metric
	Levels     []*Level
	Facts      []*Conclusion
	Rules      []*Rule
	Looks      []*Look

	// Notes are what is legal but looks like a mistake.
	Notes []Problem
}

// Position in the model's file, both from 1; zero if it is in none.
type Position struct{ Line, Column int }

// RoleSet names ranks: structural ones (see StructuralRoles) or those listed.
type RoleSet struct {
	Position
	Name, About string
	Structure   string
	Ranks       []Range
}

// Range of ranks or tags; Last is -1 for no end.
type Range struct{ First, Last, Step int }

// Contains tells whether a number is in the range.
func (r Range) Contains(n int) bool {
	return n >= r.First && (r.Last < 0 || n <= r.Last) && (n-r.First)%r.Step == 0
}

// Part is a component of the model: an indivisible computation or communication. Within names the component
// it is a part of, if any.
type Part struct {
	Position
	Name, About, Within string
	Match               []*Condition
	Unless              []*Condition // what fits one of these is sorted into another component
}

// Condition says which events belong to a component: all that is set must fit. Lists are alternatives.
type Condition struct {
	Position
	Function, Region, File, MPI, Communicator []Glob
	In                                        []Glob // functions or regions
	Ops                                       []record.Op
	Computation                               string // straight, loop or any; "" for not a computation
	After, Before                             []Glob // MPI functions around a computation, or functions and regions that lead to them
	Role, Peer                                string
	Tags                                      []Range
}

// NeedsEvents tells whether only single events, not their sums by call path, can be held against the condition.
func (c *Condition) NeedsEvents() bool {
	return len(c.Tags) > 0 || c.Peer != "" || len(c.Communicator) > 0
}

// Named tells whether the condition asks for names that the program gives to its parts.
func (c *Condition) Named() bool { return len(c.In)+len(c.Function)+len(c.Region)+len(c.File) > 0 }

// Leaf tells whether the condition is about calls and computations, not about the path to them.
func (c *Condition) Leaf() bool {
	return len(c.MPI) > 0 || len(c.Ops) > 0 || c.Computation != "" || c.NeedsEvents()
}

// Glob is a pattern for names: * for any text, ? for any character, whatever the case.
type Glob string

// Fits tells whether a name fits; names are many, so nothing is allocated.
func (g Glob) Fits(name string) bool {
	glob := string(g)
	star, mark := -1, 0 // the last * and what of the name it has taken
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(glob) && glob[i] == '*':
			star, mark = i, j
			i++
		case i < len(glob) && (glob[i] == '?' || lower(glob[i]) == lower(name[j])):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[i:], "*") == ""
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Group is a named list of components, over which rules and metrics may range.
type Group struct {
	Position
	Name    string
	Members []string
}

// Place is where in a component an expression is largest, or positive. In the expression it is called here.
type Place struct {
	Position
	Name, Of string
	Largest  *Expression
	// Together: not one call path, but those for which the expression is largest when they are taken as one. Each: all at which it is
	// positive, but for those of the place But, if that is given.
	Together, Each bool
	But            string
}

// AbstractEvent is an expression over components.
type AbstractEvent struct {
	Position
	Name, About, On string // On: role of the ranks where it is looked for, "" for all
	Text            string
	Is              *pattern.Expr
}

// Delay says where time lost in some components shows: in which others ranks wait for it.
type Delay struct {
	Position
	Name, About       string
	CausedBy, ShowsIn []string
}

// Threshold is a quantity that evidence is held against.
type Threshold struct {
	Position
	Name, About string
	Value       float64
	Unit        Unit
}

// Metric is a quantity, a set of ranks or a text. Parameter is the component it is of, "" if it has none.
type Metric struct {
	Position
	Name, Parameter, About string
	Unit                   Unit
	Type                   Type
	Value                  *Expression
	Says                   *Template // as evidence, for people
}

// Look is one way in which programs of the model look: all signs must be there. Of several looks, the one that fits
// best counts.
type Look struct {
	Name  string
	Signs []*Sign
}

// Told tells whether it is the names in the program that say so, rather than what the program does.
func (l *Look) Told() bool { return l.Name == "names" }

// Sign says how much a run looks like the model, from 0 to 1.
type Sign struct {
	Position
	Is   *Expression
	Says *Template
	// Doubt limits how sure it is that the run is of this design, since others look the same, and not how well it fits.
	Doubt bool
}

// Level of diagnosis: what it looks at, and what must be measured for that.
type Level struct {
	Position
	Title string
	Needs []string
}

// Conclusion is a fact that rules lead to: an observation on the way, or a performance factor at the end.
type Conclusion struct {
	Position
	Name, Parameter string
	Factor          bool
	Label           string   // of a factor, in words
	Of              []string // components it is about, beside those in its evidence
	Means           string   // observations of several models with the same meaning are one in a composition
	Title           *Template
	Cost            *Expression // seconds of core time
	Bound           *Expression // likewise: the most that it can cost
	Surely          *Expression // likewise: what it costs at least
	Where           string      // place
	Ranks           *Expression
	Tell            []*Telling
	Advice          []*Advice
	Confidence      string
	Doubts          []FactName
	Model           string      // what findings name instead of the model, or ""
	Remedies        []*Remedy   // the first is what the finding's gain is of; the others may be done instead
	Gain            *Expression // seconds of core time that the advice saves, where no remedy tells it
	GainError       *Expression // likewise: what it may be more or less
	GainAtMost      bool
}

// Remedy is what a factor's advice would change, in the terms of a replay: what the run would gain by it is found so.
type Remedy struct {
	Position
	Change string   // one of Remedies
	Of     []string // places and components; of prompt a pattern of waiting
}

// Costs are the expressions that say what it costs, at most and at least.
func (c *Conclusion) Costs() (list []*Expression) {
	for _, e := range []*Expression{c.Cost, c.Bound, c.Surely, c.Gain, c.GainError} {
		if e != nil {
			list = append(list, e)
		}
	}
	return list
}

// Telling is a metric told with a finding, if a fact holds (or in any case).
type Telling struct {
	Position
	Metric string
	If     *FactName
}

// Advice is given if a fact holds; of several, the first that applies.
type Advice struct {
	Position
	If   *FactName
	Text *Template
}

// FactName names a fact, with its argument, of another model of the composition if Scope is set.
type FactName struct {
	Position
	Scope, Name, Argument string
}

func (f FactName) String() string {
	text := f.Name
	if f.Scope != "" {
		text = f.Scope + "." + text
	}
	if f.Argument != "" {
		text += "(" + f.Argument + ")"
	}
	return text
}

// Rule concludes a fact when all its conditions hold. Variable, if set, stands for each member of Each.
type Rule struct {
	Position
	Then           FactName
	If             []*Test
	Level          int // from 1
	Variable, Each string
}

// Test is a premise, a comparison, or the demand that a metric be the largest among the members of Each.
type Test struct {
	Position
	Text    string
	Fact    *FactName
	Not     bool
	Left    *Expression // comparison
	Op      string
	Right   *Expression
	Largest *Expression
}

// Problem is something wrong in a file.
type Problem struct {
	File string
	Position
	Message string
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are all that is wrong, in the order of the file.
type Problems []Problem

func (p Problems) Error() string {
	var lines []string
	for _, one := range p {
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

//go:embed models/*.yaml
var builtin embed.FS

// Names lists the built-in models and compositions.
func Names() []string {
	files, _ := fs.Glob(builtin, "models/*.yaml")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".yaml"))
	}
	return names
}

const maxFile = 1 << 20

// Recognizable are the names of those that say by which signs a program is recognized: built-in ones, and those in the
// library's directory.
func (l Library) Recognizable() []string {
	names := append(l.Own(), Names()...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		data, err := l.Source(name)
		return err != nil || !strings.Contains(string(data), "\nsigns:")
	})
}

// maxOwn is how many files of a directory are taken for knowledge.
const maxOwn = 100

// Own are the names of the models and compositions in the library's directory, 100 at most.
func (l Library) Own() (names []string) {
	if l.Directory == "" {
		return nil
	}
	entries, _ := os.ReadDir(l.Directory) // sorted; see Check
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && name != "" && name[0] != '.' && len(names) < maxOwn {
			names = append(names, name)
		}
	}
	return names
}

// Check reads all knowledge in the library's directory. The error says what is wrong with it: Problems, or that the
// directory cannot be read or has none.
func (l Library) Check() error {
	if l.Directory == "" {
		return nil
	}
	if _, err := os.ReadDir(l.Directory); err != nil {
		return err
	}
	own := l.Own()
	if len(own) == 0 {
		return fmt.Errorf("%s: expected files of knowledge, such as task-stealing.yaml", l.Directory)
	}
	var all []error
	for _, name := range own {
		if _, err := l.Load(name); err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// Library finds models by name: in a directory of the user's, if one is given, else among the built-in ones.
type Library struct {
	Directory string
	signs     bool // only these are wanted of built-in models
}

// Signs loads of a model or composition what it takes to recognize it: of built-in ones no more than that.
func (l Library) Signs(name string) (*Knowledge, error) {
	return Library{Directory: l.Directory, signs: true}.Load(name)
}

// unsaid are the parts of a file that signs do not refer to, and sparse those of which they may refer to some elements.
var unsaid = []string{"about", "source", "groups", "events", "delays", "places", "levels", "observations", "factors", "rules"}
var sparse = []string{"metrics", "thresholds"}

// forSigns leaves of a file what its signs need. Files of ours are written so that this can be told from the lines: a
// part begins in the first column, an element of it in the third.
func forSigns(text string) string {
	type element struct{ name, text string }
	var elements []element
	var kept strings.Builder
	part := ""
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if line[0] >= 'a' && line[0] <= 'z' {
			part = name
		}
		switch {
		case slices.Contains(unsaid, part):
		case !slices.Contains(sparse, part):
			kept.WriteString(line)
		case strings.HasPrefix(line, "  ") && line[2] >= 'a' && line[2] <= 'z':
			name, _, _ = strings.Cut(name, "(")
			elements = append(elements, element{name, part + ":\n" + line})
		case line[0] == ' ' && len(elements) > 0:
			elements[len(elements)-1].text += line
		}
	}
	words := map[string]bool{}
	read := func(text string) {
		for _, w := range strings.FieldsFunc(text, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
			words[w] = true
		}
	}
	read(kept.String())
	parts := map[string]string{}
	for more := true; more; {
		more = false
		elements = slices.DeleteFunc(elements, func(e element) bool {
			if !words[e.name] {
				return false
			}
			head, body, _ := strings.Cut(e.text, "\n")
			parts[head] += body
			read(body)
			more = true
			return true
		})
	}
	for _, name := range sparse {
		if body := parts[name+":"]; body != "" {
			kept.WriteString(name + ":\n" + body)
		}
	}
	return kept.String()
}

// own is where a model of the user's stands, and has tells whether there is one.
func (l Library) own(name string) string {
	return filepath.Join(l.Directory, strings.TrimSuffix(name, ".yaml")+".yaml")
}

func (l Library) has(name string) bool {
	if l.Directory == "" {
		return false
	}
	_, err := os.Stat(l.own(name))
	return err == nil
}

// source gives a model's file and text.
func (l Library) source(name string) (file string, data []byte, err error) {
	if strings.ContainsAny(name, `/\`) || name == "" || name[0] == '.' {
		return "", nil, fmt.Errorf("%q is no model's name; models are looked for beside the file, and among the built-in ones", name)
	}
	known := Names()
	if l.has(name) {
		file := l.own(name)
		data, err := files.Read(file, maxFile) // at the end of a job, too, which must not wait for a pipe
		return file, data, err
	}
	if data, err := builtin.ReadFile("models/" + name + ".yaml"); err == nil {
		if l.signs {
			data = []byte(forSigns(string(data)))
		}
		return name + ".yaml", data, nil
	}
	return "", nil, fmt.Errorf("%s", unknown("model", name, known))
}

// Source is the text of a model's file.
func (l Library) Source(name string) ([]byte, error) {
	_, data, err := l.source(name)
	return data, err
}

// ReadFile reads a file of knowledge, which must not be larger than such files are.
func ReadFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, maxFile)
	}
	return data, nil
}

// find gives the element with a name.
func find[T interface{ named() string }](list []T, name string) (found T) {
	for _, x := range list {
		if x.named() == name {
			return x
		}
	}
	return found
}

func (x *RoleSet) named() string       { return x.Name }
func (x *Part) named() string          { return x.Name }
func (x *Group) named() string         { return x.Name }
func (x *Place) named() string         { return x.Name }
func (x *AbstractEvent) named() string { return x.Name }
func (x *Delay) named() string         { return x.Name }
func (x *Threshold) named() string     { return x.Name }
func (x *Metric) named() string        { return x.Name }
func (x *Conclusion) named() string    { return x.Name }

func names[T interface{ named() string }](list []T) []string {
	var all []string
	for _, x := range list {
		all = append(all, x.named())
	}
	return all
}

// Component, Metric, … find what is defined in the model; nil if it is not.
func (m *Model) Component(name string) *Part      { return find(m.Components, name) }
func (m *Model) Place(name string) *Place         { return find(m.Places, name) }
func (m *Model) Metric(name string) *Metric       { return find(m.Metrics, name) }
func (m *Model) Threshold(name string) *Threshold { return find(m.Thresholds, name) }
func (m *Model) Fact(name string) *Conclusion     { return find(m.Facts, name) }
func (m *Model) Event(name string) *AbstractEvent { return find(m.Events, name) }
func (m *Model) Role(name string) *RoleSet        { return find(m.Roles, name) }

// Range gives the components that a group, or a component by itself, stands for.
func (m *Model) Range(name string) []string {
	if g := find(m.Groups, name); g != nil {
		return g.Members
	}
	if m.Component(name) != nil {
		return []string{name}
	}
	return nil
}

// Set changes a threshold for this model.
func (m *Model) Set(name, value string) error {
	t := m.Threshold(name)
	if t == nil {
		return fmt.Errorf("%s", unknown("threshold", name, names(m.Thresholds)))
	}
	x, unit, err := ParseQuantity(value)
	if err != nil {
		return err
	}
	if unit.Dimension != t.Unit.Dimension {
		return fmt.Errorf("threshold %s is in %s; %q is in %s", name, t.Unit.Name, value, unit.Name)
	}
	t.Value = x
	return nil
}

// sorted gives problems in the order of the file, each once.
func sorted(list []Problem) Problems {
	slices.SortStableFunc(list, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(list)
}
