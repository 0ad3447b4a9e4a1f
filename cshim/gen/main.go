// Command gen writes cshim's settings.gen.h from the table of settings.
package main

import (
	"fmt"
	"log"
	"os"
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
		case setting.Text:
			fmt.Fprintf(&b, "MRL_TEXT(%s, %q, %q)\n", s.Field(), s.Variable(), s.Preset)
		case setting.Number:
			fmt.Fprintf(&b, "MRL_NUMBER(%s, %q, %s, %d, %d)\n", s.Field(), s.Variable(), s.Preset, s.Least, s.Most)
		case setting.Choice:
			preset := 0
			var names []string
			for i, c := range s.Choices {
				if c == s.Preset {
					preset = i
				}
				names = append(names, fmt.Sprintf("%q", c))
			}
			fmt.Fprintf(&b, "MRL_CHOICE(%s, %q, %d, %s)\n", s.Field(), s.Variable(), preset, strings.Join(names, ", "))
		}
	}
	if err := os.WriteFile(os.Args[1], []byte(b.String()), 0o666); err != nil {
		log.Fatal(err)
	}
}
