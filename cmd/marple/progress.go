package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// endless marks a command that runs until somebody ends it, or becomes another program: nobody waits for it.
var endless = map[string]string{"endless": "yes"}

// progress says on stderr that a command is still at work: the first time after two seconds; on a terminal in one
// line that is renewed and goes away, else in a line of its own each time as long again has passed.
type progress struct {
	sync.Mutex
	out      io.Writer
	terminal bool
	doing    string
	next     time.Duration
	shown    bool // on the terminal
	over     bool
}

const patience = 2 * time.Second

// doing says what a command is at, for when it takes long.
func doing(c *cobra.Command, format string, arguments ...any) {
	if p, ok := c.Context().Value(progressKey{}).(*progress); ok {
		p.Lock()
		p.doing = fmt.Sprintf(format, arguments...)
		p.Unlock()
	}
}

// silence ends what a command says of its progress, before it starts a program that speaks for itself.
func silence(c *cobra.Command) {
	if p, ok := c.Context().Value(progressKey{}).(*progress); ok {
		p.end()
	}
}

type progressKey struct{}

// at is told the time that has passed since the command began.
func (p *progress) at(passed time.Duration) {
	p.Lock()
	defer p.Unlock()
	if p.over || passed < p.next {
		return
	}
	text := fmt.Sprintf("marple: %s (%v)", p.doing, passed.Truncate(time.Second))
	if p.terminal {
		p.shown = true
		p.next = passed + time.Second
		fmt.Fprintf(p.out, "\r%s\x1b[K", text)
		return
	}
	p.next = 2 * passed
	fmt.Fprintln(p.out, text)
}

func (p *progress) end() {
	p.Lock()
	defer p.Unlock()
	p.over = true
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// ending ends the progress before it passes on what is written.
type ending struct {
	io.Writer
	*progress
}

func (e ending) Write(data []byte) (int, error) {
	e.end()
	return e.Writer.Write(data)
}

// withProgress makes every command say that it is still at work. What it prints ends that, and so does its end.
func withProgress(root *cobra.Command) (end func()) {
	stop := func() {}
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		if c.Annotations["endless"] != "" {
			return
		}
		terminal := false
		if info, err := os.Stderr.Stat(); err == nil {
			terminal = info.Mode()&os.ModeCharDevice != 0
		}
		p := &progress{out: c.ErrOrStderr(), terminal: terminal, doing: c.Name(), next: patience}
		c.SetContext(context.WithValue(c.Context(), progressKey{}, p))
		root.SetOut(ending{c.OutOrStdout(), p})
		root.SetErr(ending{c.ErrOrStderr(), p})
		ticker, begin := time.NewTicker(time.Second/4), time.Now()
		go func() {
			for now := range ticker.C {
				p.at(now.Sub(begin))
			}
		}()
		stop = func() {
			ticker.Stop()
			p.end()
		}
	}
	return func() { stop() }
}
