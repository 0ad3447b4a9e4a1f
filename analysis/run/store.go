package run

import (
	"bytes"
	_ "embed"
	standard "encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goccy/go-json"

	"marple/analysis/files"
	"marple/analysis/waitstate"
)

// Files of a run directory.
const (
	File            = "run.json"
	ReportFile      = "report.txt"
	InvocationsFile = "invocations.parquet" // see package invocation
	ReplayFile      = "replay.bin"          // what ranks did, for marple whatif; see waitstate.Program
	RawDir          = "raw"                 // the ranks' record files, removed when they have been merged
	HostsFile       = "hosts"               // where records are that are not there, as long as there are any; see Hosts
)

// MaxSize bounds how much of a run.json is read.
const MaxSize = 1 << 30

//go:embed schema.json
var schemaJSON []byte

// SchemaJSON is the JSON Schema of run.json.
func SchemaJSON() []byte { return schemaJSON }

// Large call graphs have more nodes than this: they take some two seconds to look up, diagnose and write.
const Large = 15_000

// IsLarge tells whether the call graph is a large one.
func (r *Run) IsLarge() bool {
	nodes := 0
	for _, root := range r.CallGraph {
		root.Walk(func(*Node, int) bool {
			nodes++
			return nodes <= Large
		})
	}
	return nodes > Large
}

// Encode gives run.json. That of a large call graph is on one line: most of it would be what its lines begin with. The standard
// library has small runs written before the other one has seen what a run consists of, and is as fast with others.
func (r *Run) Encode() (data []byte, err error) {
	if r.IsLarge() {
		data, err = standard.Marshal(r)
	} else {
		data, err = standard.MarshalIndent(r, "", " ")
	}
	return append(data, '\n'), err
}

// Write stores run.json and the report in the directory. Each file is written beside its place and renamed, so that
// nobody sees half of one.
func (r *Run) Write(directory files.Directory, report string) error {
	data, err := r.Encode()
	if err != nil {
		return err
	}
	if err := directory.File(File).ReplaceBy(data); err != nil {
		return err
	}
	err = directory.File(ReportFile).ReplaceBy([]byte(report))
	if err == nil && r.Replay != nil {
		_ = directory.File(ReplayFile).ReplaceBy(r.Replay.Encode()) // without it the run is whole; marple whatif says that it is not there
	}
	return err
}

// maxReplay bounds how much of a replay.bin is read: 32 bytes for each call, and its message.
const maxReplay = 64 << 20

// ReadReplay gives what a run directory has for replays; nil if it has nothing, which is no error.
func ReadReplay(directory string) (*waitstate.Program, error) {
	path := filepath.Join(directory, ReplayFile)
	data, err := files.Read(path, maxReplay)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := waitstate.DecodeProgram(data)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged", path)
	}
	return p, nil
}

// WriteFile replaces a file as a whole, or leaves it as it was.
func WriteFile(path string, data []byte) error {
	return WriteWith(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteWith is WriteFile for what is written piece by piece.
func WriteWith(path string, write func(io.Writer) error) error {
	file, err := files.At(path)
	if err != nil {
		return err
	}
	return file.Replace(write)
}

// WriteDirectory makes a directory as a whole, or not at all. It must not exist yet, or be empty.
func WriteDirectory(path string, fill func(directory string) error) error {
	path = filepath.Clean(path)
	if list, err := os.ReadDir(path); err == nil && len(list) > 0 {
		return fmt.Errorf("%s: exists already, and is not empty", path)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	outer, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(outer)
	directory := filepath.Join(outer, filepath.Base(path))
	if err := os.Mkdir(directory, 0o777); err != nil { // as the umask has it, which MkdirTemp has not
		return err
	}
	if err := fill(directory); err != nil {
		return err
	}
	return os.Rename(directory, path)
}

// Read takes a run directory, or a run.json by itself. Errors name the file and what is wrong with it.
func Read(path string) (*Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, File)); errors.Is(err, os.ErrNotExist) {
			if raw, err := os.Stat(filepath.Join(path, RawDir)); err == nil && raw.IsDir() {
				return nil, fmt.Errorf("%s: the run did not finish; read its records with: marple recover %s", path, path)
			}
			return nil, fmt.Errorf("%s: not a run directory: it has no %s", path, File)
		}
		path = filepath.Join(path, File)
	}
	data, err := files.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	r, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Decode reads run.json.
func Decode(data []byte) (*Run, error) {
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := decode(data, &head); err != nil {
		return nil, err
	}
	if head.Schema == nil {
		return nil, errors.New("not a run: no schema number")
	}
	if *head.Schema != Schema {
		return nil, &files.Unfit{What: "a run", Version: *head.Schema, Reads: Schema}
	}
	r := &Run{}
	if err := decode(data, r); err != nil {
		return nil, err
	}
	return r, r.Check()
}

func decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("not valid JSON for a run: %w", err)
	}
	return nil
}
