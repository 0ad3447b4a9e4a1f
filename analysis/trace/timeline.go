package trace

import (
	"cmp"
	"slices"

	"marple/analysis/record"
)

// TimelineEvent is an MPI call, or a region, of one thread. Times are nanoseconds since the first event of any rank.
type TimelineEvent struct {
	Rank   int32  `json:"rank"`
	Thread int    `json:"thread"`
	Start  int64  `json:"start_ns"`
	Ns     int64  `json:"ns"`
	Name   string `json:"name"`
	Region bool   `json:"region,omitempty"`
	Peer   int32  `json:"peer"` // rank in the communicator; negative: none, or any
	Tag    int32  `json:"tag"`
	Bytes  uint64 `json:"bytes"`
}

// Window bounds a timeline. Until 0 means the end.
type Window struct {
	From, Until int64 // ns
	Most        int   // events
	Longest     bool  // rather than the first
}

// Timeline reads the events of a window from the logs that a run has kept, by rising start. More tells how many
// more events the window has than were asked for.
func Timeline(directory string, w Window) (events []TimelineEvent, more int, err error) {
	list, err := Ranks(directory)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range list {
		for t, err := range l.Threads() {
			if err != nil {
				return nil, 0, err
			}
			own, n, err := threadEvents(t, w)
			if err != nil {
				return nil, 0, err
			}
			events, more = append(events, own...), more+n
			if w.Longest {
				events, more = longestOf(events, more, w.Most)
			}
		}
	}
	if w.Longest {
		events, more = longestOf(events, more, w.Most)
	}
	slices.SortStableFunc(events, func(a, b TimelineEvent) int { return cmp.Compare(a.Start, b.Start) })
	if len(events) > w.Most {
		more += len(events) - w.Most
		events = events[:w.Most]
	}
	return events, more, nil
}

// longestOf keeps so many events, and counts the others.
func longestOf(events []TimelineEvent, more, most int) ([]TimelineEvent, int) {
	if len(events) <= most {
		return events, more
	}
	slices.SortStableFunc(events, func(a, b TimelineEvent) int { return cmp.Compare(b.Ns, a.Ns) })
	return events[:most], more + len(events) - most
}

func threadEvents(t *Thread, w Window) (events []TimelineEvent, more int, err error) {
	var open []int64 // regions
	add := func(start, end int64, e *Event, region bool) {
		if end < w.From || w.Until > 0 && start > w.Until {
			return
		}
		if w.Longest && len(events) >= 2*w.Most+1000 {
			events, more = longestOf(events, more, w.Most)
		} else if !w.Longest && len(events) == w.Most {
			more++
			return
		}
		one := TimelineEvent{Rank: t.Header().Rank, Thread: t.Number, Start: start, Ns: end - start, Name: e.Name, Region: region, Peer: e.Peer, Tag: e.Tag, Bytes: e.Bytes}
		if e.Collective() || region {
			one.Tag = 0
		}
		events = append(events, one)
	}
	for e, err := range t.Events() {
		if err != nil {
			return nil, 0, err
		}
		switch e.Kind {
		case record.LogCall:
			add(e.Begin, e.End, e, false)
		case record.LogEnter:
			open = append(open, e.Begin)
		case record.LogExit:
			if n := len(open); n > 0 {
				add(open[n-1], e.Begin, e, true)
				open = open[:n-1]
			}
		}
	}
	return events, more, nil
}
