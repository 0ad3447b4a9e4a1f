package run

import (
	"fmt"

	"marple/analysis/profile"
	"marple/analysis/words"
)

func newTraffic(t profile.Traffic) *Traffic {
	if !t.Known {
		return nil
	}
	return &Traffic{Read: t.Read, Written: t.Written, Reads: t.Reads, Writes: t.Writes}
}

// Bytes is what went either way.
func (t *Traffic) Bytes() uint64 {
	if t == nil {
		return 0
	}
	return t.Read + t.Written
}

// A rank's memory is spoken of if it is that many times what the others have on average, and by so much more: the memory of a node is
// sized for its ranks, some gigabytes each, and a tenth of that is no reason to run fewer of them.
const (
	muchMemory     = 2
	muchMoreMemory = 256 << 20
)

// Memory is what the ranks had in memory at most: the rank that had most of all, and the others on average. Not known unless it is
// of all.
func (r *Run) Memory() (most RankBalance, others float64, known bool) {
	sum := 0.0
	for _, b := range r.PerRank {
		if b.PeakMemory == 0 {
			return RankBalance{}, 0, false
		}
		if sum += float64(b.PeakMemory); b.PeakMemory > most.PeakMemory {
			most = b
		}
	}
	if n := len(r.PerRank); n > 1 {
		others = (sum - float64(most.PeakMemory)) / float64(n-1)
	}
	return most, others, len(r.PerRank) > 0
}

// unevenMemory says that a rank needs much more memory than others.
func (r *Run) unevenMemory() []Note {
	most, others, known := r.Memory()
	if top := float64(most.PeakMemory); !known || others == 0 || top < muchMemory*others || top < others+muchMoreMemory {
		return nil
	}
	return []Note{{"memory-uneven", fmt.Sprintf("rank %d had %s in memory at most, the others %s on average: it decides how many ranks fit on a host. "+
		"Divide what it alone holds among the ranks", most.Rank, words.Size(float64(most.PeakMemory)), words.Size(others)), 0}}
}
