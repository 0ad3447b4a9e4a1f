package export

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"marple/analysis/mpi"
	otf2trace "marple/analysis/otf2"
	"marple/analysis/record"
	"marple/analysis/run"
	"marple/analysis/trace"
)

// writeOTF2 writes the events that a run has kept into an OTF2 archive.
func writeOTF2(r *run.Run, from, to string) error {
	program, err := otf2trace.Find()
	if err != nil {
		return err
	}
	if filepath.Base(from) == run.File {
		from = filepath.Dir(from)
	}
	var complaint strings.Builder
	command := exec.Command(program, to)
	command.Stderr = &complaint
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	if err := tellOTF2(in, r, from); err != nil && !errors.Is(err, syscall.EPIPE) { // of which the program says why
		in.Close()
		command.Wait()
		return err
	}
	told := in.Close()
	err = command.Wait()
	if text := strings.TrimSpace(complaint.String()); err != nil && text != "" {
		return errors.New(text)
	}
	return cmp.Or(err, told)
}

// tellOTF2 tells the writer what to write; see the first comment of cmd/otf2.
func tellOTF2(in io.Writer, r *run.Run, from string) error {
	o := &otf2{w: bufio.NewWriterSize(in, 1<<16), r: r, strings: map[string]int{}, regions: map[otf2Region]int{}, comms: map[string]*otf2Comm{}}
	return errors.Join(o.write(from), o.w.Flush())
}

// otf2 is what has been told so far, by its numbers.
type otf2 struct {
	w       *bufio.Writer
	r       *run.Run
	strings map[string]int
	regions map[otf2Region]int
	known   []otf2Region
	comms   map[string]*otf2Comm
	paths   map[string]*frame
	listed  []*otf2Comm
	threads []otf2Thread
	end     int64
}

type otf2Region struct {
	name string
	kind int64 // what cmd/otf2 knows it by
}

// bytesSent is the one metric: of messages, since the beginning of the location.
const bytesSent = 0

const (
	userRegion int64 = iota
	mpiFunction
	function
)

type otf2Comm struct {
	number  int
	name    string
	members []record.Run
	size    uint32
}

type otf2Thread struct{ rank, thread int }

// location numbers a thread: ranks' first threads are their ranks in the world.
func (t otf2Thread) location(ranks int) int { return t.thread*ranks + t.rank }

func (o *otf2) write(directory string) error {
	list, err := trace.Ranks(directory)
	if err != nil {
		return err
	}
	if o.paths, err = paths(o.r); err != nil {
		return err
	}
	for _, k := range list {
		for t, err := range k.Threads() {
			if err == nil && int(t.Header().Rank) >= o.r.Ranks {
				err = fmt.Errorf("rank %d of a run with %d", t.Header().Rank, o.r.Ranks)
			}
			if err == nil {
				err = o.events(t)
			}
			if err != nil {
				return err
			}
		}
	}
	return o.definitions()
}

// line writes numbers behind a letter.
func (o *otf2) line(kind byte, numbers ...int64) {
	o.w.WriteByte(kind)
	for _, x := range numbers {
		fmt.Fprintf(o.w, " %d", uint64(x))
	}
	o.w.WriteByte('\n')
}

func (o *otf2) region(name string, kind int64) int64 {
	key := otf2Region{name, kind}
	n, ok := o.regions[key]
	if !ok {
		n = len(o.regions)
		o.regions[key] = n
		o.known = append(o.known, key)
	}
	return int64(n)
}

// comm is the number of a communicator with members that are known, or nil.
func (o *otf2) comm(p *record.Process, raw uint16) *otf2Comm {
	comms := p.Comms()
	if raw == 0 || int(raw) >= len(comms) {
		return nil
	}
	c := &comms[raw]
	if c.Flags&record.CommInter != 0 || c.Flags&record.CommMembers == 0 {
		return nil
	}
	key := fmt.Sprint(c.ID, p.Members(c)) // all ranks have a communicator of themselves, and no two the same
	known := o.comms[key]
	if known == nil {
		known = &otf2Comm{number: len(o.comms), name: p.String(c.Name), members: slices.Clone(p.Members(c)), size: c.Size}
		o.comms[key], o.listed = known, append(o.listed, known)
	}
	return known
}

