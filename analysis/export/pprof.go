package export

import (
	"io"

	"github.com/google/pprof/profile"

	"marple/analysis/run"
)

// Pprof writes a profile for go tool pprof: time and calls by call path, with the rank as a label. Of a path
// with more ranks than are listed, the others are one sample without a label. Lines are those of the calls
// that lead on; time outside MPI is a function of its own, named after the calls around it.
func Pprof(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	b := &pprofBuilder{functions: map[[2]string]*profile.Function{}, locations: map[place]*profile.Location{}}
	b.p = &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "calls", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}, DefaultSampleType: "time",
		TimeNanos: r.Started.UnixNano(), DurationNanos: int64(r.WallNs), PeriodType: &profile.ValueType{Type: "time", Unit: "nanoseconds"}, Period: 1,
		Comments: []string{r.TimeBase()},
		Mapping:  []*profile.Mapping{{ID: 1, File: plain(r.Program), HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}},
	}
	list := totals(roots)
	walk(roots, func(f *frame) { b.samples(f, list[f.index]) })
	if err := b.p.CheckValid(); err != nil {
		return err
	}
	return b.p.Write(w)
}

// place is a function, and the line in it that a call stands in.
type place struct {
	function *profile.Function
	line     int
}

type pprofBuilder struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function
	locations map[place]*profile.Location
}

// samples adds those of a path, for which all ranks have spent v.
func (b *pprofBuilder) samples(f *frame, v values) {
	if v.exclusive == 0 && v.calls == 0 {
		return
	}
	var stack []*profile.Location
	at, line := f, 0
	if f.node.OwnCode() {
		at, line = f.parent, f.line
	}
	for ; at != nil; at, line = at.parent, at.line {
		stack = append(stack, b.location(at, line))
	}
	add := func(v values, rank int64) {
		if v.exclusive == 0 && v.calls == 0 {
			return
		}
		s := &profile.Sample{Location: stack, Value: []int64{int64(v.calls), int64(v.exclusive)}, Label: map[string][]string{"kind": {f.kind}}}
		if rank >= 0 {
			s.NumLabel, s.NumUnit = map[string][]int64{"rank": {rank}}, map[string][]string{"rank": {"rank"}} // a number 0 without a unit is none
		}
		b.p.Sample = append(b.p.Sample, s)
	}
	for _, t := range f.node.PerRank {
		one := values{exclusive: min(t.Exclusive, v.exclusive), calls: min(t.Calls, v.calls)}
		v.exclusive, v.calls = v.exclusive-one.exclusive, v.calls-one.calls
		add(one, int64(t.Rank))
	}
	add(v, -1)
}

func (b *pprofBuilder) location(f *frame, line int) *profile.Location {
	file := "" // that the function's code is in: where it calls others
	for _, c := range f.children {
		if file = c.file; file != "" {
			break
		}
	}
	function := b.functions[[2]string{f.name, file}]
	if function == nil {
		function = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.name, SystemName: f.name, Filename: file}
		b.functions[[2]string{f.name, file}] = function
		b.p.Function = append(b.p.Function, function)
	}
	l := b.locations[place{function, line}]
	if l == nil {
		l = &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Line: []profile.Line{{Function: function, Line: int64(line)}}}
		b.locations[place{function, line}] = l
		b.p.Location = append(b.p.Location, l)
	}
	return l
}
