package profile

import (
	"cmp"
	"slices"

	"marple/analysis/callgraph"
	"marple/analysis/record"
	"marple/analysis/stat"
)

// MaxFiles is how many files are kept; those whose keys are smallest, which is the same whatever order ranks merge in. What was
// done with others goes to the first entry.
const MaxFiles = 4096

// File is what was done with one file: ticks are ns. The first one, without a key and path, stands for all others.
type File struct {
	Key       uint64 // a hash of the path
	Path      string
	Ranks     uint64 // that used it
	Unaligned uint64 // writes that begin or end within a block
	Sums      [record.FileKinds]record.FileSum
}

// FileUse is what one rank did with files through the C library.
type FileUse struct {
	Known         bool
	Ns            uint64 // in all calls of any thread
	Read, Written uint64 // bytes
	Reads, Writes uint64 // calls
	Lookups       uint64 // calls that open, close, ask for or change what a directory says
}

func filesOf(p *record.Process, clock callgraph.Clock) (list []File, use FileUse) {
	for _, f := range p.Files() {
		one := File{Key: f.Key, Path: p.String(f.Path), Unaligned: f.Unaligned, Sums: f.Sums}
		for i := range one.Sums {
			s := &one.Sums[i]
			s.Ticks = clock.Ns(s.Ticks)
			if s.Calls > 0 {
				one.Ranks = 1
			}
			if i < record.FileMPIRead {
				use.Ns += s.Ticks
			}
		}
		use.Known = true
		use.Read, use.Reads = use.Read+f.Sums[record.FileRead].Bytes, use.Reads+f.Sums[record.FileRead].Calls
		use.Written, use.Writes = use.Written+f.Sums[record.FileWrite].Bytes, use.Writes+f.Sums[record.FileWrite].Calls
		use.Lookups += f.Sums[record.FileOpen].Calls + f.Sums[record.FileClose].Calls + f.Sums[record.FileMetadata].Calls
		list = append(list, one)
	}
	slices.SortFunc(list, compareFiles)
	return list, use
}

func compareFiles(a, b File) int { return cmp.Compare(a.Key, b.Key) }

func mergeFiles(a, b []File) []File {
	m := stat.MergeSorted(a, b, compareFiles, func(x, y File) File {
		x.Path, x.Ranks = leastText(x.Path, y.Path), x.Ranks+y.Ranks
		x.add(&y)
		return x
	})
	for len(m) > MaxFiles {
		m[0].add(&m[len(m)-1])
		m = m[:len(m)-1]
	}
	return m
}

func (f *File) add(g *File) {
	f.Unaligned += g.Unaligned
	for i := range f.Sums {
		s, t := &f.Sums[i], g.Sums[i]
		s.Calls, s.Bytes, s.Ticks, s.Small = s.Calls+t.Calls, s.Bytes+t.Bytes, s.Ticks+t.Ticks, s.Small+t.Small
	}
}

func file(c *coder, f *File) {
	word(c, &f.Key)
	c.text(&f.Path)
	number(c, &f.Ranks)
	number(c, &f.Unaligned)
	for i := range f.Sums {
		s := &f.Sums[i]
		for _, x := range []*uint64{&s.Calls, &s.Bytes, &s.Ticks, &s.Small} {
			number(c, x)
		}
	}
}
