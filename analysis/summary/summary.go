// Package summary is what a site keeps of a run: who ran what, how well, and what it lost, in at most 16 KiB. The rank that
// concludes a run leaves it in a spool directory, from which marple db ingest takes it.
//
// It may use run, files and words; it holds no state. The analysis core uses it.
//
// Invariant: what Read gives is within the bounds that are said here, whoever has written it.
package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"marple/analysis/files"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/words"
)

const (
	Schema   = 1         // the number of the format
	MaxSize  = 16 << 10  // bytes of a summary
	Suffix   = ".marple" // of its file; others in the spool directory are not looked at
	maxText  = 200       // bytes of a name; a sentence may have 300
	maxLong  = 300
	mostOf   = 3 // findings
	maxHosts = 16
	maxRanks = 1 << 26
)

// Summary of a run. Times are nanoseconds, shares 0 to 1.
type Summary struct {
	Schema   int    `json:"schema"`
	UID      uint32 `json:"uid"`
	Job      string `json:"job,omitempty"`     // the scheduler's id
	Account  string `json:"account,omitempty"` // whom the scheduler charges
	Program  string `json:"program"`
	BuildID  string `json:"build_id,omitempty"`
	MPI      string `json:"mpi"`
	Ranks    int    `json:"ranks"`
	Measured int    `json:"measured"`
	// Hosts are the first ones' names, HostCount is how many there were.
	Hosts     []string  `json:"hosts"`
	HostCount int       `json:"host_count"`
	Started   time.Time `json:"started"`
	Wall      uint64    `json:"wall_ns"`
	CoreTime  uint64    `json:"core_time_ns"` // over all ranks

	Parallel         float64 `json:"parallel"`
	LoadBalance      float64 `json:"load_balance"`
	Communication    float64 `json:"communication"` // 0: not defined
	CoreAvailability float64 `json:"core_availability"`

	IOTime    uint64 `json:"mpi_io_ns"` // in MPI's file operations, over all ranks
	IORead    uint64 `json:"mpi_io_read"`
	IOWritten uint64 `json:"mpi_io_written"`
	Memory    uint64 `json:"peak_memory,omitempty"` // bytes, of the rank that had most in memory; 0: not known

	Findings   []Finding `json:"findings"` // the first ones
	Incomplete bool      `json:"incomplete,omitempty"`
}

// Finding is one of a run's, as run.Finding has it.
type Finding struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Share  float64 `json:"share"`
	Where  string  `json:"where,omitempty"`
	Advice string  `json:"advice,omitempty"`
	Gain   float64 `json:"gain,omitempty"` // share by which the run would be shorter at most; 0: not known
}

// Of makes the summary of a run of the user whose process this is.
func Of(r *run.Run, job, account string) *Summary {
	s := &Summary{
		Schema: Schema, UID: uint32(os.Geteuid()), Job: short(job), Account: short(account),
		Program: short(r.Program), MPI: short(r.MPI.Library), Ranks: r.Ranks, Measured: r.Measured, HostCount: len(r.Hosts), Hosts: []string{},
		Started: r.Started.UTC(), Wall: r.WallNs, CoreTime: r.CoreTime(),
		Parallel: r.Efficiency.Parallel, LoadBalance: r.Efficiency.LoadBalance, Communication: r.Efficiency.Communication,
		CoreAvailability: r.Efficiency.CoreAvailability, Findings: []Finding{},
	}
	for _, m := range r.Modules {
		if filepath.Base(m.Path) == r.Program {
			s.BuildID = short(m.BuildID)
		}
	}
	for _, h := range r.Hosts[:min(len(r.Hosts), maxHosts)] {
		s.Hosts = append(s.Hosts, short(h.Name))
	}
	for _, f := range r.Functions {
		switch f.Op {
		case record.OpFileRead.String(), record.OpFileWrite.String(), record.OpFileOther.String():
			s.IOTime, s.IORead, s.IOWritten = s.IOTime+f.Ns, s.IORead+f.In, s.IOWritten+f.Out
		}
	}
	for _, f := range r.Findings[:min(len(r.Findings), mostOf)] {
		one := Finding{ID: short(f.ID), Title: long(f.Title), Share: f.Share, Where: long(f.Where), Advice: long(f.Advice)}
		if f.Gain != nil {
			one.Gain = f.Gain.High
		}
		s.Findings = append(s.Findings, one)
	}
	for _, b := range r.PerRank {
		s.Memory = max(s.Memory, b.PeakMemory)
	}
	for _, n := range slices.Concat(r.Conditions, r.NotSeen) {
		s.Incomplete = s.Incomplete || n.Incomplete()
	}
	return s
}

func short(text string) string { return fit(text, maxText) }
func long(text string) string  { return fit(text, maxLong) }

// fit makes a text one without control characters, of so many bytes at most.
func fit(text string, most int) string {
	text = words.Clean(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	return text
}

// Encode gives the file: every text is bounded, and so is the whole.
func (s *Summary) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // which would make six bytes of one
	err := e.Encode(s)
	if err == nil && b.Len() > MaxSize {
		err = fmt.Errorf("larger than %d bytes", MaxSize)
	}
	return b.Bytes(), err
}

