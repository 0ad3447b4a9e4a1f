// Package mpi is what analysis knows of MPI's functions: their classes, whom they wait for, and what other tools call them.
//
// The table is generated from pmpi/functions.txt, of which the wrappers are made too. It uses record only.
package mpi

import (
	"strings"
	"sync"

	"marple/analysis/record"
)

//go:generate go run ../../pmpi/gen ../../pmpi/functions.txt table.go

// Waits says whom a blocking call waits for.
type Waits uint8

// What a call may wait for.
const (
	Unknown  Waits = iota
	Receiver       // of the message that it sends
	Sender         // of the message that it receives
	Both           // sends and receives
	Members        // all members of the communicator
	Root           // members wait for the root, which waits for nobody
	Others         // the root waits for the others, who wait for nobody
	Lower          // ranks wait for all lower ones
)

// Class is what the calls of an operation class have in common.
type Class struct {
	Waits   Waits
	Pattern string // the wait state that this is (waitstate.Pattern); empty if it depends on more than the call
}

// Function is one of MPI's functions, in one of its forms.
type Function struct {
	Name  string
	Op    record.Op
	Flags record.OpFlags
	Class
	Matched bool   // it looks for a message by MPI_Mprobe's rules, or receives one that was found by them
	TAU     string // what TAU calls the bytes that it moves ("Message size for ..."); empty if nothing
	otf2    uint8  // number in OTF2 + 1
}

// OTF2 is the number of a collective operation in that format (OTF2_CollectiveOp), if it has one.
func (f *Function) OTF2() (number int64, ok bool) { return int64(f.otf2) - 1, f.otf2 > 0 }

// OfOTF2 is a function that makes the collective operation of this number in that format.
func OfOTF2(number int64) *Function {
	for i := range functions {
		if f := &functions[i]; int64(f.otf2)-1 == number && f.otf2 > 0 && f.Flags == 0 {
			return f
		}
	}
	return &Function{Op: record.OpNToN, Class: classes[record.OpNToN]}
}

var index = sync.OnceValue(func() map[string]*Function {
	m := make(map[string]*Function, len(functions))
	for i := range functions {
		m[strings.ToLower(functions[i].Name)] = &functions[i]
	}
	return m
})

// Of finds a function by its name, whose case does not matter (Fortran's names have one only). It is nil for other names.
func Of(name string) *Function {
	if f := spelled()[name]; f != nil {
		return f
	}
	return index()[strings.ToLower(name)]
}

// spelled are the functions by their names in C, as most programs call them.
var spelled = sync.OnceValue(func() map[string]*Function {
	m := make(map[string]*Function, len(functions))
	for i := range functions {
		m[functions[i].Name] = &functions[i]
	}
	return m
})

// Known is Of; what is known of functions that are not in the table is what their class says.
func Known(name string, op record.Op, flags record.OpFlags) *Function {
	if f := Of(name); f != nil {
		return f
	}
	return &Function{Name: name, Op: op, Flags: flags, Class: classes[op%record.OpCount]}
}

// Nonblocking is the form of a blocking function that starts the same and does not wait for it; nil if there is none.
func (f *Function) Nonblocking() *Function {
	name, of := strings.CutPrefix(f.Name, "MPI_")
	if !of || f.Flags != 0 {
		return nil
	}
	if g := Of("MPI_I" + name); g != nil && g.Op == f.Op && g.Flags == record.Nonblocking {
		return g
	}
	return nil
}

// Posts tells whether a call posts a receive of a message that need not have come.
func (f *Function) Posts() bool {
	return (f.Op == record.OpRecv || f.Op == record.OpSendrecv) && !f.Matched && f.Flags&record.Persistent == 0
}

// All are the functions by their names.
func All() []Function { return functions }
