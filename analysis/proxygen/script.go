package proxygen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Script is an assembly's script for Ccaffeine, as far as proxies have to know it.
type Script struct {
	name      string
	lines     []string
	instances map[string]string // class by instance
	used      []provided        // ports that are connected or started, in the order of their first mention
}

// provided is a port of an instance.
type provided struct{ instance, port string }

// What the Mastermind is called; its instance where a script has none.
const (
	mastermindClass    = "Mastermind"
	mastermindInstance = "mastermind"
	monitorPort        = "MonitorPort"
)

// MaxScript is the size of the largest script that is read.
const MaxScript = 1 << 20

// ParseScript reads a script; name is for errors, which tell the line.
func ParseScript(name, text string) (*Script, error) {
	if len(text) > MaxScript {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, MaxScript)
	}
	s := &Script{name: name, lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n"), instances: map[string]string{}}
	for i, line := range s.lines {
		if err := s.command(words(line)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	return s, nil
}

// words are those of a command, without a comment.
func words(line string) []string {
	list := strings.Fields(line)
	if at := slices.IndexFunc(list, func(w string) bool { return w[0] == '#' || w[0] == '!' }); at >= 0 {
		list = list[:at]
	}
	return list
}

func (s *Script) command(w []string) error {
	if len(w) == 0 {
		return nil
	}
	expected := map[string]string{
		"create": "create CLASS INSTANCE", "instantiate": "instantiate CLASS INSTANCE", "remove": "remove INSTANCE",
		"connect": "connect USER USESPORT PROVIDER PROVIDESPORT", "disconnect": "disconnect USER USESPORT PROVIDER PROVIDESPORT",
		"go": "go INSTANCE PORT", "run": "run INSTANCE PORT",
	}[w[0]]
	if expected == "" {
		return nil
	}
	if len(w) != len(strings.Fields(expected)) {
		return fmt.Errorf("expected: %s", expected)
	}
	switch w[0] {
	case "create", "instantiate":
		if s.instances[w[2]] != "" {
			return fmt.Errorf("there is an instance %s already, of class %s", w[2], s.instances[w[2]])
		}
		s.instances[w[2]] = w[1]
		return nil
	case "connect":
		return s.use(w[3], w[4])
	case "go", "run":
		return s.use(w[1], w[2])
	}
	return nil
}

func (s *Script) use(instance, port string) error {
	class := s.instances[instance]
	if class == "" {
		return fmt.Errorf("no instance %s has been created before", instance)
	}
	if p := (provided{instance, port}); class != mastermindClass && !slices.Contains(s.used, p) {
		s.used = append(s.used, p)
	}
	return nil
}

// mastermind is the instance that monitors, and whether the script makes it.
func (s *Script) mastermind() (string, bool) {
	for _, line := range s.lines {
		if w := words(line); len(w) == 3 && (w[0] == "create" || w[0] == "instantiate") && w[1] == mastermindClass {
			return w[2], true
		}
	}
	name := mastermindInstance
	for s.instances[name] != "" {
		name += "_"
	}
	return name, false
}

// interposed is the script with a proxy between each port that has one and whoever uses it. class gives the class of the
// proxies of a component's port, "" if there is none; directory is where they are.
func (s *Script) interposed(directory string, class func(component, port string) string) string {
	x := interposing{s: s, class: class, proxies: map[provided]string{}}
	x.mastermind, x.made = s.mastermind()
	pathed := false
	for _, line := range s.lines {
		w := words(line)
		if len(w) == 0 {
			x.write(line)
			continue
		}
		switch w[0] {
		case "path":
			x.write(line)
			if len(w) == 3 && (w[1] == "set" || !pathed) {
				x.write("path append " + directory)
				pathed = true
			}
		case "create", "instantiate":
			x.create(line, w[1], w[2])
		case "connect", "disconnect":
			if name := x.proxy(provided{w[3], w[4]}); name != "" {
				line = fmt.Sprintf("%s %s %s %s %s", w[0], w[1], w[2], name, w[4])
			}
			x.write(line)
		case "go", "run":
			if name := x.proxy(provided{w[1], w[2]}); name != "" {
				line = fmt.Sprintf("%s %s %s", w[0], name, w[2])
			}
			x.write(line)
		case "remove":
			for _, p := range s.used {
				if name := x.proxies[p]; p.instance == w[1] && name != "" {
					x.write("remove " + name)
				}
			}
			x.write(line)
		default:
			x.write(line)
		}
	}
	return strings.Join(x.out, "\n") + "\n"
}

// interposing is a script that proxies are put into.
type interposing struct {
	s       *Script
	class   func(component, port string) string
	proxies map[provided]string // instances

	mastermind  string // its instance
	made, there bool   // the script makes it; it is made by now

	out     []string
	waiting []string // connections to the Mastermind
}

func (x *interposing) write(lines ...string) { x.out = append(x.out, lines...) }

// proxy is the instance that stands before a port; "": none.
func (x *interposing) proxy(p provided) string {
	if !slices.Contains(x.s.used, p) || x.class(x.s.instances[p.instance], p.port) == "" {
		return ""
	}
	name := x.proxies[p]
	if name == "" {
		name = p.instance + "_" + p.port + "_proxy"
		for x.s.instances[name] != "" {
			name += "_"
		}
		x.proxies[p] = name
	}
	return name
}

// create makes a component, and the proxies of its ports behind it.
func (x *interposing) create(line, class, instance string) {
	if !x.made && !x.there {
		x.write("repository get-global "+mastermindClass, "create "+mastermindClass+" "+x.mastermind)
		x.there = true
	}
	x.write(line)
	x.there = x.there || instance == x.mastermind
	for _, p := range x.s.used {
		if p.instance != instance || x.proxy(p) == "" {
			continue
		}
		name, proxy := x.proxy(p), x.class(class, p.port)
		x.write("repository get-global "+proxy, "create "+proxy+" "+name,
			fmt.Sprintf("connect %s %s_proxied %s %s", name, p.port, p.instance, p.port))
		x.waiting = append(x.waiting, fmt.Sprintf("connect %s %s %s %s", name, monitorPort, x.mastermind, monitorPort))
	}
	if x.there {
		x.write(x.waiting...)
		x.waiting = nil
	}
}

// Instances are the class of each.
func (s *Script) Instances() map[string]string { return maps.Clone(s.instances) }

// Change is how a script becomes that of another assembly.
type Change struct {
	Classes map[string]string // by instance
	Without []string          // commands that go
	With    []string          // commands that come, before the first go
	Title   string            // a comment
}

// Changed is the script with other classes; all else stays as it is. Classes are loaded where the script has not
// loaded them, and not loaded where nothing is made of them any more.
func (s *Script) Changed(c Change) string {
	classes := s.Instances()
	maps.Copy(classes, c.Classes)
	of := func(line string) []string { return strings.Fields(line) }
	among := func(instances map[string]string, class string) bool {
		return slices.Contains(slices.Collect(maps.Values(instances)), class)
	}
	used := func(class string) bool {
		return among(classes, class) ||
			slices.ContainsFunc(c.With, func(line string) bool { w := of(line); return len(w) == 3 && w[0] == "create" && w[1] == class })
	}
	var out, loaded []string
	load := func(class string) {
		if !slices.Contains(loaded, class) {
			out, loaded = append(out, "repository get-global "+class), append(loaded, class)
		}
	}
	come := func() {
		for _, line := range c.With {
			if w := of(line); w[0] == "create" {
				load(w[1])
			}
			out = append(out, line)
		}
		c.With = nil
	}
	for i, line := range s.lines {
		w := words(line)
		switch {
		case slices.Contains(c.Without, strings.Join(w, " ")):
			continue
		case len(w) == 3 && (w[0] == "repository" || w[0] == "rep") && strings.HasPrefix(w[1], "get"):
			if among(s.instances, w[2]) && !used(w[2]) {
				continue
			}
			loaded = append(loaded, w[2])
		case len(w) == 3 && (w[0] == "create" || w[0] == "instantiate") && classes[w[2]] != w[1]:
			load(classes[w[2]])
			line = w[0] + " " + classes[w[2]] + " " + w[2]
		case len(w) > 0 && (w[0] == "go" || w[0] == "run"):
			come()
		}
		out = append(out, line)
		if c.Title != "" && (i == 0 || len(out) == 1) {
			if strings.HasPrefix(line, "#") {
				out = append(out, "# "+c.Title)
			} else {
				out = append([]string{"# " + c.Title}, out...)
			}
			c.Title = ""
		}
	}
	come()
	return strings.Join(out, "\n") + "\n"
}
