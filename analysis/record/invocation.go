package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"
)

// Invocation is one of a component's method, as a thread has recorded it. Times are ticks; those that Marple
// itself spent, and those without a core, are in none but Start.
type Invocation struct {
	Path    uint32 // node
	Start   uint64
	Wall    uint64
	MPI     uint64 // within Wall: in MPI calls
	Overlap uint64 // within Wall, outside MPI: while operations of the thread were in flight
	OffCore uint64 // beside Wall: ready to run, without a core
	Values  []Value
}

// Value is a parameter of an invocation, a quality of its result, or a counter.
type Value struct {
	Name    uint32 // string; of a counter its index
	Real    bool
	Quality bool
	Counter bool
	Bits    uint64
}

// Float is the value as a real number.
func (v Value) Float() float64 {
	if v.Real {
		return math.Float64frombits(v.Bits)
	}
	return float64(int64(v.Bits))
}

// flags of one of a record's values, the first or the second.
func (v Value) flags(second bool) (f uint8) {
	if v.Real {
		f |= flagReal
	}
	if v.Quality {
		f |= flagQuality
	}
	if second {
		f <<= flagsOfValue
	}
	return f
}

// A file of invocations is a sequence of batches: the number of bytes that follow, in four bytes, and the records,
// each of which is
//
//	kind and flags    4 bits each
//	kindLeaf          path, end - end before, wall, name, and the value if there is a name
//	kindExit          path, end - end before, wall, mpi, overlap, own
//	kindValues        twice: name, and the value if there is a name
//	kindCounts        index of the first of three counters, and each counter's value + 1, or 0 if it has none
//	kindWide          wall, mpi, overlap of the kindExit that follows
//	kindInside        time without a core in the kindExit that follows
//
// Numbers are varints, signed ones for the difference and integer values; real values are eight bytes.

// packed has room for a batch: a record takes 54 bytes at most. What is written there goes through these
// functions by value, because all of it is then done in registers.
type packed [packedSize]byte

const (
	packedSize = records * 64
	packedHead = 4
)

func (p *packed) byte(at uint, x byte) uint {
	p[at&(packedSize-1)] = x
	return at + 1
}

func (p *packed) number(at uint, x uint64) uint {
	for ; x >= 0x80; x >>= 7 {
		at = p.byte(at, byte(x)|0x80)
	}
	return p.byte(at, byte(x))
}

// folded makes a number without sign of one with, small ones of small ones.
func folded(x int64) uint64 { return uint64(x)<<1 ^ uint64(x>>63) }

func (p *packed) value(at uint, name uint32, bits uint64, flags uint8) uint {
	at = p.number(at, uint64(name))
	switch {
	case name == 0:
		return at
	case flags&flagReal == 0:
		return p.number(at, folded(int64(bits)))
	}
	for range 8 {
		at = p.byte(at, byte(bits))
		bits >>= 8
	}
	return at
}

// batch packs those records of a ring that tell of invocations.
func (p *packed) batch(ring *[records]record, from, to uint64) []byte {
	at, last := uint(packedHead), uint64(0)
	var wide *record
	off := uint64(0)
	for ; from < to; from++ {
		r := &ring[from&(records-1)]
		kind, flags := r.what.kind(), r.what.flags()
		if kind == kindLeaf && flags&flagPlain == 0 {
			at = p.byte(at, kindLeaf<<4|flags&15)
			at = p.number(at, uint64(r.what.path()))
			at = p.number(at, folded(int64(r.start-last)))
			at = p.number(at, uint64(r.duration))
			at = p.value(at, r.bytes, r.third(), flags)
			last = r.start
			continue
		}
		switch kind {
		case kindCounts:
			if flags&flagInvocation != 0 {
				at = p.byte(at, kindCounts<<4)
				at = p.number(at, uint64(r.what.comm()))
				for _, x := range [3]uint64{r.start, r.second(), r.third()} {
					at = p.number(at, x+1)
				}
			}
		case kindValues:
			names := r.third()
			at = p.byte(at, kindValues<<4|flags&15)
			at = p.value(at, uint32(names), r.start, flags)
			at = p.value(at, uint32(names>>32), r.second(), flags>>flagsOfValue)
		case kindInside:
			off = 0
			if flags&flagInvocation != 0 {
				off = r.start
			}
			continue // a kindWide may stand before it
		case kindExit:
			if flags&flagInvocation == 0 {
				break
			}
			if off != 0 {
				at = p.byte(at, kindInside<<4)
				at = p.number(at, off)
			}
			if wide != nil {
				at = p.byte(at, kindWide<<4)
				for _, x := range [3]uint64{wide.start, wide.second(), wide.third()} {
					at = p.number(at, x)
				}
			}
			at = p.byte(at, kindExit<<4)
			at = p.number(at, uint64(r.what.path()))
			at = p.number(at, folded(int64(r.start-last)))
			for _, x := range [4]uint32{r.duration, r.bytes, uint32(r.peer), uint32(r.tag)} {
				at = p.number(at, uint64(x))
			}
			last = r.start
		}
		if wide, off = nil, 0; kind == kindWide {
			wide = r
		}
	}
	binary.LittleEndian.PutUint32(p[:], uint32(at-packedHead))
	return p[:at]
}

