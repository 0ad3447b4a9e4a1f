/* Preloaded into a program on the mock's virtual clock: storage that takes time there. 1 ns a byte, 5 µs a call, 50 µs an opening. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void take(uint64_t ns)
{
    static _Thread_local int inside;
    void (*compute)(uint64_t);
    *(void **)&compute = dlsym(RTLD_DEFAULT, "mock_compute");
    if (!compute || inside)
        return;
    inside = 1;
    compute(ns);
    inside = 0;
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct stat info;
    ssize_t (*next)(int, const void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "write");
    if (syscall(SYS_fstat, fd, &info) == 0 && S_ISREG(info.st_mode))
        take(5000 + size);
    return next(fd, data, size);
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (flags & O_NOFOLLOW) /* as the program marks those that are to be slow */
        take(50000);
    return next(path, flags, mode);
}
