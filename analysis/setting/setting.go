// Package setting is the one table of Marple's settings. A setting is the same thing as a flag of
// `marple exec`, as a MARPLE_* variable and as a key of the configuration file; all three, their
// documentation and the C shim's reader are made from this table.
//
// It uses the standard library only, and holds no state: reading variables and files is the callers'
// business, checking values is done here.
package setting

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Database is the variable that says where runs are kept: it is of commands, and not of a run.
const Database = "MARPLE_DB"

// Kind says what values a setting takes.
type Kind int

const (
	Text   Kind = iota // any text
	Number             // a whole number within bounds
	Choice             // one of a few words
	Pairs              // name=number, separated by commas
)

// Setting describes one setting. Preset is its value when nobody says otherwise.
type Setting struct {
	Key         string // in the configuration file, and the flag's name; words joined by "-"
	Kind        Kind
	Preset      string
	Least, Most int64    // for a Number
	Choices     []string // for a Choice; for a Number, words for Least, Least+1, ...
	Value       string   // what the value is, for the usage line: DIR, SECONDS, ...
	Doc         string   // one sentence
}

// Table lists every setting in the order of the documentation.
var Table = []Setting{
	{Key: "enable", Kind: Choice, Preset: "on", Choices: []string{"off", "on"},
		Doc: "measure at all; off leaves the program alone"},
	{Key: "out", Kind: Text, Value: "DIR",
		Doc: "run directory to create (default: marple-<program>-<job or pid> here)"},
	{Key: "report", Kind: Choice, Preset: "stderr", Choices: []string{"stderr", "stdout", "none"},
		Doc: "where rank 0 prints the report when the program ends"},
	{Key: "full", Kind: Choice, Preset: "off", Choices: []string{"off", "on"},
		Doc: "print the whole report, with its tables, when the program ends"},
	{Key: "site", Kind: Number, Preset: "0", Least: 0, Most: 1 << 20, Value: "N",
		Doc: "measure one job in N for the site: no report and no run directory, but a summary in the spool directory; 0: measure for the user"},
	{Key: "spool", Kind: Text, Value: "DIR",
		Doc: "spool directory that takes the site's summaries, for marple db ingest"},
	{Key: "callpath", Kind: Number, Preset: "32", Least: 0, Most: 128, Choices: []string{"off", "site"}, Value: "N",
		Doc: "tell MPI calls apart by the innermost N functions on the stack, by call site (site), or by region only (off)"},
	{Key: "sample", Kind: Number, Preset: "0", Least: 0, Most: 10000, Value: "HZ",
		Doc: "times a second of computing at which to look where each thread is, to tell what it computes between MPI calls; 0: never"},
	{Key: "invocations", Kind: Number, Preset: "1024", Least: 0, Most: 1 << 20, Value: "MIB",
		Doc: "most records of component invocations kept on disk per thread; beyond, they are counted only"},
	{Key: "skip", Kind: Text, Value: "LIST",
		Doc: "components and methods whose invocations are not recorded: States,Flux.compute"},
	{Key: "counters", Kind: Text, Value: "LIST",
		Doc: "what to count in regions and invocations, by PAPI's names, at most 8: PAPI_TOT_INS,perf::PAGE-FAULTS"},
	{Key: "adapters", Kind: Text, Preset: "all", Value: "LIST",
		Doc: "interfaces of libraries and runtimes to listen to: all, none, or some of kokkos,likwid,nvtx,ompt,perfstubs,petsc"},
	{Key: "io", Kind: Choice, Preset: "off", Choices: []string{"off", "on"},
		Doc: "count what is done with each file, by standing before the C library's functions for files"},
	{Key: "papi", Kind: Text, Value: "FILE",
		Doc: "PAPI library to count with (default: the system's libpapi.so, if it is installed)"},
	{Key: "clock", Kind: Choice, Preset: "auto", Choices: []string{"auto", "tsc", "monotonic", "external"},
		Doc: "clock to time with; external is a simulated MPI's own, which auto takes where there is one"},
	{Key: "spill", Kind: Number, Preset: "256", Least: 0, Most: 1 << 20, Value: "MIB",
		Doc: "most raw records kept on disk per thread while the analysis core cannot be opened"},
	{Key: "log", Kind: Number, Preset: "8", Least: 0, Most: 4096, Value: "MIB",
		Doc: "most room per rank for the log of events that wait states are found in, about 6 bytes an event; 0: none"},
	{Key: "trace", Kind: Number, Preset: "0", Least: 0, Most: 1 << 20, Value: "MIB",
		Doc: "keep every event in the run directory, in up to so much room per rank, for marple timeline; 0: no trace"},
	{Key: "replay", Kind: Choice, Preset: "auto", Choices: []string{"alone", "together", "auto"},
		Doc: "who replays the run under scenarios when the program ends: rank 0 alone, all ranks together, or all where rank 0 has no room for it and they are quick"},
	{Key: "deadline", Kind: Number, Preset: "60", Least: 1, Most: 86400, Value: "SECONDS",
		Doc: "longest wait for another rank's part of the report"},
	{Key: "keep-raw", Kind: Choice, Preset: "off", Choices: []string{"off", "on"},
		Doc: "keep the ranks' raw record files in the run directory"},
	{Key: "families", Kind: Text, Value: "FILE",
		Doc: "families of implementations to choose from when the program ends (see marple select --help)"},
	{Key: "knowledge", Kind: Text, Value: "DIR",
		Doc: "directory with models of your own, by which runs are recognized and diagnosed as by the built-in ones"},
	{Key: "params", Kind: Pairs, Value: "NAME=NUMBER,...",
		Doc: "parameters of this run, such as the size of the problem, for marple fit"},
	{Key: "machine", Kind: Text, Value: "FILE",
		Doc: "what marple doctor --machine has measured of this machine, to be kept with the run for marple fit"},
	{Key: "core", Kind: Text, Value: "FILE",
		Doc: "analysis core to open (default: beside libmarple.so, libmarple-core.so in rank 0 and libmarple-ranks.so in others)"},
}

