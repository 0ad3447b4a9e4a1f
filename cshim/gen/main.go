// Command gen writes cshim's settings.gen.h from the table of settings.
package main

import (
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"marple/analysis/setting"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	var b strings.Builder
	b.WriteString("/* Generated from analysis/setting. */\n")
	for _, s := range setting.Table {
		switch s.Kind {
		case setting.Text, setting.Pairs:
			fmt.Fprintf(&b, "MRL_TEXT(%s, %q, %q)\n", s.Field(), s.Variable(), s.Preset)
		case setting.Number:
			fmt.Fprintf(&b, "MRL_NUMBER(%s, %q, %s, %d, %d, %s)\n", s.Field(), s.Variable(), s.Preset, s.Least, s.Most, names(s))
		case setting.Choice:
			fmt.Fprintf(&b, "MRL_CHOICE(%s, %q, %d, %s)\n", s.Field(), s.Variable(), slices.Index(s.Choices, s.Preset), names(s))
		}
	}
	if err := os.WriteFile(os.Args[1], []byte(b.String()), 0o666); err != nil {
		log.Fatal(err)
	}
}

// names are a setting's words, as the C array's initialiser that NULL ends.
func names(s setting.Setting) string {
	var list strings.Builder
	for _, c := range s.Choices {
		fmt.Fprintf(&list, "%q, ", c)
	}
	return list.String() + "NULL"
}
