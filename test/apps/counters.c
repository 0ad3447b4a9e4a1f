/*
 * Counts of known size, in invocations, regions and threads; without MPI.
 *
 *     counters faults N          invocations touch N fresh pages, then 2 N, then N and, nested, 3 N
 *     counters forbidden N       the same where the kernel refuses perf_event_open
 *     counters scripted N        what test/papi/stub.c counts is made here
 */
#include <marple.h>

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct marple_method work = MARPLE_METHOD("Worker", "work"), outer = MARPLE_METHOD("Worker", "outer");
static void (*count)(int event, long long amount);

static void touch(long pages)
{
    long page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, (size_t)(pages * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, (size_t)(pages * page), MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        *(volatile char *)(memory + i * page) = 1;
    munmap(memory, (size_t)(pages * page));
}

/* As many pages, or events of the two kinds that the stub counts: 10 and 7 times as many. */
static void some(long n)
{
    if (!count) {
        touch(n);
        return;
    }
    count(0, 10 * n);
    count(1, 7 * n);
}

static void invoke(struct marple_method *method, long n, long inside)
{
    struct marple_invocation call;
    marple_invocation_begin(&call, method, NULL);
    marple_integer(&call, "n", n);
    some(n);
    if (inside)
        invoke(&work, inside, 0);
    marple_invocation_end(&call);
}

static void *all(void *argument)
{
    long n = *(long *)argument;
    invoke(&outer, 1, 1); /* so that code and buffers have been touched */
    invoke(&work, n, 0);
    invoke(&work, 2 * n, 0);
    invoke(&outer, n, 3 * n);
    marple_region_begin("region");
    some(5 * n);
    marple_region_end("region");
    return NULL;
}

static int forbid(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 1000, more = 2 * n;
    if (argc > 1 && strcmp(argv[1], "scripted") == 0 && !(*(void **)&count = dlsym(dlopen(getenv("MARPLE_PAPI"), RTLD_NOW), "stub_count")))
        return 1;
    if (argc > 1 && strcmp(argv[1], "forbidden") == 0 && forbid())
        return 1;
    all(&n);
    pthread_t thread;
    if (pthread_create(&thread, NULL, all, &more) || pthread_join(thread, NULL))
        return 1;
    return 0;
}
