/*
 * libmarple-io.so: stands before the C library's functions for files, with the setting `io`, and tells libmarple.so of each
 * call. Where that is not in the process, or has no use for a call, it goes on as if nobody stood there.
 *
 * May use: libc, and cshim/io.h. What it cannot see: what the C library does within itself (getline, fgets, fputc, mmap'd
 * files, popen), aio, io_uring, and system calls without the C library.
 */
#include "../io.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

/* What stands behind each function. dlsym may allocate, and is no function for a signal handler: so all are looked up at first. */
#define FUNCTIONS                                                                                                                  \
    F(read) F(__read_chk) F(pread) F(pread64) F(__pread_chk) F(__pread64_chk) F(readv) F(preadv) F(preadv64)                       \
    F(write) F(pwrite) F(pwrite64) F(writev) F(pwritev) F(pwritev64)                                                               \
    F(open) F(open64) F(openat) F(openat64) F(creat) F(creat64) F(__open_2) F(__open64_2) F(__openat_2) F(__openat64_2)            \
    F(close) F(dup2) F(dup3) F(fsync) F(fdatasync) F(ftruncate) F(ftruncate64) F(truncate) F(truncate64)                           \
    F(stat) F(stat64) F(lstat) F(lstat64) F(fstat) F(fstat64) F(fstatat) F(fstatat64) F(statx) F(access) F(faccessat)              \
    F(__xstat) F(__xstat64) F(__lxstat) F(__lxstat64) F(__fxstat) F(__fxstat64) F(__fxstatat) F(__fxstatat64)                      \
    F(unlink) F(unlinkat) F(mkdir) F(mkdirat) F(rmdir) F(rename) F(renameat) F(renameat2)                                          \
    F(fopen) F(fopen64) F(fclose) F(fflush) F(fread) F(__fread_chk) F(fwrite) F(fputs) F(vfprintf) F(__vfprintf_chk)

enum {
#define F(name) NEXT_##name,
    FUNCTIONS
#undef F
        NEXT_COUNT
};
static const char *const names[] = {
#define F(name) #name,
    FUNCTIONS
#undef F
};
static void *_Atomic found[NEXT_COUNT];

static long nobody(void)
{
    errno = ENOSYS;
    return -1;
}

static __attribute__((cold, noinline)) void *find(int which)
{
    int error = errno;
    void *next = dlsym(RTLD_NEXT, names[which]);
    if (!next)
        next = (void *)nobody;
    atomic_store_explicit(&found[which], next, memory_order_relaxed);
    errno = error;
    return next;
}

static inline void *next_of(int which)
{
    void *next = atomic_load_explicit(&found[which], memory_order_relaxed);
    return __builtin_expect(next != NULL, 1) ? next : find(which);
}

PUBLIC const char marple_io_stands = 1; /* for libmarple.so to see */

static __attribute__((constructor)) void find_all(void)
{
    for (int i = 0; i < NEXT_COUNT; i++)
        next_of(i);
}

#define NEXT(name, type, ...) ((type(*)(__VA_ARGS__))next_of(NEXT_##name))
#define BEGIN(io, kind, fd) (&marple_io_1 && marple_io_1.begin(io, kind, fd, MRL_CALLER))

static void forget(int fd)
{
    if (&marple_io_1)
        marple_io_1.forget(fd);
}

/* Where a call that has moved so many bytes began, for those that go on from where the descriptor is. */
static int64_t from(int fd, int64_t moved)
{
    int error = errno;
    int64_t now = moved > 0 ? syscall(SYS_lseek, fd, 0L, SEEK_CUR) : -1;
    errno = error;
    return now < moved ? -1 : now - moved;
}

/* Of functions whose result is bytes moved, and of those that move none. */
#define MOVES(kind, result, name, at, declared, passed, ...)               \
    PUBLIC result name declared                                            \
    {                                                                      \
        struct mrl_io io;                                                  \
        if (!BEGIN(&io, kind, fd))                                         \
            return NEXT(name, result, __VA_ARGS__) passed;                 \
        result moved = NEXT(name, result, __VA_ARGS__) passed;             \
        marple_io_1.end(&io, moved, -1, true, at);                         \
        return moved;                                                      \
    }