// Lookup finds a setting by key.
func Lookup(key string) (Setting, bool) {
	for _, s := range Table {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

// Variable is the environment variable of a setting.
func (s Setting) Variable() string {
	return "MARPLE_" + strings.ToUpper(s.Field())
}

// Field is the setting's name in C.
func (s Setting) Field() string { return strings.ReplaceAll(s.Key, "-", "_") }

// Expected says in words which values are good.
func (s Setting) Expected() string {
	switch s.Kind {
	case Number:
		least := s.Least + int64(len(s.Choices))
		return strings.Join(append(slices.Clone(s.Choices), fmt.Sprintf("a whole number from %d to %d", least, s.Most)), ", ")
	case Choice:
		return "one of " + strings.Join(s.Choices, ", ")
	case Pairs:
		return fmt.Sprintf("up to %d of name=number, separated by commas", MaxPairs)
	}
	return "a text"
}

// Check returns an error naming what was expected when value is not one the setting can have.
func (s Setting) Check(value string) error {
	switch s.Kind {
	case Number:
		n, err := strconv.ParseInt(value, 10, 64)
		if !slices.Contains(s.Choices, value) && (err != nil || n < s.Least || n > s.Most) {
			return fmt.Errorf("%s: %q: expected %s", s.Key, value, s.Expected())
		}
	case Choice:
		for _, c := range s.Choices {
			if c == value {
				return nil
			}
		}
		return fmt.Errorf("%s: %q: expected %s", s.Key, value, s.Expected())
	case Pairs:
		if _, err := ParsePairs(value); err != nil {
			return fmt.Errorf("%s: %w", s.Key, err)
		}
	case Text:
		if strings.ContainsRune(value, 0) || len(value) > 1000 {
			return fmt.Errorf("%s: expected a text of at most 1000 bytes", s.Key)
		}
	}
	return nil
}

// MaxPairs is how many pairs a setting of that kind may have.
const MaxPairs = 16

// ParsePairs reads name=number, separated by commas. Names are words of at most 64 bytes; numbers are finite.
func ParsePairs(value string) (map[string]float64, error) {
	if strings.TrimSpace(value) == "" {
		return nil, nil
	}
	pairs := map[string]float64{}
	if len(value) > 1000 {
		return nil, fmt.Errorf("expected a text of at most 1000 bytes")
	}
	for _, pair := range strings.Split(value, ",") {
		name, number, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		switch _, twice := pairs[name]; {
		case !ok || name == "" || len(name) > 64 || strings.ContainsFunc(name, isNoName) || err != nil || math.IsNaN(v) || math.IsInf(v, 0):
			return nil, fmt.Errorf("%q: expected name=number", pair)
		case twice:
			return nil, fmt.Errorf("%q: %s has a value already", pair, name)
		case len(pairs) == MaxPairs:
			return nil, fmt.Errorf("expected at most %d parameters", MaxPairs)
		}
		pairs[name] = v
	}
	return pairs, nil
}

func isNoName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' && r != '-'
}
