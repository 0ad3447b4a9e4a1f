// Command gen reads pmpi/functions.txt and writes the wrappers of every MPI function named there.
//
//	gen TABLE OUTPUT-DIRECTORY   the wrappers
//	gen TABLE FILE.go            the table that analysis reads
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: gen TABLE OUTPUT-DIRECTORY|FILE.go")
	}
	table, err := ReadTable(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if filepath.Ext(os.Args[2]) == ".go" {
		if err := os.WriteFile(os.Args[2], goTable(table), 0o666); err != nil {
			log.Fatal(err)
		}
		return
	}
	for name, text := range map[string]string{
		"functions.gen.h": header(table),
		"functions.gen.c": facts(table),
		"wrappers.gen.c":  wrappers(table),
		"fortran.gen.c":   fortranWrappers(table),
		"arguments.gen.h": arguments(table),
	} {
		if err := os.WriteFile(filepath.Join(os.Args[2], name), []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

const generated = "/* Generated from pmpi/functions.txt. */\n"

func header(t *Table) string {
	var b strings.Builder
	b.WriteString(generated + `#ifndef MRL_FUNCTIONS_H
#define MRL_FUNCTIONS_H
#include <stdint.h>
enum mrl_function_id {
`)
	for _, f := range t.Functions {
		fmt.Fprintf(&b, "    MRL_FN_%s,\n", f.Name)
	}
	b.WriteString(`    MRL_FUNCTIONS
};
struct mrl_function_fact {
    const char *name;
    uint8_t op, flags; /* enum mrl_op, enum mrl_op_flag */
};
extern const struct mrl_function_fact mrl_function_facts[MRL_FUNCTIONS];
#endif
`)
	return b.String()
}

func facts(t *Table) string {
	var b strings.Builder
	b.WriteString(generated + `#include "layout.h"
#include "functions.gen.h"
const struct mrl_function_fact mrl_function_facts[MRL_FUNCTIONS] = {
`)
	for _, f := range t.Functions {
		fmt.Fprintf(&b, "    {%q, %s, %s},\n", f.Name, f.Op(), f.OpFlags())
	}
	b.WriteString("};\n")
	return b.String()
}

func wrappers(t *Table) string {
	var b strings.Builder
	b.WriteString(generated + "#include \"calls.h\"\n\n")
	most := 0
	for _, f := range t.Functions {
		most = max(most, len(f.Params))
	}
	b.WriteString("typedef int mrl_taking_0(void);\n")
	for n := 1; n <= most; n++ {
		fmt.Fprintf(&b, "typedef int mrl_taking_%d(%s);\n", n, strings.TrimSuffix(strings.Repeat("mrl_word, ", n), ", "))
	}
	for _, f := range t.Functions {
		if f.Shape != "hand" {
			b.WriteString("\n" + wrapper(f))
		}
	}
	return b.String()
}