// ReadInvocations visits what a thread has kept, in the order in which the invocations ended. The invocation, and
// its values, are the visitor's until it returns. The error says where the file is damaged; what came before
// has been visited.
func ReadInvocations(file io.Reader, visit func(*Invocation) error) error {
	in := bufio.NewReaderSize(file, 1<<16)
	r := invocationReader{visit: visit}
	var body []byte
	for batch := 0; ; batch++ {
		var head [packedHead]byte
		_, err := io.ReadFull(in, head[:])
		if errors.Is(err, io.EOF) {
			return r.end()
		}
		length := binary.LittleEndian.Uint32(head[:])
		if err == nil && length > packedSize {
			err = errDamagedBatch
		}
		if err == nil {
			body = append(body[:0], make([]byte, length)...)
			_, err = io.ReadFull(in, body)
		}
		if err == nil {
			err = r.batch(body)
		}
		if err != nil {
			return errors.Join(r.end(), fmt.Errorf("batch %d: %w", batch, err))
		}
	}
}

var errDamagedBatch = errors.New("damaged")

// invocationReader holds the invocation whose values may still follow.
type invocationReader struct {
	visit func(*Invocation) error
	now   Invocation
	have  bool
	wide  [3]uint64
	off   uint64
	rest  []byte // of the batch
	bad   bool
}

func (r *invocationReader) end() error {
	if !r.have {
		return nil
	}
	r.have = false
	return r.visit(&r.now)
}

func (r *invocationReader) number() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

func (r *invocationReader) signed() int64 {
	x := r.number()
	return int64(x>>1) ^ -int64(x&1)
}

// value adds one to the invocation, if there is one.
func (r *invocationReader) value(flags uint8) {
	name, bits := uint32(r.number()), uint64(0)
	switch {
	case name == 0:
		return
	case flags&flagReal == 0:
		bits = uint64(r.signed())
	case len(r.rest) >= 8:
		bits, r.rest = binary.LittleEndian.Uint64(r.rest), r.rest[8:]
	default:
		r.bad = true
	}
	if r.have {
		r.now.Values = append(r.now.Values, Value{Name: name, Bits: bits, Real: flags&flagReal != 0, Quality: flags&flagQuality != 0})
	}
}

