package callgraph

import (
	"cmp"

	"marple/analysis/stat"
)

// Merge gives the call graph of the ranks of both, which must be different ones. Of each node the ranks
// with the largest exclusive times are kept, at most `ranks` of them. Neither argument is changed, but the
// result shares their memory.
func Merge(a, b *Graph, ranks int) *Graph {
	return &Graph{
		Stuck: append(a.Stuck[:len(a.Stuck):len(a.Stuck)], b.Stuck...),
		Left:  append(a.Left[:len(a.Left):len(a.Left)], b.Left...),
		Nodes: stat.MergeSorted(a.Nodes, b.Nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) },
			func(x, y Node) Node { return mergeNodes(x, y, ranks) }),
		Modules: stat.MergeSorted(a.Modules, b.Modules, func(x, y Module) int { return cmp.Compare(x.Key, y.Key) },
			func(x, y Module) Module { return Module{x.Key, min(x.Path, y.Path), x.BuildID, x.Source} }),
	}
}

func mergeNodes(x, y Node, ranks int) Node {
	x.Calls = x.Calls.Merge(y.Calls)
	x.Exclusive = x.Exclusive.Merge(y.Exclusive)
	x.Inclusive = x.Inclusive.Merge(y.Inclusive)
	x.Ranks = stat.MergeTop(x.Ranks, y.Ranks, ranks)
	x.First += y.First
	x.Last += y.Last
	x.Out += y.Out
	x.In += y.In
	x.Done += y.Done
	x.Failed += y.Failed
	x.Polled += y.Polled
	x.Runnable += y.Runnable
	x.Blocked += y.Blocked
	x.Samples += y.Samples
	x.Sizes = mergeSizes(x.Sizes, y.Sizes)
	x.Counters = mergeCounters(x.Counters, y.Counters, ranks)
	return x
}

func mergeCounters(a, b []Counter, ranks int) []Counter {
	return stat.MergeSorted(a, b, func(x, y Counter) int { return cmp.Compare(x.Name, y.Name) }, func(x, y Counter) Counter {
		return Counter{x.Name, x.Exclusive.Merge(y.Exclusive), x.Inclusive.Merge(y.Inclusive), stat.MergeTop(x.Ranks, y.Ranks, ranks)}
	})
}

func mergeSizes(a, b []Size) []Size {
	byClass := func(x, y Size) int { return cmp.Compare(x.Class, y.Class) }
	return stat.MergeSorted(a, b, byClass, func(x, y Size) Size {
		return Size{x.Class, x.Calls + y.Calls, x.Ns + y.Ns, x.NsSq.Plus(y.NsSq), x.Messages + y.Messages, x.Bytes + y.Bytes}
	})
}