#define DOES(kind, name, fd, declared, passed, ...)                        \
    PUBLIC int name declared                                               \
    {                                                                      \
        struct mrl_io io;                                                  \
        if (!BEGIN(&io, kind, fd))                                         \
            return NEXT(name, int, __VA_ARGS__) passed;                    \
        int code = NEXT(name, int, __VA_ARGS__) passed;                    \
        marple_io_1.end(&io, -1, -1, true, -1);                            \
        return code;                                                       \
    }
#define OPENS(name, declared, passed, ...)                                 \
    PUBLIC int name declared                                               \
    {                                                                      \
        struct mrl_io io;                                                  \
        if (!BEGIN(&io, MRL_IO_OPEN, MRL_NAMED)) {                                \
            int opened = NEXT(name, int, __VA_ARGS__) passed;              \
            forget(opened);                                                \
            return opened;                                                 \
        }                                                                  \
        int opened = NEXT(name, int, __VA_ARGS__) passed;                  \
        marple_io_1.end(&io, -1, opened, true, -1);                        \
        return opened;                                                     \
    }
/* The mode is there with some flags only, but what is passed on is what a call without it would have in its place. */
#define OPENS_MAYBE(name, declared, passed, ...)                           \
    PUBLIC int name declared                                               \
    {                                                                      \
        mode_t mode = 0;                                                   \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {         \
            va_list more;                                                  \
            va_start(more, flags);                                         \
            mode = va_arg(more, mode_t);                                   \
            va_end(more);                                                  \
        }                                                                  \
        struct mrl_io io;                                                  \
        bool told = BEGIN(&io, MRL_IO_OPEN, MRL_NAMED);                           \
        int opened = NEXT(name, int, __VA_ARGS__) passed;                  \
        if (told)                                                          \
            marple_io_1.end(&io, -1, opened, true, -1);                    \
        else                                                               \
            forget(opened);                                                \
        return opened;                                                     \
    }

typedef const struct iovec *vectors;

MOVES(MRL_IO_READ, ssize_t, read, -1, (int fd, void *to, size_t size), (fd, to, size), int, void *, size_t)
MOVES(MRL_IO_READ, ssize_t, __read_chk, -1, (int fd, void *to, size_t size, size_t room), (fd, to, size, room), int, void *, size_t, size_t)
MOVES(MRL_IO_READ, ssize_t, pread, -1, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), int, void *, size_t, off_t)
MOVES(MRL_IO_READ, ssize_t, pread64, -1, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at), int, void *, size_t, off64_t)
MOVES(MRL_IO_READ, ssize_t, __pread_chk, -1, (int fd, void *to, size_t size, off_t at, size_t room), (fd, to, size, at, room), int, void *, size_t,
      off_t, size_t)
MOVES(MRL_IO_READ, ssize_t, __pread64_chk, -1, (int fd, void *to, size_t size, off64_t at, size_t room), (fd, to, size, at, room), int, void *,
      size_t, off64_t, size_t)
MOVES(MRL_IO_READ, ssize_t, readv, -1, (int fd, vectors to, int count), (fd, to, count), int, vectors, int)
MOVES(MRL_IO_READ, ssize_t, preadv, -1, (int fd, vectors to, int count, off_t at), (fd, to, count, at), int, vectors, int, off_t)
MOVES(MRL_IO_READ, ssize_t, preadv64, -1, (int fd, vectors to, int count, off64_t at), (fd, to, count, at), int, vectors, int, off64_t)

