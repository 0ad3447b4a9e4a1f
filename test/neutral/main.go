// Command neutral checks that programs do under `marple exec` what they do without it. It runs each of a
// list of commands bare, then measured, then bare again, each time in an empty directory of its own, and
// compares what they write to stdout and stderr (but for what Marple itself says), the files they leave, the
// exit status and the signal that ended them.
//
//	neutral [flags] LIST...
//	neutral [flags] -- COMMAND [ARGUMENT...]
//
// A list has one command per line, in words as the shell reads them: quotes, variables and redirections, but
// no pipelines (write sh -c '…'). {} is where `marple exec` goes, behind a launcher; without it, it goes in
// front of everything. Lines that begin with # are comments, lines that begin with % are about the next
// command:
//
//	%name TEXT         what it is called in the table, instead of the command itself
//	%need PROGRAM...   skip it where one of these is not installed, or is no file
//	%copy FILE...      copy these files into the directory first (patterns, variables)
//	%each FILE...      repeat it for each of these files, which it finds in $EACH, their directory in $EACHDIR
//	%drop REGEXP       lines that match are not compared
//	%mask REGEXP       what matches is not compared
//
// Programs that say what time it is, or whose ranks speak in any order, do not say the same twice. What the
// two bare runs agree on is what the measured one is held to: every byte; else the lines, in any order; else
// those with their numbers masked; else nothing but the exit status, which the table then says. What differs is tried
// again, and must differ each time. Flags:
//
//	-under COMMAND   what to put in the place of {} (default: marple exec, of build/)
//	-limit DURATION  for each run (default: 10m)
//	-v               show what differs, in full
//
// The exit code is 0 if all are the same, 1 if one differs or cannot be run, 2 for wrong usage.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"marple/analysis/words"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: neutral [flags] LIST... | neutral [flags] -- COMMAND [ARGUMENT...]")
	}
	under := flag.String("under", "build/marple exec", "")
	limit := flag.Duration("limit", 10*time.Minute, "")
	verbose := flag.Bool("v", false, "")
	dashes := len(os.Args) > 1 && contains(os.Args[1:], "--")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	c := Checker{Under: absolute(*under), Limit: *limit}
	var commands []Command
	if dashes {
		commands = []Command{{Line: quote(flag.Args())}}
	} else {
		for _, list := range flag.Args() {
			more, err := ReadList(list)
			if err != nil {
				fmt.Fprintf(os.Stderr, "neutral: %v\n", err)
				os.Exit(2)
			}
			commands = append(commands, more...)
		}
	}
	if !c.Table(os.Stdout, commands, *verbose) {
		os.Exit(1)
	}
}

func contains(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// quote writes arguments as the shell reads them; a lone {} stays what it is.
func quote(arguments []string) string {
	var line []string
	for _, a := range arguments {
		if a != placeholder {
			a = words.Shell(a)
		}
		line = append(line, a)
	}
	return strings.Join(line, " ")
}
