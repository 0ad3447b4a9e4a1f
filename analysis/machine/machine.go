// Package machine is what models need to know of a machine: how fast its cores are, and its memory and messages at
// each distance. marple doctor --machine measures it once, into machine.json; runs carry it.
//
// It may use files; it holds no state.
//
// Invariant: what was not measured is not there, and NotMeasured says why; there are no values that nobody measured.
package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"marple/analysis/files"
)

// Schema is the number of the format.
const Schema = 1

// MaxSize bounds a machine.json.
const MaxSize = 1 << 20

// Machine is the content of machine.json, in SI units. What a core does is measured while all others do the same.
type Machine struct {
	Schema    int       `json:"schema"`
	Name      string    `json:"name"`      // by which machines are told apart; all nodes of a kind may have the same
	Processor string    `json:"processor"` // what it calls itself
	Measured  time.Time `json:"measured"`
	Cores     int       `json:"cores"` // that were busy
	Clock     float64   `json:"clock_hz"`
	Flops     float64   `json:"flops"` // double-precision operations a second, of one core
	Memory    []Level   `json:"memory"`
	Messages  *Messages `json:"messages,omitempty"`
	// NotMeasured says what is missing, and why.
	NotMeasured []Missing `json:"not_measured,omitempty"`
}

// Level is a cache, or main memory, as one core sees it.
type Level struct {
	Name      string  `json:"name"`            // l1, l2, … or memory
	Bytes     uint64  `json:"bytes,omitempty"` // of a cache
	Latency   float64 `json:"latency_s"`       // of a load whose address is known when the one before has come
	Bandwidth float64 `json:"bandwidth_bytes_per_s"`
}

// Messages are those of MPI between two neighbours.
type Messages struct {
	Latency   float64 `json:"latency_s"` // of 8 bytes
	Bandwidth float64 `json:"bandwidth_bytes_per_s"`
	Between   string  `json:"between"` // one host, or two hosts
	Ranks     int     `json:"ranks"`   // of which all pairs did the same
	Library   string  `json:"library"`
}

// Missing is something that was not measured.
type Missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Read reads a machine.json. Errors begin with file:line:column.
func Read(path string) (*Machine, error) {
	data, err := files.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	m := &Machine{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var head struct {
		Schema *int `json:"schema"`
	}
	if json.Unmarshal(data, &head) == nil {
		line, column := find(data, "schema", 0)
		switch {
		case head.Schema == nil:
			return nil, fmt.Errorf("%s:%d:%d: no machine: it has no schema number; marple doctor --machine writes one", path, line, column)
		case *head.Schema != Schema:
			return nil, fmt.Errorf("%s:%d:%d: %w", path, line, column, &files.Unfit{What: "a machine", Version: *head.Schema, Reads: Schema})
		}
	}
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s:%w", path, files.JSONError(data, d.InputOffset(), err))
	}
	if end := d.InputOffset(); len(bytes.TrimSpace(data[end:])) > 0 {
		return nil, fmt.Errorf("%s:%w", path, files.JSONError(data, end, errors.New("expected nothing behind the machine")))
	}
	if key, n, err := m.wrong(); err != nil {
		line, column := find(data, key, n)
		return nil, fmt.Errorf("%s:%d:%d: %s: %w", path, line, column, key, err)
	}
	return m, nil
}

// find tells where a key stands for the n-th time.
func find(data []byte, key string, n int) (line, column int) {
	at := 0
	for quoted := []byte(`"` + key + `"`); ; n-- {
		i := bytes.Index(data[at:], quoted)
		if i < 0 {
			return 1, 1
		}
		if at += i; n == 0 {
			break
		}
		at += len(quoted)
	}
	return bytes.Count(data[:at], []byte("\n")) + 1, at - bytes.LastIndexByte(data[:at], '\n')
}

// Check tells what is wrong with a machine that was read as part of something else.
func (m *Machine) Check() error {
	if m.Schema != Schema {
		return &files.Unfit{What: "a machine", Version: m.Schema, Reads: Schema}
	}
	if key, _, err := m.wrong(); err != nil {
		return fmt.Errorf("machine: %s: %w", key, err)
	}
	return nil
}

// MaxLevels bounds how many levels of memory there may be.
const MaxLevels = 16

// wrong names the key whose value cannot be, which of that name it is, and why.
func (m *Machine) wrong() (key string, n int, err error) {
	positive := func(k string, i int, v float64) {
		if err == nil && !(v > 0 && !math.IsInf(v, 0)) {
			key, n, err = k, i, fmt.Errorf("%v: expected a number above 0", v)
		}
	}
	if m.Name == "" || len(m.Name) > 256 || strings.ContainsFunc(m.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "name", 0, fmt.Errorf("%q: expected a name of up to 256 characters", m.Name)
	}
	positive("clock_hz", 0, m.Clock)
	positive("flops", 0, m.Flops)
	if err == nil && len(m.Memory) > MaxLevels {
		return "memory", 0, fmt.Errorf("%d levels: expected at most %d", len(m.Memory), MaxLevels)
	}
	for i, l := range m.Memory {
		same := func(o Level) bool { return o.Name == l.Name }
		level, ok := strings.CutPrefix(l.Name, "l")
		if err == nil && (l.Name != "memory" && !(ok && len(level) == 1 && level >= "1" && level <= "9") || slices.ContainsFunc(m.Memory[:i], same)) {
			// The machine's own name comes before.
			return "name", i + 1, fmt.Errorf("%q: expected l1, l2, … or memory, each once", l.Name)
		}
		positive("latency_s", i, l.Latency)
		positive("bandwidth_bytes_per_s", i, l.Bandwidth)
	}
	if m.Messages != nil {
		positive("latency_s", len(m.Memory), m.Messages.Latency)
		positive("bandwidth_bytes_per_s", len(m.Memory), m.Messages.Bandwidth)
	}
	return key, n, err
}

// Properties are what formulas may use, by name: clock, flops, latency_l1, bandwidth_l1, cache_l1, …, latency_memory,
// bandwidth_memory, message_latency, message_bandwidth.
func (m *Machine) Properties() map[string]float64 {
	p := map[string]float64{"clock": m.Clock, "flops": m.Flops}
	for _, l := range m.Memory {
		p["latency_"+l.Name], p["bandwidth_"+l.Name] = l.Latency, l.Bandwidth
		if l.Bytes > 0 {
			p["cache_"+l.Name] = float64(l.Bytes)
		}
	}
	if m.Messages != nil {
		p["message_latency"], p["message_bandwidth"] = m.Messages.Latency, m.Messages.Bandwidth
	}
	return p
}

// Rate tells whether times go by the inverse of a property; else they go by the property itself.
func Rate(property string) bool { return !strings.Contains(property, "latency") }

// Law tells whether times may go by a property at all: sizes say nothing of how long anything takes.
func Law(property string) bool { return !strings.HasPrefix(property, "cache_") }

// Encode gives the content of machine.json.
func (m *Machine) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", " ")
	return append(data, '\n'), err
}
