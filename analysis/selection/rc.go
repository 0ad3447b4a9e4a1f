package selection

import (
	"fmt"
	"slices"
	"strings"

	"marple/analysis/words"
)

// Script is the chosen assembly as a script for Ccaffeine: every component of the file's assembly, those of the
// families with the classes that were chosen, and the connections. In the connections of an implementation,
// "self" is the instance that it was chosen for. Errors are the file's, with their place.
func (a *Answer) Script() (string, error) {
	f, plan := a.plan.file, a.plan.assembly
	if plan == nil {
		return "", fmt.Errorf(`%s: a script needs "assembly:", with instances, connections and go`, f.path)
	}
	instances, connections := slices.Clone(plan.instances), slices.Clone(plan.connections)
	for v, variable := range a.variables {
		i := variable.family.Implementations[a.choice[v]]
		if i.Class == "" {
			return "", f.fail(i.at, "%s: a script needs its class", i)
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
	var b, create strings.Builder
	b.WriteString("#!ccaffeine bootstrap file.\n")
	fmt.Fprintf(&b, "# The assembly that takes least, as far as Marple knows: %s expected.\n", words.Duration(a.Time))
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
