package run

import (
	"cmp"
	"slices"

	"marple/analysis/profile"
	"marple/analysis/record"
)

// Files are what was done with files by the C library's functions and by MPI's. Times are added up over ranks and threads.
type Files struct {
	List []UsedFile `json:"list"` // by time, at most 4096
	// Others is what was done with further files, and by calls that only name a file (stat, unlink, …); Lost is how often a rank opened
	// a file for which it had no room, of which it has 256.
	Others UsedFile `json:"others"`
	Lost   uint64   `json:"opened_without_room"`
}

// UsedFile is what was done with one file. A kind of calls that there were none of is not there.
type UsedFile struct {
	Path      string   `json:"path"`
	Ranks     uint64   `json:"ranks"`                      // that used it
	Unaligned uint64   `json:"unaligned_writes,omitempty"` // that begin or end within a block of 4 KiB
	Read      *FileSum `json:"read,omitempty"`
	Write     *FileSum `json:"write,omitempty"`
	Open      *FileSum `json:"open,omitempty"` // MPI_File_open too
	Close     *FileSum `json:"close,omitempty"`
	Sync      *FileSum `json:"sync,omitempty"`
	Metadata  *FileSum `json:"metadata,omitempty"` // stat, unlink, rename, mkdir, truncate, access
	// Of MPI: by one rank (independent), or by all that have opened the file (collective).
	MPIRead     *FileSum `json:"mpi_read,omitempty"`
	MPIWrite    *FileSum `json:"mpi_write,omitempty"`
	MPIReadAll  *FileSum `json:"mpi_read_collective,omitempty"`
	MPIWriteAll *FileSum `json:"mpi_write_collective,omitempty"`
}

// FileSum adds up calls of a kind. Small are those that moved something, but less than 4 KiB; calls of C's streams, which gather
// what is written, are never small.
type FileSum struct {
	Calls uint64 `json:"calls"`
	Bytes uint64 `json:"bytes,omitempty"`
	Ns    uint64 `json:"ns"`
	Small uint64 `json:"small,omitempty"`
}

// FileUse is what one rank did with files, but for MPI's functions.
type FileUse struct {
	Ns      uint64 `json:"ns"` // in all calls, of any thread
	Read    uint64 `json:"read_bytes"`
	Written uint64 `json:"written_bytes"`
	Reads   uint64 `json:"reads"`
	Writes  uint64 `json:"writes"`
	Lookups uint64 `json:"lookups"` // calls that open, close, ask for or change what a directory says
}

// Bytes is what was read and written.
func (u *FileUse) Bytes() uint64 {
	if u == nil {
		return 0
	}
	return u.Read + u.Written
}

func newFileUse(u profile.FileUse) *FileUse {
	if !u.Known {
		return nil
	}
	return &FileUse{u.Ns, u.Read, u.Written, u.Reads, u.Writes, u.Lookups}
}

func newFiles(p *profile.Profile) *Files {
	if len(p.Files) == 0 {
		return nil
	}
	files := &Files{List: []UsedFile{}, Lost: p.FilesLost}
	for i := range p.Files {
		if f := newFile(&p.Files[i]); p.Files[i].Key == 0 {
			files.Others = f
		} else {
			files.List = append(files.List, f)
		}
	}
	slices.SortFunc(files.List, func(a, b UsedFile) int {
		return cmp.Or(cmp.Compare(b.Ns(), a.Ns()), cmp.Compare(a.Path, b.Path))
	})
	return files
}

func newFile(f *profile.File) UsedFile {
	out := UsedFile{Path: f.Path, Ranks: f.Ranks, Unaligned: f.Unaligned}
	for kind, to := range out.sums() {
		if s := f.Sums[kind]; s.Calls > 0 {
			*to = &FileSum{s.Calls, s.Bytes, s.Ticks, s.Small}
		}
	}
	return out
}

func (f *UsedFile) sums() [record.FileKinds]**FileSum {
	return [...]**FileSum{&f.Read, &f.Write, &f.Open, &f.Close, &f.Sync, &f.Metadata, &f.MPIRead, &f.MPIWrite, &f.MPIReadAll, &f.MPIWriteAll}
}

// Total adds up all kinds of calls; read and written are their bytes.
func (f *UsedFile) Total() (all FileSum, read, written uint64) {
	for kind, s := range f.sums() {
		if *s == nil {
			continue
		}
		all.Calls, all.Ns, all.Small = all.Calls+(*s).Calls, all.Ns+(*s).Ns, all.Small+(*s).Small
		switch kind {
		case record.FileRead, record.FileMPIRead, record.FileMPIReadAll:
			read += (*s).Bytes
		default:
			written += (*s).Bytes
		}
	}
	return all, read, written
}

// Collective is what part of MPI's reading and writing calls is collective, if there are any.
func (f *UsedFile) Collective() (part float64, calls uint64) {
	together := uint64(0)
	for kind, s := range f.sums() {
		if kind >= record.FileMPIRead && *s != nil {
			calls += (*s).Calls
			if kind >= record.FileMPIReadAll {
				together += (*s).Calls
			}
		}
	}
	return float64(together) / float64(max(calls, 1)), calls
}

// Written adds up the C library's writes to files, and calls that open, close, ask for or change them.
func (f *Files) Written() (written FileSum, lookups uint64) {
	if f == nil {
		return FileSum{}, 0
	}
	for _, one := range append([]UsedFile{f.Others}, f.List...) {
		if w := one.Write; w != nil {
			written.Calls, written.Bytes, written.Ns, written.Small = written.Calls+w.Calls, written.Bytes+w.Bytes, written.Ns+w.Ns, written.Small+w.Small
		}
		for _, s := range []*FileSum{one.Open, one.Close, one.Metadata} {
			if s != nil {
				lookups += s.Calls
			}
		}
	}
	return written, lookups
}

// Ns is the time of all calls.
func (f *UsedFile) Ns() uint64 {
	all, _, _ := f.Total()
	return all.Ns
}
