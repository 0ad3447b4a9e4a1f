package main

import (
	"fmt"
	"slices"
	"strings"
)

// arguments lists all functions with the names of their parameters, a * before those that are pointers to a handle, and what
// of them is ignored when: what test/survive probes every function with.
func arguments(t *Table) string {
	var functions, unused strings.Builder
	for _, f := range t.Functions {
		if f.Shape == "hand" {
			continue
		}
		params := slices.Clone(f.Params)
		for i, p := range params {
			if pointsToHandle(f, p) {
				params[i] = "*" + p
			}
		}
		fmt.Fprintf(&functions, "    {%q, %q}, \\\n", f.Name, strings.Join(params, " "))
		for _, u := range f.Unused {
			fmt.Fprintf(&unused, "    {%q, %q, %q, %q}, \\\n", f.Name, strings.Join(params, " "), u.When, strings.Join(u.Params, " "))
		}
	}
	return generated + "#define MPI_FUNCTIONS \\\n" + functions.String() + "\n#define MPI_IGNORED \\\n" + unused.String() + "\n"
}

// pointsToHandle tells whether C takes a pointer to the handle: what wrappers look behind, and what only the library does.
func pointsToHandle(f Function, param string) bool {
	switch {
	case f.Name == "MPI_Grequest_complete", slices.Contains([]string{"pready", "parrived", "get_status"}, f.Shape):
		return false
	case param == "datatype":
		return f.Shape == "type_free" || f.Name == "MPI_Type_commit"
	}
	return byReference(f.Shape, param) || param == "newtype"
}
