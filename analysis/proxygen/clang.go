package proxygen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// clang is the compiler, with the header it is to read.
type clang struct {
	ctx      context.Context
	path     string
	header   string // absolute
	shown    string // as the user named it
	includes []string
	flags    []string
	classes  map[string]*class // by identity
}

// Newest first, after the one without a number.
func compilers() []string {
	names := []string{"clang++", "clang"}
	for version := 30; version >= 11; version-- {
		names = append(names, fmt.Sprintf("clang++-%d", version), fmt.Sprintf("clang-%d", version))
	}
	return names
}

func newClang(ctx context.Context, o Options) (*clang, error) {
	c := &clang{ctx: ctx, shown: o.Header, flags: o.Flags, classes: map[string]*class{}}
	wanted := compilers()
	if o.Clang != "" {
		wanted = []string{o.Clang}
	}
	for _, name := range wanted {
		if path, err := exec.LookPath(name); err == nil {
			c.path = path
			break
		}
	}
	if c.path == "" && o.Clang != "" {
		return nil, fmt.Errorf("%s: no such compiler", o.Clang)
	}
	if c.path == "" {
		return nil, errors.New("clang reads the header, and it is not installed: apt-get install clang")
	}
	if info, err := os.Stat(o.Header); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", o.Header)
	}
	var err error
	if c.header, err = filepath.Abs(o.Header); err != nil {
		return nil, err
	}
	for _, include := range o.Include {
		if absolute, err := filepath.Abs(include); err == nil {
			if _, err := os.Stat(absolute); err == nil {
				include = absolute
			}
		}
		c.includes = append(c.includes, include)
	}
	return c, nil
}

// run compiles a source that comes after the header, and returns what is printed.
func (c *clang) run(source string, extra ...string) (stdout, stderr []byte, err error) {
	arguments := []string{"-x", "c++", "-std=c++17", "-ferror-limit=0", "-fno-caret-diagnostics",
		"-fno-color-diagnostics", "-fno-show-column"}
	arguments = append(arguments, c.flags...)
	arguments = append(arguments, "-Wno-everything")
	if !slices.Contains(extra, "-E") {
		extra = append(extra, "-fsyntax-only")
	}
	arguments = append(arguments, extra...)
	for _, include := range append(c.includes, c.header) {
		arguments = append(arguments, "-include", include)
	}
	command := exec.CommandContext(c.ctx, c.path, append(arguments, "-")...)
	command.Stdin = strings.NewReader(source)
	command.Env = append(os.Environ(), "LC_ALL=C")
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	if c.ctx.Err() != nil {
		return nil, nil, c.ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, nil, fmt.Errorf("%s: %w", c.path, err)
	}
	return out.Bytes(), problems.Bytes(), err
}

// node is a node of clang's syntax tree, as far as it matters here.
type node struct {
	Kind        string
	Name        string
	MangledName string
	TagUsed     string
	Type        struct{ QualType, DesugaredQualType string }

	Virtual, Pure, Variadic                bool
	IsImplicit, CompleteDefinition         bool
	ExplicitlyDeleted                      bool
	StorageClass, Access, Init, ParentKind string
	Bases                                  []struct {
		Access    string
		IsVirtual bool
		Type      struct{ QualType, DesugaredQualType string }
	}
	Value any // of a template argument
	Inner []node
}

// dump gives the syntax trees of all declarations whose qualified names contain the filter.
func (c *clang) dump(source, filter string, extra ...string) ([]node, []diagnostic, error) {
	extra = append([]string{"-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=" + filter}, extra...)
	stdout, stderr, err := c.run(source, extra...)
	if err != nil && len(stderr) == 0 {
		return nil, nil, err
	}
	var nodes []node
	for d := json.NewDecoder(bytes.NewReader(stdout)); ; {
		var n node
		if err := d.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: its syntax tree cannot be read: %w", c.path, err)
		}
		nodes = append(nodes, n)
	}
	return nodes, diagnostics(stderr), nil
}

// diagnostic is an error or a warning of the compiler.
type diagnostic struct {
	tag     string // of the question, see ask; empty: it lies in the header
	place   string // file:line
	warning bool
	message string
}

var diagnosticLine = pattern(`^(.*):(\d+): (error|fatal error|warning|note): (.*)$`)

// diagnostics reads what a compiler has printed. A question is answered by an error in it, or by one in what it
// makes the compiler look at, which a note tells.
func diagnostics(stderr []byte) []diagnostic {
	var list []diagnostic
	for line := range strings.SplitSeq(string(stderr), "\n") {
		m := diagnosticLine().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		tag, asked := strings.CutPrefix(m[1], "?")
		switch {
		case m[3] != "note":
			d := diagnostic{place: m[1] + ":" + m[2], warning: m[3] == "warning", message: m[4]}
			if asked {
				d.tag = tag // empty: in text that is no question
			}
			list = append(list, d)
		case asked && len(list) > 0 && list[len(list)-1].tag == "":
			list[len(list)-1].tag = tag
		}
	}
	return list
}

// questions collects what to ask the compiler. Each is a piece of code, and the answer is whether it compiles.
type questions struct{ source strings.Builder }

const ownText = "?" // as a file name in complaints

// text adds code that is no question.
func (q *questions) text(format string, arguments ...any) {
	fmt.Fprintf(&q.source, "#line 1 \""+ownText+"\"\n"+format+"\n", arguments...)
}

func (q *questions) ask(tag, format string, arguments ...any) {
	fmt.Fprintf(&q.source, "#line 1 \"?%s\"\n"+format+"\n", append([]any{tag}, arguments...)...)
}

// answers are the complaints, by tag; a question without any was answered yes.
type answers struct{ errors, warnings map[string]string }

func (a answers) yes(tag string) bool {
	_, no := a.errors[tag]
	return !no
}

// answer has the compiler look at the questions. The error is that the header itself does not compile.
func (c *clang) answer(q *questions, extra ...string) (answers, error) {
	_, stderr, err := c.run(q.source.String(), extra...)
	if err != nil && len(stderr) == 0 {
		return answers{}, err
	}
	return c.collect(diagnostics(stderr))
}

func (c *clang) collect(list []diagnostic) (answers, error) {
	a := answers{map[string]string{}, map[string]string{}}
	for _, d := range list {
		into := a.errors
		if d.warning {
			into = a.warnings
		}
		if _, known := into[d.tag]; d.tag != "" && !known {
			into[d.tag] = d.message
		}
	}
	return a, c.complaint(list)
}

// complaint is the error that stands for what is wrong with the header itself.
func (c *clang) complaint(list []diagnostic) error {
	var lines []string
	for _, d := range list {
		if d.tag != "" || d.warning || strings.HasPrefix(d.place, ownText+":") {
			continue
		}
		if len(lines) == 5 {
			lines = append(lines, "...")
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %s", strings.Replace(d.place, c.header, c.shown, 1), d.message))
	}
	if lines == nil {
		return nil
	}
	return fmt.Errorf("%s does not compile\n%s\ngive the compiler flags it needs after --, and headers it relies on with --include",
		c.shown, strings.Join(lines, "\n"))
}
