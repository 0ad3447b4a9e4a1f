package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/goccy/go-json"

	"marple/analysis/run"
	"marple/analysis/stat"
)

// Speedscope writes the format of speedscope.app: a profile per rank, or, beyond 64 ranks, one of all together.
func Speedscope(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	type speedFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	type profile struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Unit    string   `json:"unit"`
		Start   uint64   `json:"startValue"`
		End     uint64   `json:"endValue"`
		Samples [][]int  `json:"samples"`
		Weights []uint64 `json:"weights"`
	}
	index := map[speedFrame]int{}
	known := []speedFrame{}
	of := map[*frame]int{}
	walk(roots, func(f *frame) {
		x := speedFrame{f.name, f.file, f.line}
		at, ok := index[x]
		if !ok {
			at = len(known)
			index[x] = at
			known = append(known, x)
		}
		of[f] = at
	})
	profiles := []profile{}
	add := func(name string, list []values) {
		p := profile{Type: "sampled", Name: name, Unit: "nanoseconds", Samples: [][]int{}, Weights: []uint64{}}
		var stack []int
		var visit func(f *frame)
		visit = func(f *frame) {
			stack = append(stack, of[f])
			if x := list[f.index].exclusive; x > 0 {
				p.Samples, p.Weights = append(p.Samples, append([]int{}, stack...)), append(p.Weights, x)
				p.End += x
			}
			for _, c := range f.children {
				visit(c)
			}
			stack = stack[:len(stack)-1]
		}
		for _, root := range roots {
			visit(root)
		}
		profiles = append(profiles, p)
	}
	if len(r.PerRank) > stat.AllRanks {
		add(fmt.Sprintf("%s, all %d ranks", plain(r.Program), len(r.PerRank)), totals(roots))
	} else {
		for _, b := range r.PerRank {
			add(fmt.Sprintf("%s, rank %d", plain(r.Program), b.Rank), byRank(r, roots, int32(b.Rank)))
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"$schema": "https://www.speedscope.app/file-format-schema.json", "name": plain(r.Program), "exporter": "marple; " + r.TimeBase(), "activeProfileIndex": 0,
		"shared": map[string]any{"frames": known}, "profiles": profiles})
}

// Hatchet writes the literal that hatchet's GraphFrame.from_literal takes. Times are seconds of all ranks.
func Hatchet(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	type node struct {
		Frame    map[string]string  `json:"frame"`
		Metrics  map[string]float64 `json:"metrics"`
		Children []*node            `json:"children"`
	}
	all := totals(roots)
	var literal func(f *frame) *node
	literal = func(f *frame) *node {
		v := all[f.index]
		n := &node{Frame: map[string]string{"name": f.label(), "type": f.kind}, Children: []*node{},
			Metrics: map[string]float64{"time": seconds(v.exclusive), "time (inc)": seconds(v.inclusive), "calls": float64(v.calls)}}
		for _, c := range f.children {
			n.Children = append(n.Children, literal(c))
		}
		return n
	}
	var list []*node
	for _, root := range roots {
		list = append(list, literal(root))
	}
	return json.NewEncoder(w).Encode(list)
}

// Caliper writes the split JSON of cali-query, which hatchet and thicket read. Times are seconds.
func Caliper(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, `{"data":[`)
	first := true
	for _, b := range r.PerRank {
		for i, v := range byRank(r, roots, int32(b.Rank)) {
			if v == (values{}) {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			fmt.Fprintf(out, "\n[%d,%.9f,%.9f,%d,%d]", b.Rank, seconds(v.exclusive), seconds(v.inclusive), v.calls, i)
		}
	}
	out.WriteString("\n],\n" + `"columns":["mpi.rank","sum#time.duration","inclusive#sum#time.duration","calls","path"],` + "\n" +
		`"column_metadata":[{"is_value":true},{"is_value":true},{"is_value":true},{"is_value":true},{"is_value":false}],` + "\n" + `"nodes":[`)
	walk(roots, func(f *frame) {
		if err != nil {
			return
		}
		var label []byte
		if label, err = json.Marshal(f.label()); err != nil {
			return
		}
		if f.index > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n{\"label\":%s,\"column\":\"path\"", label)
		if f.parent != nil {
			fmt.Fprintf(out, ",\"parent\":%d", f.parent.index)
		}
		out.WriteByte('}')
	})
	if err != nil {
		return err
	}
	out.WriteString("\n]")
	for _, fact := range facts(r) {
		value, err := json.Marshal(fact.value)
		if err != nil {
			return err
		}
		name, err := json.Marshal(fact.name)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, ",\n%s:%s", name, value)
	}
	out.WriteString("}\n")
	return out.Flush()
}

// fact is something that one wants to know of a whole run when it is compared with others.
type fact struct {
	name  string
	value any
}

// facts are the run's parameters, size and efficiencies. A scaling study needs no more.
func facts(r *run.Run) []fact {
	e := r.Efficiency
	list := []fact{{"program", plain(r.Program)}, {"ranks", r.Ranks}, {"hosts", len(r.Hosts)}, {"started", r.Started.Format("2006-01-02T15:04:05Z07:00")},
		{"wall_seconds", seconds(r.WallNs)}, {"time_base", r.TimeBase()}, {"mpi_library", plain(r.MPI.Library)}}
	for _, x := range []struct {
		name  string
		value float64
		known bool
	}{{"parallel_efficiency", e.Parallel, true}, {"load_balance", e.LoadBalance, true}, {"communication_efficiency", e.Communication, e.Defined},
		{"serialization", e.Serialization, e.Transfer > 0}, {"transfer", e.Transfer, e.Transfer > 0}, {"core_availability", e.CoreAvailability, true}} {
		if x.known {
			list = append(list, fact{x.name, x.value})
		}
	}
	names := make([]string, 0, len(r.Parameters))
	for name := range r.Parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		list = append(list, fact{"parameter." + plain(name), r.Parameters[name]})
	}
	return list
}
