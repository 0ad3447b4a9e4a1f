// Command suite runs go test and says in the end, in five lines, what ran, what was skipped and why, and how long it
// took. Each argument is what one go test is to be asked for:
//
//	suite [-judge] -- "-timeout 60m ./..." "-race ./analysis/..."
//
// What fails among the tests of whole programs (see repeated) is tried again alone, three times: a launcher may lose what
// ranks print, and a machine may be busy. If it passes each time it is said to be unstable, and its output stands above.
//
// Where CI=1, what is skipped is a failure. With -judge it prints the scoreboard of the tests that judge (see
// test/harness), and the conditions they were judged under; the exit code is 0 whatever is right or wrong in it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"marple/test/harness"
)

func main() {
	judge := flag.Bool("judge", false, "")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, `usage: suite [-judge] -- "ARGUMENTS OF GO TEST"...`)
		os.Exit(2)
	}
	s := suite{out: os.Stdout, tests: map[string]*test{}, packages: map[string]time.Duration{}, begun: time.Now(), load: load()}
	for _, arguments := range flag.Args() {
		fmt.Fprintln(s.out, "go test", arguments)
		if err := s.run(strings.Fields(arguments)); err != nil {
			fmt.Fprintln(os.Stderr, "suite:", err)
			os.Exit(1)
		}
	}
	if *judge {
		s.scoreboard()
		return
	}
	s.repeat()
	if !s.summary(os.Getenv("CI") == "1") {
		os.Exit(1)
	}
}

// An event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// A test is one of a package, or what the package says outside of its tests.
type test struct {
	pkg, in      string // and its name there
	name, result string
	output       []string
	parent       bool // of others, which say what there is to say
	race         bool // looked for: what is seen once is there
	passed       int  // how often
	unstable     bool // it has failed, and passed when it was repeated
}

type suite struct {
	out      io.Writer
	tests    map[string]*test
	order    []*test
	packages map[string]time.Duration
	begun    time.Time
	load     string // before it began
	runs     int
	race     bool // this run
}

// run runs go test once. What it cannot even begin is an error, what fails is not.
func (s *suite) run(arguments []string) error {
	s.runs++
	s.race = slices.Contains(arguments, "-race")
	command := exec.Command("go", append([]string{"test", "-json"}, arguments...)...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.take(line)
		}
		if err != nil {
			break
		}
	}
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	} else if err != nil && !s.failed() {
		return fmt.Errorf("go test %s: %w", strings.Join(arguments, " "), err)
	}
	return nil
}

func (s *suite) failed() bool {
	return slices.ContainsFunc(s.order, func(t *test) bool { return t.result == "fail" })
}

