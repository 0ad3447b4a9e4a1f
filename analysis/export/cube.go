package export

import (
	"archive/tar"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"

	"marple/analysis/run"
)

// cubeMetrics are the metrics of a Cube file: exclusive values, a file of them per metric.
var cubeMetrics = []struct {
	display, name, kind, unit, text string
	bits                            func(v values) uint64
}{
	{"Time", "time", "DOUBLE", "sec", "Time in a call path itself", func(v values) uint64 { return math.Float64bits(seconds(v.exclusive)) }},
	{"Visits", "visits", "UINT64", "occ", "Calls, where they are counted", func(v values) uint64 { return v.calls }},
}

// Elements of anchor.xml.
type (
	cubeRegion struct {
		ID       int    `xml:"id,attr"`
		Module   string `xml:"mod,attr"`
		Begin    int    `xml:"begin,attr"`
		End      int    `xml:"end,attr"`
		Name     string `xml:"name"`
		Mangled  string `xml:"mangled_name"`
		Paradigm string `xml:"paradigm"`
		Role     string `xml:"role"`
		URL      string `xml:"url"`
		Text     string `xml:"descr"`
	}
	cubeNode struct {
		ID       int         `xml:"id,attr"`
		Callee   int         `xml:"calleeId,attr"`
		Line     int         `xml:"line,attr,omitempty"`
		File     string      `xml:"mod,attr,omitempty"`
		Children []*cubeNode `xml:"cnode"`
	}
	cubeMetric struct {
		ID      int    `xml:"id,attr"`
		Type    string `xml:"type,attr"`
		Display string `xml:"disp_name"`
		Name    string `xml:"uniq_name"`
		Kind    string `xml:"dtype"`
		Unit    string `xml:"uom"`
		Value   string `xml:"val"`
		URL     string `xml:"url"`
		Text    string `xml:"descr"`
	}
	cubeLocation struct {
		ID   int    `xml:"Id,attr"`
		Name string `xml:"name"`
		Rank int    `xml:"rank"`
		Type string `xml:"type"`
	}
	cubeProcess struct {
		cubeLocation
		Locations []cubeLocation `xml:"location"`
	}
	cubeMachine struct {
		ID        int            `xml:"Id,attr"`
		Name      string         `xml:"name"`
		Class     string         `xml:"class"`
		Text      string         `xml:"descr"`
		Nodes     []*cubeMachine `xml:"systemtreenode"`
		Processes []cubeProcess  `xml:"locationgroup"`
	}
	cubeAttribute struct {
		Key   string `xml:"key,attr"`
		Value string `xml:"value,attr"`
	}
	cubeAnchor struct {
		XMLName    xml.Name        `xml:"cube"`
		Version    string          `xml:"version,attr"`
		Attributes []cubeAttribute `xml:"attr"`
		Metrics    []cubeMetric    `xml:"metrics>metric"`
		Regions    []cubeRegion    `xml:"program>region"`
		Root       *cubeNode       `xml:"program>cnode"`
		System     cubeMachine     `xml:"system>systemtreenode"`
	}
)

// Cube writes a Cube4 file (.cubex), which Cube and Extra-P open: a tar of anchor.xml, and of an index and the data
// of each metric. The other threads are a branch of the first thread's root, because readers expect one root.
func Cube(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	a := &cubeAnchor{Version: "4.4", Attributes: []cubeAttribute{{"Creator", "Marple"}, {"Program", plain(r.Program)}, {"MPI", plain(r.MPI.Library)}, {"TimeBase", r.TimeBase()}}}
	for i, m := range cubeMetrics {
		a.Metrics = append(a.Metrics, cubeMetric{ID: i, Type: "EXCLUSIVE", Display: m.display, Name: m.name, Kind: m.kind, Unit: m.unit, Text: m.text})
	}
	a.program(roots)
	a.system(r)
	anchor, err := xml.MarshalIndent(a, "", " ")
	if err != nil {
		return err
	}
	out := tar.NewWriter(w)
	add := func(name string, data []byte) error {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: r.Started, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err := out.Write(data)
		return err
	}
	if err := add("anchor.xml", append([]byte(xml.Header), anchor...)); err != nil {
		return err
	}
	count := 0
	walk(roots, func(*frame) { count++ })
	index := []byte("CUBEX.INDEX\x01\x00\x00\x00\x00\x00\x01") // byte order, version, sparse
	index = binary.LittleEndian.AppendUint32(index, uint32(count))
	for i := range count {
		index = binary.LittleEndian.AppendUint32(index, uint32(i))
	}
	const head = "CUBEX.DATA"
	width := 8 * len(r.PerRank)
	data := make([][]byte, len(cubeMetrics))
	for m := range data {
		data[m] = append(make([]byte, 0, len(head)+count*width), head...)[:len(head)+count*width]
	}
	for at, b := range r.PerRank {
		for i, v := range byRank(r, roots, int32(b.Rank)) {
			for m := range cubeMetrics {
				binary.LittleEndian.PutUint64(data[m][len(head)+i*width+8*at:], cubeMetrics[m].bits(v))
			}
		}
	}
	for m := range data {
		if err := add(fmt.Sprintf("%d.index", m), index); err != nil {
			return err
		}
		if err := add(fmt.Sprintf("%d.data", m), data[m]); err != nil {
			return err
		}
	}
	return out.Close()
}

// program adds the regions and the call tree, whose nodes are numbered as frames are.
func (a *cubeAnchor) program(roots []*frame) {
	regions := map[[2]string]int{}
	nodes := map[*frame]*cubeNode{}
	walk(roots, func(f *frame) {
		key := [2]string{f.name, f.kind}
		id, known := regions[key]
		if !known {
			id = len(a.Regions)
			regions[key] = id
			paradigm, role := cubeRole(f)
			a.Regions = append(a.Regions, cubeRegion{ID: id, Begin: -1, End: -1, Name: f.name, Mangled: f.name, Paradigm: paradigm, Role: role})
		}
		n := &cubeNode{ID: f.index, Callee: id, Line: f.line, File: f.file}
		nodes[f] = n
		switch {
		case f.parent != nil:
			nodes[f.parent].Children = append(nodes[f.parent].Children, n)
		case a.Root == nil:
			a.Root = n
		default:
			a.Root.Children = append(a.Root.Children, n)
		}
	})
}

// cubeRole is what Score-P says of such regions.
func cubeRole(f *frame) (paradigm, role string) {
	switch f.kind {
	case "mpi":
		return "mpi", "function"
	case "region", "component", "phase":
		return "user", "region"
	}
	return "compiler", "function"
}

// system adds hosts, ranks, and a location per rank, in the order of the data.
func (a *cubeAnchor) system(r *run.Run) {
	a.System = cubeMachine{Name: "machine", Class: "machine"}
	hosts := map[string]*cubeMachine{}
	for i, b := range r.PerRank {
		h := hosts[b.Host]
		if h == nil {
			h = &cubeMachine{ID: len(hosts) + 1, Name: plain(b.Host), Class: "node"}
			hosts[b.Host] = h
			a.System.Nodes = append(a.System.Nodes, h)
		}
		h.Processes = append(h.Processes, cubeProcess{cubeLocation{i, fmt.Sprintf("MPI Rank %d", b.Rank), b.Rank, "process"},
			[]cubeLocation{{i, "Master thread", 0, "thread"}}})
	}
}
