package selection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"marple/analysis/proxygen"
	"marple/analysis/words"
)

// Script is the chosen assembly as a script for Ccaffeine: every component of the file's assembly, those of the
// families with the classes that were chosen, and the connections. In the connections of an implementation,
// "self" is the instance that it was chosen for. Errors are the file's, with their place.
func (a *Answer) Script() (string, error) {
	f, plan := a.plan.file, a.plan.assembly
	if plan == nil {
		return "", fmt.Errorf(`%s: a script needs "assembly:", with instances, connections and go; or the script that was measured (--from)`, f.path)
	}
	instances, connections, err := a.wired()
	if err != nil {
		return "", err
	}
	var b, create strings.Builder
	fmt.Fprintf(&b, "#!ccaffeine bootstrap file.\n# %s\n", a.title())
	for _, line := range plan.setup {
		b.WriteString(line + "\n")
	}
	var names, classes []string
	for _, i := range instances {
		if slices.Contains(names, i.name) {
			return "", f.fail(i.at, "instance %q stands in the assembly twice", i.name)
		}
		names = append(names, i.name)
		if !slices.Contains(classes, i.class) {
			classes = append(classes, i.class)
			fmt.Fprintf(&b, "repository get-global %s\n", i.class)
		}
		fmt.Fprintf(&create, "create %s %s\n", i.class, i.name)
	}
	b.WriteString(create.String())
	for _, c := range connections {
		for _, name := range []string{c.user, c.provider} {
			if !slices.Contains(names, name) {
				return "", f.fail(c.at, "connections: there is no instance %q; there are %s", name, strings.Join(names, ", "))
			}
		}
		fmt.Fprintf(&b, "connect %s %s %s %s\n", c.user, c.uses, c.provider, c.provides)
	}
	if !slices.Contains(names, plan.goName) {
		return "", f.fail(plan.at, "go: there is no instance %q; there are %s", plan.goName, strings.Join(names, ", "))
	}
	fmt.Fprintf(&b, "go %s %s\nbye\n", plan.goName, plan.goPort)
	return b.String(), nil
}

// wired are the instances and connections of the assembly with the chosen implementations.
func (a *Answer) wired() (instances []instance, connections []connection, err error) {
	instances, connections = slices.Clone(a.plan.assembly.instances), slices.Clone(a.plan.assembly.connections)
	for v, variable := range a.variables {
		i := variable.family.Implementations[a.choice[v]]
		if i.Class == "" {
			return nil, nil, a.plan.file.fail(i.at, "%s: a script needs its class", i)
		}
		for _, name := range variable.instances {
			instances = append(instances, instance{name, i.Class, i.at})
			for _, c := range i.wiring.connections {
				for _, end := range []*string{&c.user, &c.provider} {
					if *end == "self" {
						*end = name
					}
				}
				connections = append(connections, c)
			}
		}
		instances = append(instances, i.wiring.instances...)
	}
	return instances, connections, nil
}

func (a *Answer) title() string {
	return fmt.Sprintf("The assembly that takes least, as far as Marple knows: %s expected.", words.Duration(a.Time))
}

// ScriptFrom is a script for Ccaffeine with the chosen classes in place of those of the same families; all else in it, such as
// parameters, stays as it is. Which instances are a family's is told by their classes.
func (a *Answer) ScriptFrom(s *proxygen.Script) (string, error) {
	change := proxygen.Change{Title: a.title()}
	for v, variable := range a.variables {
		if err := a.plan.exchange(&change, s, variable, variable.family.Implementations[a.choice[v]]); err != nil {
			return "", err
		}
	}
	return s.Changed(change), nil
}

// exchange adds what has to change in a script for a family, or an instance of it, to be of an implementation.
func (p *Plan) exchange(to *proxygen.Change, s *proxygen.Script, v *variable, chosen *Implementation) error {
	found, classes, err := p.instances(s, v)
	if err != nil {
		return err
	}
	there := s.Instances()
	for _, name := range found {
		if to.Classes == nil {
			to.Classes = map[string]string{}
		}
		to.Classes[name] = chosen.Class
		if there[name] != chosen.Class {
			ran := v.family.Implementations[slices.Index(classes, there[name])]
			to.Without = append(to.Without, ran.wiring.commands(name)...)
			to.With = append(to.With, chosen.wiring.commands(name)...)
		}
	}
	return nil
}

// instances are those of a family in a script, and the classes of the family's implementations.
func (p *Plan) instances(s *proxygen.Script, v *variable) (found, classes []string, err error) {
	for _, i := range v.family.Implementations {
		if i.Class == "" {
			return nil, nil, p.file.fail(i.at, "%s: a script needs its class", i)
		}
		classes = append(classes, i.Class)
	}
	there := s.Instances()
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if slices.Contains(classes, there[name]) {
			found = append(found, name)
		}
	}
	if !v.family.Bound && len(found) > 1 {
		found = slices.DeleteFunc(found, func(name string) bool { return !slices.Contains(v.instances, name) })
	}
	if len(found) == 0 {
		return nil, nil, p.file.fail(v.family.at, "%s: the script creates no instance of a class of this family (%s); it creates those of %s", v.name(),
			strings.Join(classes, ", "), strings.Join(slices.Compact(slices.Sorted(maps.Values(there))), ", "))
	}
	return found, classes, nil
}

// commands make an implementation's own instances and connections; "self" is the instance that it is chosen for.
func (w wiring) commands(self string) (list []string) {
	for _, i := range w.instances {
		list = append(list, "create "+i.class+" "+i.name)
	}
	for _, c := range w.connections {
		for _, end := range []*string{&c.user, &c.provider} {
			if *end == "self" {
				*end = self
			}
		}
		list = append(list, strings.Join([]string{"connect", c.user, c.uses, c.provider, c.provides}, " "))
	}
	return list
}
