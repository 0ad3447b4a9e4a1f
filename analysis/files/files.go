// Package files opens what others may have laid in the way: a file for reading only if it is a regular one, and a file
// for writing only in the directory that was meant, whatever has become of its path since, and never through a link.
//
// It may use the standard library; it holds no state. Nothing stays open: a descriptor would be among the application's.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Unfit is the error of what was written in another version than this Marple reads.
type Unfit struct {
	What           string
	Version, Reads int
}

func (u *Unfit) Error() string {
	other := "older"
	if u.Version > u.Reads {
		other = "newer"
	}
	return fmt.Sprintf("%s of version %d; this Marple reads version %d: use the %s Marple that wrote it", u.What, u.Version, u.Reads, other)
}

const byPath = 0x200000 // O_PATH, which package syscall lacks

// Open opens a regular file for reading. Devices are not even opened, and named pipes not waited for.
func Open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if err := regular(path, info); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return checked(file)
}

// Read reads a regular file of a bounded size.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: larger than %d bytes", path, most)
	}
	return data, err
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	what := "a device"
	switch {
	case info.IsDir():
		what = "a directory"
	case info.Mode()&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case info.Mode()&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%s: not a regular file but %s", path, what)
}

// checked closes what turns out to be no regular file.
func checked(file *os.File) (*os.File, error) {
	info, err := file.Stat()
	if err == nil {
		err = regular(file.Name(), info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// A Directory is known by its device and inode, and is opened by its path. The zero Directory is none.
type Directory struct {
	path          string
	device, inode uint64
}

// In is the directory that a path leads to now.
func In(path string) (Directory, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(path, &s); err != nil {
		return Directory{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if s.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return Directory{}, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return Directory{path, uint64(s.Dev), s.Ino}, nil
}

// Known is a directory that somebody else has looked at.
func Known(path string, device, inode uint64) Directory { return Directory{path, device, inode} }

// String is the directory's path; empty: there is none.
func (d Directory) String() string { return d.path }

// File is a file in the directory.
func (d Directory) File(name string) File { return File{d, name} }

// Directory is a directory in this one.
func (d Directory) Directory(name string) (below Directory, err error) {
	err = d.with(func(fd int) error {
		at, err := syscall.Openat(fd, name, byPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: filepath.Join(d.path, name), Err: err}
		}
		defer syscall.Close(at)
		var s syscall.Stat_t
		err = syscall.Fstat(at, &s)
		below = Directory{filepath.Join(d.path, name), uint64(s.Dev), s.Ino}
		return err
	})
	return below, err
}

// Names lists what is in the directory.
func (d Directory) Names() (names []string, err error) {
	err = d.with(func(fd int) error {
		at, err := syscall.Openat(fd, ".", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: d.path, Err: err}
		}
		list := os.NewFile(uintptr(at), d.path)
		defer list.Close()
		names, err = list.Readdirnames(-1)
		return err
	})
	return names, err
}

// RemoveEmpty removes the directory, if there is nothing in it. Nothing but an empty directory can be lost, whoever's it is.
func (d Directory) RemoveEmpty() error {
	if err := d.with(func(int) error { return nil }); err != nil {
		return err
	}
	return syscall.Rmdir(d.path)
}

var errOther = errors.New("another directory has taken its place")

// with does something in the directory, by its descriptor.
func (d Directory) with(do func(fd int) error) error {
	fd, err := syscall.Open(d.path, byPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: d.path, Err: err}
	}
	defer syscall.Close(fd)
	var s syscall.Stat_t
	if err := syscall.Fstat(fd, &s); err != nil {
		return &fs.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if uint64(s.Dev) != d.device || s.Ino != d.inode {
		return &fs.PathError{Op: "open", Path: d.path, Err: errOther}
	}
	return do(fd)
}

// A File is a name in a directory. The zero File is none.
type File struct {
	in   Directory
	name string
}

// At is the file that a path leads to, in the directory that is there now.
func At(path string) (File, error) {
	d, err := In(filepath.Dir(path))
	return File{d, filepath.Base(path)}, err
}

// None tells whether there is no such file, and can be none.
func (f File) None() bool { return f.name == "" }

// String is the file's path.
func (f File) String() string {
	if f.None() {
		return ""
	}
	return filepath.Join(f.in.path, f.name)
}

// Beside is the file whose name goes on with a suffix.
func (f File) Beside(suffix string) File { return File{f.in, f.name + suffix} }

// Open opens a regular file, with the flags of package os. What it makes is as the umask has it.
func (f File) Open(flags int) (file *os.File, err error) {
	err = f.in.with(func(fd int) error {
		file, err = f.openIn(fd, f.name, flags)
		return err
	})
	return file, err
}

func (f File) openIn(directory int, name string, flags int) (*os.File, error) {
	const safely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	for {
		fd, err := syscall.Openat(directory, name, flags|safely, 0o666)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: filepath.Join(f.in.path, name), Err: err}
		}
		return checked(os.NewFile(uintptr(fd), filepath.Join(f.in.path, name)))
	}
}

// Remove removes the file.
func (f File) Remove() error {
	return f.in.with(func(fd int) error {
		if err := syscall.Unlinkat(fd, f.name); err != nil {
			return &fs.PathError{Op: "remove", Path: f.String(), Err: err}
		}
		return nil
	})
}

// Replace writes the file as a whole, or leaves it as it was: beside its place first, so that nobody sees half of one.
func (f File) Replace(write func(io.Writer) error) error {
	return f.in.with(func(fd int) error {
		beside := "." + f.name + "-" + strconv.FormatUint(rand.Uint64(), 36)
		file, err := f.openIn(fd, beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		err = errors.Join(write(file), file.Close())
		if err == nil {
			if err = syscall.Renameat(fd, beside, fd, f.name); err != nil {
				err = &fs.PathError{Op: "rename", Path: f.String(), Err: err}
			}
		}
		if err != nil {
			_ = syscall.Unlinkat(fd, beside)
		}
		return err
	})
}

// ReplaceAs is ReplaceBy with permissions of its own, whatever the umask has.
func (f File) ReplaceAs(data []byte, mode fs.FileMode) error {
	return f.Replace(func(w io.Writer) error {
		_, err := w.Write(data)
		return errors.Join(err, w.(*os.File).Chmod(mode))
	})
}

// ReplaceBy is Replace by what is there as a whole.
func (f File) ReplaceBy(data []byte) error {
	return f.Replace(func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
