/*
 * A program may confine itself: after it has set a seccomp filter, a system call that it does not need itself may kill it,
 * and any of ours may be one. So from then on we make none: nothing is opened, no clock is asked that takes a system call,
 * and the Go core is not entered. What is recorded fills the mapped file as far as it goes, and is counted beyond that;
 * `marple recover` makes the report.
 *
 * May use: libc only. A filter that is set without the C library's functions is not noticed.
 */
#include "sample.h"
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

pid_t getpid(void); /* not from unistd.h, which has syscall as a variadic function */

#define PUBLIC __attribute__((visibility("default")))

static MRL_COLD void confine(void)
{
    if (!mrl.started || mrl.stopped || mrl.confined || getpid() != mrl.pid)
        return;
    mrl_samples_stop();
    mrl.long_ticks = UINT64_MAX;
    if (mrl.in_file)
        mrl_say("the program confines itself with seccomp, so Marple opens and starts nothing any more; make the report with: marple recover %s", mrl.directory);
    else
        mrl_say("the program confines itself with seccomp, so Marple opens and starts nothing any more, and there will be no report");
    if (mrl.files)
        mrl.header->files_known |= 2; /* asking the system what a descriptor is may kill, too */
    mrl.confined = true;
}

typedef long six_fn(long, long, long, long, long, long, long);
typedef int five_fn(int, unsigned long, unsigned long, unsigned long, unsigned long);

static six_fn *next_syscall;
static five_fn *next_prctl;

static long no_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    errno = ENOSYS;
    return -1;
}

static int no_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    (void)option, (void)a, (void)b, (void)c, (void)d;
    errno = ENOSYS;
    return -1;
}

static MRL_COLD six_fn *find_syscall(void)
{
    six_fn *found;
    *(void **)&found = dlsym(RTLD_NEXT, "syscall");
    __atomic_store_n(&next_syscall, found ? found : no_syscall, __ATOMIC_RELAXED);
    return found ? found : no_syscall;
}

static MRL_COLD five_fn *find_prctl(void)
{
    five_fn *found;
    *(void **)&found = dlsym(RTLD_NEXT, "prctl");
    __atomic_store_n(&next_prctl, found ? found : no_prctl, __ATOMIC_RELAXED);
    return found ? found : no_prctl;
}

/* Arguments that are not there are passed on, too: as in the C library itself. */
PUBLIC long syscall(long number, long a, long b, long c, long d, long e, long f)
{
    six_fn *next = __atomic_load_n(&next_syscall, __ATOMIC_RELAXED);
    if (unlikely(number == SYS_seccomp && a < 2)) /* SECCOMP_SET_MODE_STRICT, SECCOMP_SET_MODE_FILTER */
        confine();
    if (unlikely(!next))
        next = find_syscall();
    return next(number, a, b, c, d, e, f);
}

PUBLIC int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    five_fn *next = __atomic_load_n(&next_prctl, __ATOMIC_RELAXED);
    if (unlikely(option == PR_SET_SECCOMP))
        confine();
    if (unlikely(!next))
        next = find_prctl();
    return next(option, a, b, c, d);
}
