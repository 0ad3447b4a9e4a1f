package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const placeholder = "{}"

// Command is one line of a list, with what was said about it.
type Command struct {
	Name, Line string
	Need, Copy []string
	Each       string // the file that this repetition is about
	Drop, Mask []*regexp.Regexp
}

// Title is what the command is called in the table.
func (c Command) Title() string {
	if c.Name == "" {
		return strings.Join(strings.Fields(strings.NewReplacer(placeholder, "", "$EACH", c.Each).Replace(c.Line)), " ")
	}
	return os.Expand(c.Name, c.variable)
}

func (c Command) variable(name string) string {
	switch name {
	case "EACH":
		return c.Each
	case "EACHDIR":
		return filepath.Dir(c.Each)
	}
	return os.Getenv(name)
}

// Missing names something that the command needs and that is not here.
func (c Command) Missing() string {
	for _, need := range c.Need {
		need = os.Expand(need, c.variable)
		if _, err := exec.LookPath(need); err == nil {
			continue
		}
		if _, err := os.Stat(need); err != nil {
			return need
		}
	}
	return ""
}

// ReadList reads a list; errors name file and line.
func ReadList(path string) ([]Command, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Command
	var next Command
	each, repeated := []string(nil), false
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		fail := func(format string, arguments ...any) error {
			return fmt.Errorf("%s:%d: %s", path, i+1, fmt.Sprintf(format, arguments...))
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != '%' {
			next.Line = line
			if !repeated {
				each = []string{""}
			}
			for _, next.Each = range each {
				list = append(list, next)
			}
			next, each, repeated = Command{}, nil, false
			continue
		}
		word, rest, _ := strings.Cut(line[1:], " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "name":
			next.Name = rest
		case "need":
			next.Need = append(next.Need, strings.Fields(rest)...)
		case "copy":
			next.Copy = append(next.Copy, strings.Fields(rest)...)
		case "each":
			repeated = true
			for _, pattern := range strings.Fields(os.ExpandEnv(rest)) {
				files, err := filepath.Glob(pattern)
				if err != nil {
					return nil, fail("%s: %v", pattern, err)
				}
				each = append(each, files...)
			}
		case "drop", "mask":
			expression, err := regexp.Compile("(?m)" + rest)
			if err != nil {
				return nil, fail("%v", err)
			}
			if word == "drop" {
				next.Drop = append(next.Drop, expression)
			} else {
				next.Mask = append(next.Mask, expression)
			}
		default:
			return nil, fail("unknown %%%s; expected %%name, %%need, %%copy, %%each, %%drop or %%mask", word)
		}
	}
	return list, nil
}