MOVES(MRL_IO_WRITE, ssize_t, write, from(fd, moved), (int fd, const void *data, size_t size), (fd, data, size), int, const void *, size_t)
MOVES(MRL_IO_WRITE, ssize_t, pwrite, at, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), int, const void *, size_t, off_t)
MOVES(MRL_IO_WRITE, ssize_t, pwrite64, at, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), int, const void *, size_t,
      off64_t)
MOVES(MRL_IO_WRITE, ssize_t, writev, from(fd, moved), (int fd, vectors data, int count), (fd, data, count), int, vectors, int)
MOVES(MRL_IO_WRITE, ssize_t, pwritev, at, (int fd, vectors data, int count, off_t at), (fd, data, count, at), int, vectors, int, off_t)
MOVES(MRL_IO_WRITE, ssize_t, pwritev64, at, (int fd, vectors data, int count, off64_t at), (fd, data, count, at), int, vectors, int, off64_t)

OPENS_MAYBE(open, (const char *path, int flags, ...), (path, flags, mode), const char *, int, ...)
OPENS_MAYBE(open64, (const char *path, int flags, ...), (path, flags, mode), const char *, int, ...)
OPENS_MAYBE(openat, (int in, const char *path, int flags, ...), (in, path, flags, mode), int, const char *, int, ...)
OPENS_MAYBE(openat64, (int in, const char *path, int flags, ...), (in, path, flags, mode), int, const char *, int, ...)
OPENS(creat, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
OPENS(creat64, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
OPENS(__open_2, (const char *path, int flags), (path, flags), const char *, int)
OPENS(__open64_2, (const char *path, int flags), (path, flags), const char *, int)
OPENS(__openat_2, (int in, const char *path, int flags), (in, path, flags), int, const char *, int)
OPENS(__openat64_2, (int in, const char *path, int flags), (in, path, flags), int, const char *, int)

/* Another thread may get the number at once: so it is forgotten first. */
PUBLIC int close(int fd)
{
    struct mrl_io io;
    bool told = BEGIN(&io, MRL_IO_CLOSE, fd);
    forget(fd);
    int code = NEXT(close, int, int)(fd);
    if (told)
        marple_io_1.end(&io, -1, -1, true, -1);
    return code;
}

PUBLIC int dup2(int old, int fd)
{
    if (old != fd)
        forget(fd);
    int copy = NEXT(dup2, int, int, int)(old, fd);
    if (old != fd)
        forget(fd);
    return copy;
}

PUBLIC int dup3(int old, int fd, int flags)
{
    forget(fd);
    int copy = NEXT(dup3, int, int, int, int)(old, fd, flags);
    forget(fd);
    return copy;
}

DOES(MRL_IO_SYNC, fsync, fd, (int fd), (fd), int)
DOES(MRL_IO_SYNC, fdatasync, fd, (int fd), (fd), int)
DOES(MRL_IO_METADATA, ftruncate, fd, (int fd, off_t size), (fd, size), int, off_t)
DOES(MRL_IO_METADATA, ftruncate64, fd, (int fd, off64_t size), (fd, size), int, off64_t)
DOES(MRL_IO_METADATA, truncate, MRL_NAMED, (const char *path, off_t size), (path, size), const char *, off_t)
DOES(MRL_IO_METADATA, truncate64, MRL_NAMED, (const char *path, off64_t size), (path, size), const char *, off64_t)

DOES(MRL_IO_METADATA, stat, MRL_NAMED, (const char *path, struct stat *out), (path, out), const char *, struct stat *)
DOES(MRL_IO_METADATA, stat64, MRL_NAMED, (const char *path, struct stat64 *out), (path, out), const char *, struct stat64 *)
DOES(MRL_IO_METADATA, lstat, MRL_NAMED, (const char *path, struct stat *out), (path, out), const char *, struct stat *)
DOES(MRL_IO_METADATA, lstat64, MRL_NAMED, (const char *path, struct stat64 *out), (path, out), const char *, struct stat64 *)
DOES(MRL_IO_METADATA, fstat, fd, (int fd, struct stat *out), (fd, out), int, struct stat *)
DOES(MRL_IO_METADATA, fstat64, fd, (int fd, struct stat64 *out), (fd, out), int, struct stat64 *)
DOES(MRL_IO_METADATA, fstatat, MRL_NAMED, (int in, const char *path, struct stat *out, int flags), (in, path, out, flags), int, const char *, struct stat *, int)
DOES(MRL_IO_METADATA, fstatat64, MRL_NAMED, (int in, const char *path, struct stat64 *out, int flags), (in, path, out, flags), int, const char *,
     struct stat64 *, int)
DOES(MRL_IO_METADATA, statx, MRL_NAMED, (int in, const char *path, int flags, unsigned mask, struct statx *out), (in, path, flags, mask, out), int, const char *,
     int, unsigned, struct statx *)
DOES(MRL_IO_METADATA, access, MRL_NAMED, (const char *path, int mode), (path, mode), const char *, int)
DOES(MRL_IO_METADATA, faccessat, MRL_NAMED, (int in, const char *path, int mode, int flags), (in, path, mode, flags), int, const char *, int, int)
DOES(MRL_IO_METADATA, unlink, MRL_NAMED, (const char *path), (path), const char *)
DOES(MRL_IO_METADATA, unlinkat, MRL_NAMED, (int in, const char *path, int flags), (in, path, flags), int, const char *, int)
DOES(MRL_IO_METADATA, mkdir, MRL_NAMED, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
DOES(MRL_IO_METADATA, mkdirat, MRL_NAMED, (int in, const char *path, mode_t mode), (in, path, mode), int, const char *, mode_t)
DOES(MRL_IO_METADATA, rmdir, MRL_NAMED, (const char *path), (path), const char *)
DOES(MRL_IO_METADATA, rename, MRL_NAMED, (const char *from, const char *to), (from, to), const char *, const char *)
DOES(MRL_IO_METADATA, renameat, MRL_NAMED, (int from, const char *path, int to, const char *other), (from, path, to, other), int, const char *, int, const char *)
DOES(MRL_IO_METADATA, renameat2, MRL_NAMED, (int from, const char *path, int to, const char *other, unsigned flags), (from, path, to, other, flags), int,
     const char *, int, const char *, unsigned)

/* What programs built before glibc 2.33 call. */
#define STAT(name, type) DOES(MRL_IO_METADATA, name, MRL_NAMED, (int version, const char *path, type *out), (version, path, out), int, const char *, type *)
STAT(__xstat, struct stat)
STAT(__xstat64, struct stat64)
STAT(__lxstat, struct stat)
STAT(__lxstat64, struct stat64)
DOES(MRL_IO_METADATA, __fxstat, fd, (int version, int fd, struct stat *out), (version, fd, out), int, int, struct stat *)
DOES(MRL_IO_METADATA, __fxstat64, fd, (int version, int fd, struct stat64 *out), (version, fd, out), int, int, struct stat64 *)
DOES(MRL_IO_METADATA, __fxstatat, MRL_NAMED, (int version, int in, const char *path, struct stat *out, int flags), (version, in, path, out, flags), int, int,
     const char *, struct stat *, int)
DOES(MRL_IO_METADATA, __fxstatat64, MRL_NAMED, (int version, int in, const char *path, struct stat64 *out, int flags), (version, in, path, out, flags), int, int,
     const char *, struct stat64 *, int)

/* Streams: what they do with their file is within the C library, so that their own calls are looked at. */
static int descriptor_of(FILE *stream)
{
    int error = errno, fd = fileno(stream);
    errno = error;
    return fd;
}
#define ON_STREAM(io, kind, stream) (&marple_io_1 && (fd = descriptor_of(stream)) >= 0 && marple_io_1.begin(io, kind, fd, MRL_CALLER))

#define OPENS_STREAM(name)                                                        \
    PUBLIC FILE *name(const char *path, const char *mode)                         \
    {                                                                             \
        struct mrl_io io;                                                         \
        bool told = BEGIN(&io, MRL_IO_OPEN, MRL_NAMED);                                  \
        FILE *stream = NEXT(name, FILE *, const char *, const char *)(path, mode); \
        int opened = stream ? descriptor_of(stream) : -1;                         \
        if (told)                                                                 \
            marple_io_1.end(&io, -1, opened, true, -1);                           \
        else                                                                      \
            forget(opened);                                                       \
        return stream;                                                            \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

PUBLIC int fclose(FILE *stream)
{
    struct mrl_io io;
    int fd = -1;
    bool told = ON_STREAM(&io, MRL_IO_CLOSE, stream);
    forget(fd);
    int code = NEXT(fclose, int, FILE *)(stream);
    if (told)
        marple_io_1.end(&io, -1, -1, true, -1);
    return code;
}

PUBLIC int fflush(FILE *stream)
{
    struct mrl_io io;
    int fd = -1;
    if (!stream || !ON_STREAM(&io, MRL_IO_SYNC, stream))
        return NEXT(fflush, int, FILE *)(stream);
    int code = NEXT(fflush, int, FILE *)(stream);
    marple_io_1.end(&io, -1, -1, true, -1);
    return code;
}

#define STREAMS(kind, result, name, bytes, declared, passed, ...)      \
    PUBLIC result name declared                                        \
    {                                                                  \
        struct mrl_io io;                                              \
        int fd;                                                        \
        if (!ON_STREAM(&io, kind, stream))                             \
            return NEXT(name, result, __VA_ARGS__) passed;             \
        result done = NEXT(name, result, __VA_ARGS__) passed;          \
        marple_io_1.end(&io, bytes, -1, false, -1);                    \
        return done;                                                   \
    }

static int64_t length(const char *text, int good)
{
    return good < 0 ? -1 : (int64_t)__builtin_strlen(text);
}

STREAMS(MRL_IO_READ, size_t, fread, (int64_t)(done * size), (void *to, size_t size, size_t count, FILE *stream), (to, size, count, stream), void *,
        size_t, size_t, FILE *)
STREAMS(MRL_IO_READ, size_t, __fread_chk, (int64_t)(done * size), (void *to, size_t room, size_t size, size_t count, FILE *stream),
        (to, room, size, count, stream), void *, size_t, size_t, size_t, FILE *)
STREAMS(MRL_IO_WRITE, size_t, fwrite, (int64_t)(done * size), (const void *data, size_t size, size_t count, FILE *stream), (data, size, count, stream),
        const void *, size_t, size_t, FILE *)
STREAMS(MRL_IO_WRITE, int, fputs, length(text, done), (const char *text, FILE *stream), (text, stream), const char *, FILE *)
STREAMS(MRL_IO_WRITE, int, vfprintf, done, (FILE *stream, const char *format, va_list more), (stream, format, more), FILE *, const char *, va_list)
STREAMS(MRL_IO_WRITE, int, __vfprintf_chk, done, (FILE *stream, int flag, const char *format, va_list more), (stream, flag, format, more), FILE *, int,
        const char *, va_list)

PUBLIC int fprintf(FILE *stream, const char *format, ...)
{
    struct mrl_io io;
    int fd;
    va_list more;
    va_start(more, format);
    bool told = ON_STREAM(&io, MRL_IO_WRITE, stream);
    int done = NEXT(vfprintf, int, FILE *, const char *, va_list)(stream, format, more);
    va_end(more);
    if (told)
        marple_io_1.end(&io, done, -1, false, -1);
    return done;
}

PUBLIC int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    struct mrl_io io;
    int fd;
    va_list more;
    va_start(more, format);
    bool told = ON_STREAM(&io, MRL_IO_WRITE, stream);
    int done = NEXT(__vfprintf_chk, int, FILE *, int, const char *, va_list)(stream, flag, format, more);
    va_end(more);
    if (told)
        marple_io_1.end(&io, done, -1, false, -1);
    return done;
}
