package harness

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Verdicts of Judge, as they stand in a test's log for test/suite to gather.
const (
	Judged    = "judged\t" // begins the line; then the verdict, a tab, and what was seen
	Right     = "right"
	Wrong     = "wrong"
	NotJudged = "not judged"
)

// Judge makes a row of the scoreboard of `make judge`. What judges real time may come out wrong where a machine is slow
// or has other work, and neither is the program's fault: assertions of the body that do not hold are told, and fail
// nothing. What the body logs stands beside its verdict.
//
// Tests that judge are named TestJudge…; `make test` leaves them out.
func Judge(t *testing.T, body func(t testing.TB)) {
	t.Helper()
	j := judged(t, body)
	t.Logf("%s%s\t%s", Judged, j.verdict, strings.Join(strings.Fields(strings.Join(j.seen, "; ")), " "))
}

func judged(t *testing.T, body func(t testing.TB)) *judge {
	j := &judge{TB: t, verdict: Right}
	done := make(chan struct{})
	go func() { // FailNow ends the body alone
		defer close(done)
		defer func() {
			if problem := recover(); problem != nil {
				j.Errorf("panic: %v", problem)
			}
		}()
		body(j)
	}()
	<-done
	return j
}

// judge stands for a test whose failures are verdicts.
type judge struct {
	testing.TB
	verdict string
	seen    []string
}

func (j *judge) Errorf(format string, arguments ...any) { j.wrong(fmt.Sprintf(format, arguments...)) }
func (j *judge) Error(arguments ...any)                 { j.wrong(fmt.Sprint(arguments...)) }
func (j *judge) Logf(format string, arguments ...any) {
	j.seen = append(j.seen, fmt.Sprintf(format, arguments...))
}
func (j *judge) Log(arguments ...any) { j.seen = append(j.seen, fmt.Sprint(arguments...)) }
func (j *judge) Fail()                { j.verdict = Wrong }
func (j *judge) Failed() bool         { return j.verdict == Wrong }
func (j *judge) FailNow()             { j.Fail(); runtime.Goexit() }

func (j *judge) Fatalf(format string, arguments ...any) {
	j.Errorf(format, arguments...)
	runtime.Goexit()
}

func (j *judge) Fatal(arguments ...any) {
	j.Error(arguments...)
	runtime.Goexit()
}

func (j *judge) Skipf(format string, arguments ...any) {
	j.Logf(format, arguments...)
	j.SkipNow()
}

func (j *judge) Skip(arguments ...any) {
	j.Log(arguments...)
	j.SkipNow()
}

func (j *judge) SkipNow() {
	j.verdict = NotJudged
	runtime.Goexit()
}

// longest is how much of what an assertion says is kept: reports of whole runs may stand in it.
const longest = 300

// wrong keeps what an assertion says without where it stands, which a row has no room for.
func (j *judge) wrong(text string) {
	j.Fail()
	var kept []string
	skip := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Error Trace:"), strings.HasPrefix(line, "Test:"):
			skip = true
		case strings.HasPrefix(line, "Error:"), strings.HasPrefix(line, "Messages:"):
			skip = false
		}
		if !skip && line != "" {
			kept = append(kept, strings.Fields(strings.TrimPrefix(line, "Error:"))...)
		}
	}
	text = strings.Join(kept, " ")
	if len(text) > longest {
		text = text[:longest] + " …"
	}
	j.seen = append(j.seen, text)
}
