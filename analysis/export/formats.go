package export

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"marple/analysis/pipeline"
	"marple/analysis/run"
	"marple/analysis/tauprofile"
	"marple/analysis/trace"
)

// Format is one that runs can be exported to. It is written by one of the functions: of one run; of several;
// of the events that a run directory has kept; or into a directory.
type Format struct {
	Name, File string // File is what it is usually called
	Reader     string // what opens it
	Carries    string

	one       func(io.Writer, *run.Run) error
	several   func(io.Writer, []*run.Run) error
	events    func(w io.Writer, r *run.Run, directory string, window trace.Window) (more int, err error)
	directory func(r *run.Run, from, to string) error
}

// Formats are all there are.
var Formats = []Format{
	{Name: "pprof", File: "run.pb.gz", Reader: "go tool pprof", Carries: "time and calls by call path with lines; the rank is a label", one: Pprof},
	{Name: "speedscope", File: "run.speedscope.json", Reader: "speedscope.app", Carries: "time by call path, a profile per rank", one: Speedscope},
	{Name: "chrome", File: "run.trace.json", Reader: "Perfetto, chrome://tracing", Carries: "events of a run with --trace: MPI calls, regions and the functions on the way, messages as flows, bytes sent as a counter", events: WriteChrome},
	{Name: "caliper", File: "run.json", Reader: "hatchet, thicket", Carries: "time and calls by call path and rank", one: Caliper},
	{Name: "hatchet", File: "run.json", Reader: "hatchet, thicket (from_literal)", Carries: "time and calls by call path, of all ranks", one: Hatchet},
	{Name: "extrap", File: "runs.txt", Reader: "Extra-P", Carries: "time and visits per rank by call path, of runs that differ in parameters", several: ExtraPText},
	{Name: "extrap-jsonl", File: "runs.jsonl", Reader: "Extra-P", Carries: "the same", several: ExtraPLines},
	{Name: "cube", File: "run.cubex", Reader: "Cube, Extra-P", Carries: "time and visits by call path and rank", one: Cube},
	{Name: "csv", File: "run.csv", Reader: "spreadsheets, R, pandas", Carries: "time and calls by call path and rank", one: CSV},
	{Name: "tau", File: "a directory", Reader: "pprof, ParaProf, hatchet", Carries: "time, calls and counters by call path and rank; messages between ranks", directory: writeTAU},
	{Name: "otf2", File: "a directory", Reader: "Vampir, Scalasca, otf2-print", Carries: "events of a run with --trace: MPI calls, regions and the functions on the way, messages, collective operations, bytes sent as a metric", directory: writeOTF2},
}

func writeTAU(r *run.Run, _, to string) error { return tauprofile.Write(r, to) }

// FormatOf finds a format by its name; nil if there is none.
func FormatOf(name string) *Format {
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i]
		}
	}
	return nil
}

// Several tells whether the format takes several runs.
func (f *Format) Several() bool { return f.several != nil }

// Directory tells whether the format is a directory.
func (f *Format) Directory() bool { return f.directory != nil }

// Logged tells whether it carries what ranks have logged with --trace.
func (f *Format) Logged() bool { return strings.HasPrefix(f.Carries, "events of a run with --trace") }

// Binary tells whether the format is not for terminals.
func (f *Format) Binary() bool {
	return strings.HasSuffix(f.File, ".gz") || strings.HasSuffix(f.File, ".cubex")
}

// mostExported bounds the slices of a trace: about 1 GB of text.
const mostExported = 10_000_000

// Export writes runs to a file, or a directory, as a whole or not at all; an empty name is w. The note says what
// is missing from it.
func (f *Format) Export(w io.Writer, to string, paths ...string) (note string, err error) {
	var runs []*run.Run
	for _, path := range paths {
		r, err := pipeline.Open(path)
		if err != nil {
			return "", err
		}
		if f.several == nil && r.Estimated() {
			note = fmt.Sprintf("of %d ranks each call path keeps the busiest; the others' values are the mean of what is left", len(r.PerRank))
		}
		runs = append(runs, r)
	}
	if f.directory != nil {
		return note, run.WriteDirectory(to, func(directory string) error { return f.directory(runs[0], paths[0], directory) })
	}
	write := func(w io.Writer) error {
		switch {
		case f.events != nil:
			directory := paths[0]
			if filepath.Base(directory) == run.File {
				directory = filepath.Dir(directory)
			}
			more, err := f.events(w, runs[0], directory, trace.Window{Most: mostExported})
			if more > 0 {
				note = fmt.Sprintf("%d slices are left out; see marple timeline --from", more)
			}
			return err
		case f.several != nil:
			return f.several(w, runs)
		}
		return f.one(w, runs[0])
	}
	if to == "" {
		err = write(w)
	} else {
		err = run.WriteWith(to, write)
	}
	return note, err
}
