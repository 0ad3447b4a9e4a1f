package waitstate

import (
	"cmp"
	"slices"
)

// A window is a stretch of this rank's calls, and the time it took by path and class, without waits. Waits are explained
// in the order of calls, so that the stretches asked for overlap: a window is moved rather than summed up anew.
type window struct {
	first, end int // calls
	sums       []int64
	listed     []bool
	touched    []uint32 // where a sum may be other than 0
}

// There are several windows, because a rank was in step with different others at different times. The first is for
// stretches of up to shortWindow calls, which are soon summed up: the others are not given away for them.
const (
	windows     = 4
	shortWindow = 64
)

// covering moves the window to calls [first, end) for which that is the least work.
func (x *replay) covering(first, end int) *window {
	best, least := -1, end-first
	for i := 1; i < windows && least > shortWindow; i++ {
		w := &x.windows[i]
		if steps := max(first-w.first, w.first-first) + max(end-w.end, w.end-end); w.end > w.first && steps < least {
			best, least = i, steps
		}
	}
	if best < 0 {
		w := &x.windows[0]
		if end-first > shortWindow {
			x.next = x.next%(windows-1) + 1
			w = &x.windows[x.next]
		}
		if w.sums == nil {
			w.sums, w.listed = make([]int64, len(x.r.Paths)*int(classes)), make([]bool, len(x.r.Paths)*int(classes))
		}
		for _, at := range w.touched {
			w.sums[at], w.listed[at] = 0, false
		}
		w.touched, w.first, w.end = w.touched[:0], first, end
		x.tally(w, first, end, 1)
		return w
	}
	w := &x.windows[best]
	if first < w.first {
		x.tally(w, first, w.first, 1)
	}
	if end > w.end {
		x.tally(w, w.end, end, 1)
	}
	x.tally(w, w.first, first, -1)
	x.tally(w, end, w.end, -1)
	w.first, w.end = first, end
	return w
}

// tally adds calls [from, to), and the time before each, so many times.
func (x *replay) tally(w *window, from, to int, times int64) {
	if from >= to {
		return
	}
	x.tallied += uint64(to - from)
	kept := x.keptFrom(from)
	for i := from; i < to; i++ {
		c := &x.r.Calls[i]
		busy := c.End - c.Start
		if kept < len(x.kept) && x.kept[kept].call == uint32(i) {
			busy -= x.r.duration(&x.kept[kept])
			kept++
		}
		x.tallyGap(w, i, times)
		w.add(c.Path, inside, times*busy)
	}
}

// tallyGap adds the time between a call and the one before.
func (x *replay) tallyGap(w *window, call int, times int64) {
	end := x.r.Begin
	if call > 0 {
		end = x.r.Calls[call-1].End
	}
	c := &x.r.Calls[call]
	w.add(c.Gap, outside, times*(c.Start-end-c.OffCore))
	w.add(x.r.OffCore, coreless, times*c.OffCore)
}

func (w *window) add(path uint32, class uint8, ns int64) {
	at := path*uint32(classes) + uint32(class)
	w.sums[at] += ns
	if !w.listed[at] {
		w.listed[at] = true
		w.touched = append(w.touched, at)
	}
}

// sharesOf appends what took time.
func (x *replay) sharesOf(w *window, to []share) []share {
	used := w.touched[:0]
	for _, at := range w.touched {
		ns := w.sums[at]
		if w.listed[at] = ns != 0; !w.listed[at] {
			continue
		}
		used = append(used, at)
		if ns > 0 {
			to = append(to, share{x.r.Paths[at/uint32(classes)], uint8(at % uint32(classes)), ns})
		}
	}
	w.touched = used
	return to
}

// keptFrom is the first of the waits that are explained in this call or later.
func (x *replay) keptFrom(call int) int {
	at, _ := slices.BinarySearchFunc(x.kept, uint32(call), func(w waited, c uint32) int { return cmp.Compare(w.call, c) })
	return at
}
