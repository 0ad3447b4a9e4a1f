// Package invocation keeps the records of component invocations one by one: how ranks leave them behind, the file
// invocations.parquet that they become, and the series that models are fitted to. It is the only place that knows
// the file's columns.
//
// It may use event, callgraph, left, run, series, words and parquet-go; it holds no state.
//
// Invariant: what is written and what is missing adds up to what has been invoked; a file of any content is read or
// refused.
package invocation

import "github.com/parquet-go/parquet-go"

// Columns that every file has, in this order. Times are seconds with a core; start counts from when all ranks had left
// MPI_Init. wall = mpi + compute, and off_core is the time beside it for which there was no core; overlap is the part of compute during which non-blocking operations of the
// thread were in flight. mpi is the time in MPI calls made inside the invocation, those of nested invocations
// included; exclusive is wall without the nested invocations.
const (
	component = iota
	method
	instance
	path
	rank
	thread
	start
	wall
	mpi
	compute
	overlap
	exclusive
	offCore
	fixed // number of them
)

var names = [fixed]string{"component", "method", "instance", "path", "rank", "thread", "start", "wall", "mpi", "compute", "overlap", "exclusive", "off_core"}

// Columns follow for what some methods have and others, whose rows are empty there, have not: parameters under
// their own names, qualities and counters under names with these prefixes. A parameter whose name would not be told
// from those of other columns has one too.
const (
	qualityPrefix   = "quality."
	counterPrefix   = "counter."
	parameterPrefix = "parameter."
)

// Kinds of columns.
var (
	textual  = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	ordinal  = parquet.Int(32)
	integral = parquet.Int(64)
	real     = parquet.Leaf(parquet.DoubleType)
)

// kinds of the columns that every file has.
var kinds = [fixed]parquet.Node{textual, textual, textual, textual, ordinal, ordinal, real, real, real, real, real, real, real}
