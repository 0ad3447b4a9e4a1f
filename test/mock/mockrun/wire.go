package main

import (
	"encoding/binary"
	"errors"
	"fmt"

	"marple/test/mock/world"
)

// This file is the protocol between a rank and the server; lib/wire.c is the
// other end. A frame is its length in 64 bits and that many bytes, all numbers
// in the machine's own order. A rank sends calls and gets one reply for each.

type call struct {
	world.Call
	abort bool
	code  int
}

const (
	opInit = iota
	opFinalize
	opAbort
	opSend
	opRecv
	opProbe
	opCollective
	opWait
	opCancel
	opFree
)

// takeFrame takes the first frame off what has come, if all of it is there.
func takeFrame(data []byte) (frame, rest []byte) {
	if len(data) < 8 {
		return nil, data
	}
	size := binary.NativeEndian.Uint64(data)
	if uint64(len(data)-8) < size {
		return nil, data
	}
	frame = append(make([]byte, 0, size), data[8:8+size]...)
	return frame, append(data[:0], data[8+size:]...)
}

// decoder reads fields off a frame; past the end they are zero and bad is set.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.bad, d.data = true, nil
		return nil
	}
	b := d.data[:n:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) u8() uint8 {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) i32() int {
	if b := d.bytes(4); b != nil {
		return int(int32(binary.NativeEndian.Uint32(b)))
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.NativeEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) flag() bool    { return d.u8() != 0 }
func (d *decoder) chunk() []byte { return d.bytes(d.u64()) }

// list reads a count and that many elements.
func list[T any](d *decoder, element func() T) []T {
	var l []T
	for n := d.u64(); n > 0 && !d.bad; n-- {
		l = append(l, element())
	}
	return l
}

func decodeCall(frame []byte) (*call, error) {
	d := &decoder{data: frame}
	c := &call{}
	c.ID = uint32(d.i32())
	c.Time = d.u64()
	c.Block = d.flag()
	c.Name = string(d.chunk())
	switch op := d.u8(); op {
	case opInit:
		c.Op = &world.Init{}
	case opFinalize:
		c.Op = &world.Finalize{}
	case opAbort:
		c.abort, c.code = true, d.i32()
	case opSend:
		c.Op = &world.Send{
			Mode: world.Mode(d.u8()), Dest: d.i32(), Tag: d.i32(), Context: d.u64(), Data: d.chunk(),
		}
	case opRecv:
		c.Op = &world.Recv{Source: d.i32(), Tag: d.i32(), Context: d.u64(), Message: d.u64()}
	case opProbe:
		c.Op = &world.Probe{Source: d.i32(), Tag: d.i32(), Context: d.u64(), Take: d.flag()}
	case opCollective:
		c.Op = &world.Collective{
			Context: d.u64(), Tag: int64(d.u64()), Members: list(d, d.i32), Shape: world.Shape(d.u8()),
			Root: d.i32(), Bytes: d.u64(), Free: d.flag(), Chunks: list(d, d.chunk),
		}
	case opWait:
		c.Op = &world.Wait{Need: world.Need(d.u8()), Peek: d.flag(), Requests: list(d, d.u64)}
	case opCancel:
		c.Op = &world.Cancel{Request: d.u64()}
	case opFree:
		c.Op = &world.Free{Request: d.u64()}
	default:
		return nil, fmt.Errorf("unknown operation %d in %s", op, c.Name)
	}
	if d.bad || len(d.data) > 0 {
		return nil, errors.New("malformed frame of " + c.Name)
	}
	return c, nil
}

func encodeReply(r world.Reply) []byte {
	order := binary.NativeEndian
	b := make([]byte, 8, 256)
	b = order.AppendUint32(b, r.ID)
	b = order.AppendUint64(b, r.Time)
	b = order.AppendUint64(b, r.Request)
	b = appendFlag(b, r.Flag)
	b = appendResults(b, r.Results)
	b = appendResults(b, r.Late)
	order.PutUint64(b, uint64(len(b)-8))
	return b
}

func appendFlag(b []byte, flag bool) []byte {
	if flag {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendResults(b []byte, results []world.Result) []byte {
	order := binary.NativeEndian
	b = order.AppendUint64(b, uint64(len(results)))
	for _, r := range results {
		b = order.AppendUint64(b, r.Key)
		b = order.AppendUint32(b, uint32(int32(r.Source)))
		b = order.AppendUint32(b, uint32(int32(r.Tag)))
		b = appendFlag(b, r.Cancelled)
		b = order.AppendUint64(b, r.Bytes)
		b = order.AppendUint64(b, r.Base)
		b = order.AppendUint64(b, uint64(len(r.Chunks)))
		for _, c := range r.Chunks {
			b = order.AppendUint64(b, uint64(len(c)))
			b = append(b, c...)
		}
	}
	return b
}