const undefined = 1<<32 - 1

// otf2Call is a call that is being written: what completes in it comes before its end.
type otf2Call struct {
	open       bool
	end        int64
	region     int64
	collective []int64 // arguments of its end, but for the time
}

// carries tells whether an event sends a message, and whether it has received one.
func carries(e *trace.Event) (sent, received bool) {
	switch e.Kind {
	case record.LogCall:
		if !e.Failed() && e.Node.Flags&record.Persistent == 0 {
			return e.Node.Op.Sends(), e.Node.Op == record.OpRecv && (!e.Started() || e.Finished())
		}
	case record.LogReceived:
		return false, true
	case record.LogPosted:
		return !e.Brings() && !e.Collective(), false
	case record.LogCompleted:
		return false, e.Brings() && !e.Cancelled()
	}
	return false, false
}

// begins tells whether an event starts a message that is complete later, to be sent or received.
func begins(e *trace.Event) (send, receive bool) {
	switch e.Kind {
	case record.LogCall:
		if e.Started() && !e.Finished() && !e.Failed() && e.Node.Flags&record.Persistent == 0 {
			return e.Node.Op.Sends() && e.Node.Op != record.OpSendrecv, e.Node.Op == record.OpRecv
		}
	case record.LogPosted:
		return !e.Brings() && !e.Collective(), e.Brings()
	}
	return false, false
}

// events writes those of a thread.
func (o *otf2) events(t *trace.Thread) error {
	place := otf2Thread{int(t.Header().Rank), t.Number}
	o.threads = append(o.threads, place)
	o.line('l', int64(place.location(o.r.Ranks)))
	last := int64(0)
	at := func(time int64) int64 {
		last = max(last, time)
		return last
	}
	var call otf2Call
	var sent uint64
	in := insideOf(t, o.paths)
	region := func(v visit) int64 {
		if v.region {
			return o.region(v.name, userRegion)
		}
		return o.region(v.name, function)
	}
	in.entered = func(v visit) { o.line('E', at(v.begin), region(v)) }
	in.left = func(v visit, end int64) { o.line('L', at(end), region(v)) }
	known := map[uint16]*otf2Comm{}
	comm := func(raw uint16) *otf2Comm {
		c, ok := known[raw]
		if !ok {
			c = o.comm(t.Process, raw)
			known[raw] = c
		}
		return c
	}
	message := func(kind byte, time int64, e *trace.Event, request ...int64) bool {
		c := comm(e.Comm)
		told := c != nil && e.Peer >= 0 && uint32(e.Peer) < c.size && e.Tag >= 0
		if told {
			o.line(kind, append([]int64{time, int64(e.Peer), int64(c.number), int64(e.Tag), int64(e.Bytes)}, request...)...)
			if kind == 'S' || kind == 'I' {
				sent += e.Bytes
				o.line('V', time, bytesSent, int64(sent))
			}
		}
		return told
	}
	started, pending := uint32(0), map[uint32]bool{} // operations of this thread, and those of which the beginning is told
	finish := func() {
		if !call.open {
			return
		}
		last = max(last, call.end)
		if call.collective != nil {
			o.line('D', append([]int64{last}, call.collective...)...)
		}
		o.line('L', last, call.region)
		call = otf2Call{}
	}
	for e, err := range t.Events() {
		if err != nil {
			return err
		}
		switch e.Kind {
		case record.LogCall, record.LogEnter, record.LogExit, record.LogBegin:
			finish()
		}
		switch e.Kind {
		case record.LogEnter:
			in.region(e, e.Begin)
		case record.LogExit:
			in.end(e.Begin)
		case record.LogCall:
			in.reach(e.Path, e.Begin)
			in.last = e.End
			start := at(e.Begin)
			call = otf2Call{open: true, end: e.End, region: o.region(plain(e.Name), mpiFunction)}
			o.line('E', start, call.region)
			operation, listed := mpi.Known(e.Name, e.Node.Op, e.Node.Flags).OTF2()
			if c := comm(e.Comm); e.Collective() && listed && c != nil && !e.Started() && !e.Failed() && e.Node.Flags&record.Persistent == 0 {
				root := int64(undefined)
				if (e.Node.Op == record.OpOneToN || e.Node.Op == record.OpNToOne) && e.Peer >= 0 {
					root = int64(e.Peer)
				}
				o.line('C', start)
				call.collective = []int64{operation, int64(c.number), root, int64(e.Bytes), int64(max(e.Tag, 0))}
			}
		}
		sends, received := carries(e)
		number := e.Number
		switch {
		case e.Kind == record.LogCall && e.Started():
			number = started
			started++
		case e.Kind == record.LogPosted:
			started = max(started, number+1)
		}
		send, receive := begins(e)
		switch {
		case send:
			pending[number] = message('I', last, e, int64(number))
		case receive && e.Peer != record.ProcNull:
			o.line('P', last, int64(number))
			pending[number] = true
		case e.Kind == record.LogCompleted && e.Thread == uint32(t.Number) && pending[number]:
			delete(pending, number)
			last = max(last, call.end)
			switch {
			case e.Cancelled():
				o.line('X', last, int64(number))
			case received:
				message('Q', last, e, int64(number))
			default:
				o.line('J', last, int64(number))
			}
		case sends:
			message('S', last, e)
		case received:
			last = max(last, call.end)
			message('R', last, e)
		}
	}
	finish()
	in.leave(0, last)
	o.end = max(o.end, last)
	return nil
}