func (s *suite) take(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil { // what go says itself
		s.out.Write(line)
		return
	}
	if strings.HasPrefix(e.Action, "build-") {
		io.WriteString(s.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	t := s.test(e.Package, e.Test)
	switch e.Action {
	case "output":
		if e.Test == "" {
			for _, result := range []string{"ok  ", "FAIL\t", "panic: ", "*** Test killed"} {
				if strings.HasPrefix(e.Output, result) {
					io.WriteString(s.out, e.Output)
					return
				}
			}
		}
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		if t.result != "fail" { // of several times
			t.result = e.Action
		}
		if e.Action == "pass" {
			t.passed++
		}
		if e.Test == "" {
			s.packages[e.Package] = max(s.packages[e.Package], time.Duration(e.Elapsed*float64(time.Second)))
			if e.Action == "skip" { // there are no tests
				t.result = ""
			}
		}
		if e.Action == "fail" && !t.parent {
			fmt.Fprintf(s.out, "%s\n%s", t.name, strings.Join(t.output, ""))
		}
	}
}

// test finds a test, or makes it, and those it is a part of.
func (s *suite) test(pkg, name string) *test {
	key := fmt.Sprint(s.runs, pkg, " ", name)
	t := s.tests[key]
	if t == nil {
		t = &test{pkg: pkg, in: name, race: s.race, name: strings.TrimSpace(strings.TrimPrefix(pkg, "marple/") + " " + name)}
		s.tests[key] = t
		s.order = append(s.order, t)
		if above := strings.LastIndex(name, "/"); above >= 0 {
			s.test(pkg, name[:above]).parent = true
		} else if name != "" {
			s.test(pkg, "").parent = true
		}
	}
	return t
}

const (
	times      = 3 // that a test must pass alone
	repeatMost = 5 // tests; where more fail, it is not by chance
)

// repeated tells whether a test runs whole programs under launchers and frameworks that are not ours, and its package came
// to its end, which is when testing says so: otherwise other tests have not run.
func (s *suite) repeated(t *test) bool {
	return t.in != "" && !t.race && slices.ContainsFunc(s.order, func(p *test) bool {
		return p.pkg == t.pkg && p.in == "" && p.race == t.race && slices.Contains(p.output, "FAIL\n")
	}) &&
		slices.Contains([]string{"marple/test/e2e", "marple/test/harm", "marple/test/truth", "marple/test/parts", "marple/test/survive", "marple/test/neutral", "marple/test/peers"}, t.pkg)
}

// repeat tries again what has failed, if that is little.
func (s *suite) repeat() {
	var failed []*test
	for _, t := range s.order {
		if t.result == "fail" && (!t.parent || !s.below(t)) {
			failed = append(failed, t)
		}
	}
	if len(failed) > repeatMost || slices.ContainsFunc(failed, func(t *test) bool { return !s.repeated(t) }) {
		return
	}
	for _, t := range failed {
		var only []string
		for part := range strings.SplitSeq(t.in, "/") {
			only = append(only, "^"+regexp.QuoteMeta(part)+"$")
		}
		again := suite{out: s.out, tests: map[string]*test{}, packages: map[string]time.Duration{}}
		fmt.Fprintf(s.out, "again    %s, %d times\n", t.name, times)
		err := again.run([]string{"-vet", "off", "-timeout", "60m", "-count", strconv.Itoa(times), "-run", strings.Join(only, "/"), t.pkg})
		if err != nil || again.failed() || again.passes(t.name) != times {
			return
		}
	}
	for _, t := range s.order { // those they are a part of have failed for them only
		if t.result == "fail" {
			t.result, t.unstable = "pass", slices.Contains(failed, t)
		}
	}
}

// passes is how often a test has passed.
func (s *suite) passes(name string) (n int) {
	for _, t := range s.order {
		if t.name == name {
			n += t.passed
		}
	}
	return n
}

// summary is the last five lines; true if all is well.
func (s *suite) summary(ci bool) bool {
	count, reasons := map[string]int{}, map[string]int{}
	var failed, skipped []string
	for _, t := range s.order {
		if t.parent && (t.result != "fail" || s.below(t)) {
			continue
		}
		count[t.result]++
		switch t.result {
		case "fail":
			failed = append(failed, t.name)
		case "skip":
			reasons[t.reason()]++
			skipped = append(skipped, t.name)
		}
	}
	if ci {
		failed = append(failed, skipped...)
	}
	for _, name := range failed {
		fmt.Fprintln(s.out, "failed  ", name)
	}
	for _, t := range s.order {
		if t.unstable {
			fmt.Fprintf(s.out, "unstable %s: failed once, see above, then passed %d times alone\n", t.name, times)
		}
	}
	slow, took := "", time.Duration(0)
	for name, time := range s.packages {
		if time > took {
			slow, took = name, time
		}
	}
	why := "nothing"
	if len(reasons) > 0 {
		var list []string
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			list = append(list, fmt.Sprintf("%s (%d)", reason, reasons[reason]))
		}
		why = strings.Join(list, "; ")
	}
	fmt.Fprintf(s.out, "\nran      %d tests of %d packages\n", count["pass"]+count["fail"], len(s.packages))
	fmt.Fprintf(s.out, "skipped  %s\n", why)
	fmt.Fprintf(s.out, "took     %s, %s of processor time; the longest package %s, %s\n", round(time.Since(s.begun)), round(processor()),
		strings.TrimPrefix(slow, "marple/"), round(took))
	fmt.Fprintf(s.out, "on       %s\n", s.machine())
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	return len(failed) == 0
}

// below tells whether something failed in a part of a test.
func (s *suite) below(t *test) bool {
	return slices.ContainsFunc(s.order, func(other *test) bool {
		return other.result == "fail" && (strings.HasPrefix(other.name, t.name+"/") || strings.HasPrefix(other.name, t.name+" "))
	})
}

// reason is what a test has said when it was skipped.
func (t *test) reason() string {
	for _, line := range slices.Backward(t.output) {
		if place, said, ok := strings.Cut(strings.TrimSpace(line), ".go:"); ok && !strings.Contains(place, " ") {
			_, said, _ = strings.Cut(said, ": ")
			return said
		}
	}
	return "it does not say why"
}

// scoreboard lists the verdicts.
func (s *suite) scoreboard() {
	count := map[string]int{}
	fmt.Fprintln(s.out)
	for _, t := range s.order {
		rows := 0
		for _, line := range t.output {
			if _, row, ok := strings.Cut(strings.TrimSpace(line), harness.Judged); ok {
				verdict, seen, _ := strings.Cut(row, "\t")
				s.verdict(count, t, verdict, seen)
				rows++
			}
		}
		switch {
		case t.result == "skip" && !t.parent:
			s.verdict(count, t, harness.NotJudged, t.reason())
		case t.result == "fail" && rows == 0 && !t.parent:
			s.verdict(count, t, harness.Wrong, "the test itself failed, see above")
		}
	}
	fmt.Fprintf(s.out, "\n%s; %s\n", s.machine(), round(time.Since(s.begun)))
	fmt.Fprintf(s.out, "%d right, %d wrong, %d not judged\n", count[harness.Right], count[harness.Wrong], count[harness.NotJudged])
}

func (s *suite) verdict(count map[string]int, t *test, verdict, seen string) {
	count[verdict]++
	_, name, _ := strings.Cut(t.name, " TestJudge")
	fmt.Fprintf(s.out, "%-10s  %-58s  %s\n", verdict, strings.ReplaceAll(name, "_", " "), seen)
}

// machine says what the machine is and does.
func (s *suite) machine() string {
	parts := []string{fmt.Sprintf("%d cores, load %s before and %s after", runtime.NumCPU(), s.load, load())}
	for _, launcher := range []string{"mpirun.openmpi", "mpirun.mpich"} {
		if version := version(launcher); version != "" {
			parts = append(parts, version)
		}
	}
	return strings.Join(parts, "; ")
}

// load is the mean of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// version is that of an MPI library's launcher; nothing if there is none.
func version(launcher string) string {
	out, err := exec.Command(launcher, "--version").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); strings.Contains(line, "OpenRTE") || strings.Contains(line, "Open MPI") {
			return "Open MPI " + fields[len(fields)-1]
		} else if len(fields) == 2 && fields[0] == "Version:" {
			return "MPICH " + fields[1]
		}
	}
	return launcher
}

func round(d time.Duration) string { return d.Round(time.Second).String() }

// processor is the time that everything has computed that was waited for.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
