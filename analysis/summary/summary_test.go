package summary

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/files"
	"marple/analysis/run"
)

// measured is a run that says as much as one can.
func measured() *run.Run {
	r := &run.Run{Program: "app\x1b[2J", Ranks: 5000, Measured: 5000, Started: time.Date(2026, 11, 23, 4, 5, 6, 7, time.UTC), WallNs: 1e9,
		MPI: run.MPI{Library: strings.Repeat(`"\`, 500)}, Efficiency: run.Efficiency{Parallel: 0.5, LoadBalance: 0.6},
		Functions: []run.Function{{Op: "file-write", Ns: 3, Out: 100}, {Op: "file-read", Ns: 4, In: 50}, {Op: "send", Ns: 5, Out: 7}}}
	for i := range 5000 {
		r.Hosts = append(r.Hosts, run.Host{Name: fmt.Sprintf("%s%d", strings.Repeat(`"`, 300), i)})
	}
	r.PerRank = []run.RankBalance{{PeakMemory: 2 << 20}, {PeakMemory: 3 << 20}, {}}
	for range 10 {
		hostile := strings.Repeat(`é"`, 1000)
		r.Findings = append(r.Findings, run.Finding{ID: hostile, Title: hostile, Where: hostile, Advice: hostile, Share: 0.3, Gain: &run.Gain{High: 0.2}})
	}
	return r
}

// Whatever a run says, its summary is small, and is read again.
func TestBounds(t *testing.T) {
	s := Of(measured(), strings.Repeat("7", 5000), "account\n")
	data, err := s.Encode()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(data), MaxSize)
	again, err := Decode(data)
	require.NoError(t, err)
	assert.Equal(t, s, again)
	assert.Equal(t, "app·[2J", s.Program)
	assert.Equal(t, "account·", s.Account)
	assert.Equal(t, 5000, s.HostCount)
	assert.Equal(t, [4]uint64{7, 50, 100, 3 << 20}, [4]uint64{s.IOTime, s.IORead, s.IOWritten, s.Memory})
	assert.Len(t, s.Findings, mostOf)
}

func TestRefused(t *testing.T) {
	for what, spoil := range map[string]func(s *Summary){
		"version":            func(s *Summary) { s.Schema = 2 },
		"ranks":              func(s *Summary) { s.Ranks = 0 },
		"names of":           func(s *Summary) { s.HostCount = 0 },
		"no program":         func(s *Summary) { s.Program = "" },
		"in the year":        func(s *Summary) { s.Started = time.Unix(0, 0) },
		"too large":          func(s *Summary) { s.IORead = math.MaxUint64 },
		"it took":            func(s *Summary) { s.Wall = math.MaxUint64 },
		"s on cores":         func(s *Summary) { s.CoreTime = math.MaxInt64 },
		"number is too":      func(s *Summary) { s.Ranks, s.Wall, s.CoreTime = 1<<26, 9e16, 18e18 },
		"no share":           func(s *Summary) { s.Parallel = -1 },
		"findings":           func(s *Summary) { s.Findings = append(s.Findings, s.Findings...) },
		"a name is too":      func(s *Summary) { s.Job = "\x00" },
		"a text is too long": func(s *Summary) { s.Findings[0].Advice = strings.Repeat("x", maxLong+1) },
	} {
		s := Of(measured(), "1", "")
		spoil(s)
		data, _ := s.Encode()
		_, err := Decode(data)
		assert.ErrorContains(t, err, what)
	}
	_, err := Decode([]byte("{} {}"))
	assert.ErrorContains(t, err, "more follows")
}

// What is left in a spool directory is read there by nobody else, is the whole of it, and is its owner's.
func TestSpool(t *testing.T) {
	spool := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o777))
	s := Of(measured(), "1", "")
	read := func() (*Summary, error) {
		in, err := files.In(spool)
		require.NoError(t, err)
		names, err := in.Names()
		require.NoError(t, err)
		require.Len(t, names, 1)
		info, err := os.Stat(filepath.Join(spool, names[0]))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
		found, _, err := Read(in, names[0])
		return found, err
	}
	require.NoError(t, os.Chmod(spool, 0o777))
	require.ErrorContains(t, s.Leave(spool), "no sticky bit")
	require.NoError(t, os.Chmod(spool, 0o773|os.ModeSticky|os.ModeSetgid))
	require.NoError(t, s.Leave(spool))
	found, err := read()
	require.NoError(t, err)
	assert.Equal(t, s, found)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(spool, link))
	require.ErrorContains(t, s.Leave(link), "not a directory")
	require.Error(t, s.Leave(filepath.Join(spool, "none")))
}

// Files that are not their owner's summary are refused: no link, no pipe, no second name, no other user's.
func TestHostileFiles(t *testing.T) {
	spool := t.TempDir()
	in, err := files.In(spool)
	require.NoError(t, err)
	s := Of(measured(), "1", "")
	data, err := s.Encode()
	require.NoError(t, err)
	at := func(name string) string { return filepath.Join(spool, name) }
	require.NoError(t, os.WriteFile(at("once"), data, 0o600))
	require.NoError(t, os.Link(at("once"), at("twice")))
	require.NoError(t, os.Symlink("once", at("link")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Mkdir(at("directory"), 0o700))
	require.NoError(t, os.WriteFile(at("large"), make([]byte, 1<<20), 0o600))
	s.UID++
	other, err := s.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("other"), other, 0o600))
	for name, problem := range map[string]string{"once": "2 names", "link": "symbolic link", "pipe": "named pipe", "directory": "directory", "large": "larger", "other": "in a file of user"} {
		_, _, err := Read(in, name)
		assert.ErrorContains(t, err, problem, name)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := Of(measured(), "1", "a").Encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"schema":1,"ranks":1,"program":"a","started":"2026-11-23T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := Decode(data); err == nil {
			again, err := s.Encode()
			if err != nil { // numbers and names that are longer when written out: still bounded
				require.ErrorContains(t, err, "larger")
				return
			}
			_, err = Decode(again)
			require.NoError(t, err)
		}
	})
}
