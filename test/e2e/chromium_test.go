package e2e

import (
	"marple/test/harness"

	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium, spoken to through its debugging pipe: messages of JSON, each ended by a zero.
type browser struct {
	t       testing.TB
	in      *os.File
	out     *bufio.Reader
	next    int
	session string
	// What a page must not do is noted here.
	errors   []string
	requests []string
	loaded   bool
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func openBrowser(t testing.TB, arguments ...string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		harness.Missing(t, "chromium")
	}
	theirIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, theirOut, err := os.Pipe()
	require.NoError(t, err)
	profile, err := os.MkdirTemp("", "marple-chromium-*")
	require.NoError(t, err)
	line := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--window-size=1200,900"}, arguments...)
	c := exec.Command(path, line...)
	c.ExtraFiles = []*os.File{theirIn, theirOut}
	c.Env = append(os.Environ(), "HOME="+profile, "TMPDIR="+profile)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	theirIn.Close()
	theirOut.Close()
	require.NoError(t, out.SetReadDeadline(time.Now().Add(harness.Patience)))
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		_ = out.SetReadDeadline(time.Now().Add(harness.Patience))
		_, _ = io.Copy(io.Discard, b.out) // until the last of its children has gone, which write there
		out.Close()
		assert.NoError(t, os.RemoveAll(profile))
	})
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call sends a command and waits for its answer; events that come meanwhile are noted.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.next++
	m := map[string]any{"id": b.next, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	data, err := json.Marshal(m)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(data, 0))
	require.NoError(b.t, err)
	for {
		answer := b.read()
		if answer.ID != b.next {
			continue
		}
		require.Empty(b.t, string(answer.Error), method)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

func (b *browser) read() (m message) {
	b.t.Helper()
	data, err := b.out.ReadBytes(0)
	require.NoError(b.t, err, "the browser says nothing more")
	require.NoError(b.t, json.Unmarshal(data[:len(data)-1], &m))
	switch m.Method {
	case "Runtime.exceptionThrown":
		b.errors = append(b.errors, string(m.Params))
	case "Runtime.consoleAPICalled", "Log.entryAdded":
		if s := string(m.Params); strings.Contains(s, `"type":"error"`) || strings.Contains(s, `"level":"error"`) {
			b.errors = append(b.errors, s)
		}
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		require.NoError(b.t, json.Unmarshal(m.Params, &p))
		if !strings.HasPrefix(p.Request.URL, "data:") {
			b.requests = append(b.requests, p.Request.URL)
		}
	case "Page.loadEventFired":
		b.loaded = true
	}
	return m
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for !b.loaded {
		b.read()
	}
}

// do evaluates an expression in the page.
func (b *browser) do(format string, arguments ...any) any {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf(format, arguments...), "returnByValue": true, "awaitPromise": true, "userGesture": true}, &r)
	require.Empty(b.t, string(r.ExceptionDetails), format)
	return r.Result.Value
}

// until waits for an expression in the page to be true.
func (b *browser) until(format string, arguments ...any) {
	b.t.Helper()
	b.do("(async () => { while (!(%s)) await new Promise(done => setTimeout(done, 10)) })()", fmt.Sprintf(format, arguments...))
}

func (b *browser) press(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key}, nil)
	}
}

// screenshot keeps a picture of the page under build, for whoever wants to look.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	var r struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	require.Greater(b.t, len(r.Data), 1000)
	directory := filepath.Join(harness.Top, "build", "screenshots")
	require.NoError(b.t, os.MkdirAll(directory, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(directory, name+".png"), r.Data, 0o644))
}