func (r *invocationReader) batch(body []byte) error {
	r.rest = body
	last := uint64(0)
	for len(r.rest) > 0 {
		kind, flags := r.rest[0]>>4, r.rest[0]&15
		r.rest = r.rest[1:]
		switch kind {
		case kindCounts:
			first := uint32(r.number())
			for i := range uint32(3) {
				if x := r.number(); x > 0 && r.have {
					r.now.Values = append(r.now.Values, Value{Name: first + i, Counter: true, Bits: x - 1})
				}
			}
			continue
		case kindValues:
			r.value(flags)
			r.value(flags >> flagsOfValue)
			continue
		case kindWide:
			r.wide = [3]uint64{r.number(), r.number(), r.number()}
			continue
		case kindInside:
			r.off = r.number()
			continue
		case kindLeaf, kindExit:
		default:
			return errDamagedBatch
		}
		if err := r.end(); err != nil {
			return err
		}
		r.now = Invocation{Path: uint32(r.number()), Values: r.now.Values[:0]}
		last += uint64(r.signed())
		i, own := &r.now, uint64(0)
		i.Wall = r.number()
		r.have = true
		if kind == kindLeaf {
			r.value(flags)
		} else {
			i.MPI, i.Overlap, own = r.number(), r.number(), r.number()
			if r.wide[0] != 0 {
				i.Wall, i.MPI, i.Overlap = r.wide[0], r.wide[1], r.wide[2]
			}
			i.OffCore = r.off
		}
		i.Start = last - min(last, i.Wall+own+i.OffCore)
		r.wide, r.off = [3]uint64{}, 0
	}
	if r.bad {
		r.have = false
		return errDamagedBatch
	}
	return nil
}

// Invoke records an invocation of a method, without anything inside of it, that ends at a tick. Counters come last
// among its values, those from 0 on.
func (t *ThreadWriter) Invoke(i Invocation) {
	end := i.Start + i.Wall + i.OffCore
	values, counts := i.Values, []Value(nil)
	if at := slices.IndexFunc(values, func(v Value) bool { return v.Counter }); at >= 0 {
		values, counts = values[:at], values[at:]
	}
	i.Values = values
	defer t.counts(i.Path, counts)
	if i.MPI|i.Overlap|i.OffCore == 0 && i.Wall>>32 == 0 {
		r := record{start: end, duration: uint32(i.Wall), what: makeWhat(i.Path, 0, kindLeaf, 0)}
		rest := i.Values
		if len(rest) > 0 {
			v := rest[0]
			r.bytes, r.what = v.Name, makeWhat(i.Path, 0, kindLeaf, v.flags(false))
			*(*uint64)(unsafe.Pointer(&r.peer)) = v.Bits
			rest = rest[1:]
		}
		t.put(r)
		t.values(i.Path, rest)
		return
	}
	t.Enter(i.Path, i.Start)
	t.Finish(end, i)
}

// Finish closes the innermost open region, a method, at a tick.
func (t *ThreadWriter) Finish(at uint64, i Invocation) {
	last := len(t.open) - 1
	own := at - t.open[last] - i.Wall - i.OffCore
	if i.Wall>>32 != 0 {
		t.put(wordsRecord(kindWide, i.Wall, i.MPI, i.Overlap))
	}
	if i.OffCore != 0 {
		r := wordsRecord(kindInside, i.OffCore, 0, 0)
		r.what = makeWhat(0, 0, kindInside, flagInvocation)
		t.put(r)
	}
	t.put(record{start: at, duration: uint32(i.Wall), bytes: uint32(i.MPI), peer: int32(i.Overlap), tag: int32(own),
		what: makeWhat(t.path[last+1], 0, kindExit, flagInvocation)})
	t.values(t.path[last+1], i.Values)
	t.path, t.open = t.path[:last+1], t.open[:last]
}

func (t *ThreadWriter) values(path uint32, values []Value) {
	for ; len(values) > 0; values = values[min(2, len(values)):] {
		flags, names, bits := values[0].flags(false), uint64(values[0].Name), uint64(0)
		if len(values) > 1 {
			flags, names, bits = flags|values[1].flags(true), names|uint64(values[1].Name)<<32, values[1].Bits
		}
		r := wordsRecord(kindValues, values[0].Bits, bits, names)
		r.what = makeWhat(path, 0, kindValues, flags)
		t.put(r)
	}
}

func (t *ThreadWriter) counts(path uint32, values []Value) {
	for first := 0; first < len(values); first += 3 {
		x := [3]uint64{notCounted, notCounted, notCounted}
		for i, v := range values[first:min(first+3, len(values))] {
			x[i] = v.Bits
		}
		r := wordsRecord(kindCounts, x[0], x[1], x[2])
		r.what = makeWhat(path, uint16(first), kindCounts, flagInvocation)
		t.put(r)
	}
}