// text numbers a text, and writes it if it is new.
func (o *otf2) text(s string) int64 {
	n, ok := o.strings[s]
	if !ok {
		n = len(o.strings)
		o.strings[s] = n
		clean := strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
		fmt.Fprintf(o.w, "s %d %d:%s\n", n, len(clean), clean)
	}
	return int64(n)
}

func (o *otf2) definitions() error {
	about := plain(o.r.TimeBase())
	fmt.Fprintf(o.w, "d %d:%s\n", len(about), about)
	o.line('t', 1e9, 0, o.end+1, o.r.Started.UnixNano())
	o.text("") // number 0: no text
	machine, node := o.text("machine"), o.text("node")
	o.line('n', 0, machine, machine, undefined)
	hosts := map[string]int64{}
	for _, h := range o.r.Hosts {
		hosts[h.Name] = int64(len(hosts) + 1)
		name := o.text(h.Name)
		o.line('n', hosts[h.Name], name, node, 0)
	}
	for _, b := range o.r.PerRank {
		name := o.text(fmt.Sprintf("MPI Rank %d", b.Rank))
		o.line('g', int64(b.Rank), name, hosts[b.Host])
	}
	slices.SortFunc(o.threads, func(a, b otf2Thread) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.thread, b.thread)) })
	for _, t := range o.threads {
		label := "Master thread"
		if t.thread > 0 {
			label = fmt.Sprintf("Thread %d", t.thread)
		}
		name := o.text(label)
		o.line('o', int64(t.location(o.r.Ranks)), name, int64(t.rank))
	}
	for i, r := range o.known {
		o.line('r', int64(i), o.text(r.name), r.kind)
	}
	bytes := o.text("bytes")
	o.line('m', bytesSent, o.text("bytes sent"), bytes)
	// Communicators are groups of places in the list of all ranks' locations.
	world := []int64{0, 0, 1, int64(o.r.Ranks)}
	for rank := range o.r.Ranks {
		world = append(world, int64(rank))
	}
	o.line('p', world...)
	for _, c := range o.listed {
		group := []int64{int64(c.number + 1), 0, 0, 0}
		for _, run := range c.members {
			for i := range run.Count {
				member := int64(run.First) + int64(run.Stride)*int64(i)
				if member < 0 || member >= int64(o.r.Ranks) || len(group)-4 >= o.r.Ranks {
					return fmt.Errorf("communicator %q: a member that is no rank", c.name)
				}
				group = append(group, member)
			}
		}
		group[3] = int64(len(group) - 4)
		o.line('p', group...)
		name := o.text(c.name)
		o.line('c', int64(c.number), name, group[0])
	}
	o.w.WriteString(".\n")
	return nil
}