// Decode reads a summary that anybody may have written.
func Decode(data []byte) (*Summary, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("larger than %d bytes", MaxSize)
	}
	s := &Summary{}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("not a summary: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a summary: more follows it")
	}
	s.Started = s.Started.UTC() // whatever zone it was written in
	return s, s.check()
}

var (
	earliest = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	longest  = uint64(3 * 365 * 24 * time.Hour) // of a job
)

func (s *Summary) check() error {
	if s.Schema != Schema {
		return &files.Unfit{What: "a summary", Version: s.Schema, Reads: Schema}
	}
	switch {
	case s.Ranks < 1 || s.Ranks > maxRanks || s.Measured < 0 || s.Measured > s.Ranks:
		return fmt.Errorf("%d of %d ranks measured", s.Measured, s.Ranks)
	case s.HostCount < 0 || s.HostCount > s.Ranks || len(s.Hosts) > min(s.HostCount, maxHosts):
		return fmt.Errorf("%d names of %d hosts", len(s.Hosts), s.HostCount)
	case s.Program == "":
		return errors.New("no program")
	case s.Started.Before(earliest) || s.Started.After(latest):
		return fmt.Errorf("started in the year %d", s.Started.Year())
	case max(s.IORead, s.IOWritten, s.Memory, s.CoreTime, s.IOTime) > math.MaxInt64:
		return errors.New("a number is too large")
	case s.Wall > longest:
		return fmt.Errorf("it took %.0f s", float64(s.Wall)/1e9)
	case max(float64(s.CoreTime), float64(s.IOTime)) > (1.01*float64(s.Wall)+1e9)*float64(s.Ranks): // no rank can have more
		return fmt.Errorf("%.0f s on cores and %.0f s in MPI-IO, of %d ranks for %.0f s", float64(s.CoreTime)/1e9, float64(s.IOTime)/1e9, s.Ranks, float64(s.Wall)/1e9)
	case len(s.Findings) > mostOf:
		return fmt.Errorf("%d findings, expected %d at most", len(s.Findings), mostOf)
	}
	shares := []float64{s.Parallel, s.LoadBalance, s.Communication, s.CoreAvailability}
	names := append([]string{s.Job, s.Account, s.Program, s.BuildID, s.MPI}, s.Hosts...)
	for _, f := range s.Findings {
		shares = append(shares, f.Share, f.Gain)
		names = append(names, f.ID)
		for _, sentence := range []string{f.Title, f.Where, f.Advice} {
			if sentence != fit(sentence, maxLong) {
				return errors.New("a text is too long, or has control characters")
			}
		}
	}
	for _, name := range names {
		if name != short(name) {
			return errors.New("a name is too long, or has control characters")
		}
	}
	for _, share := range shares {
		if !(share >= 0 && share <= 1.000001) {
			return fmt.Errorf("%v is no share, expected 0 to 1", share)
		}
	}
	return nil
}

// Named tells whether a file of a spool directory is called what Leave calls one: when it is whole, and before.
func Named(name string) (whole, unfinished bool) {
	plain := func(s string, least, most int) bool {
		return len(s) >= least && len(s) <= most && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
	}
	first, last, ours := strings.Cut(name, Suffix)
	begun, hidden := strings.CutPrefix(first, ".")
	if !ours || !plain(begun, 16, 26) {
		return false, false
	}
	number, numbered := strings.CutPrefix(last, "-") // see files.File.Replace
	return !hidden && last == "", hidden && numbered && plain(number, 1, 13)
}

// Leave puts the summary into a spool directory, as a whole or not at all. A directory that others may write to must have the
// sticky bit, or they could take the file away; where it hands its group on (set-group-id), the group may read the file.
func (s *Summary) Leave(spool string) error {
	info, err := os.Lstat(spool)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", spool)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%s: others can write to it, and it has no sticky bit", spool)
	}
	mode := fs.FileMode(0o600)
	if info.Mode()&fs.ModeSetgid != 0 {
		mode = 0o640
	}
	where := info.Sys().(*syscall.Stat_t)
	data, err := s.Encode()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%013s%013s", strconv.FormatUint(rand.Uint64(), 36), strconv.FormatUint(rand.Uint64(), 36)) + Suffix // which nobody else can have made before
	return files.Known(spool, uint64(where.Dev), where.Ino).File(name).ReplaceAs(data, mode)
}

// Refused is the error of a file that will never be taken, as opposed to one that cannot be read now.
type Refused struct{ error }

func (r *Refused) Unwrap() error { return r.error }

// Read takes a file of the spool directory, which must be its owner's summary, under no second name. One of a newer Marple is an error,
// but not Refused.
func Read(spool files.Directory, name string) (*Summary, []byte, error) {
	file, err := spool.File(name).Open(os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	owner := info.Sys().(*syscall.Stat_t)
	if owner.Nlink != 1 {
		return nil, nil, &Refused{fmt.Errorf("%s: it has %d names, expected one", file.Name(), owner.Nlink)}
	}
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, nil, err
	}
	s, err := Decode(data)
	if err == nil && s.UID != owner.Uid {
		err = fmt.Errorf("of user %d in a file of user %d", s.UID, owner.Uid)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file.Name(), err)
		if newer := (*files.Unfit)(nil); !errors.As(err, &newer) || newer.Version <= Schema { // else another Marple will take it
			err = &Refused{err}
		}
		return nil, nil, err
	}
	return s, data, nil
}
