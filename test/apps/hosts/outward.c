/*
 * What libmarple.so calls in other libraries while threads make MPI calls: its references to them are
 * replaced by counters. Prints "call NAME TIMES" for each function that was called, while all threads were
 * at work, and then "quiet N": of some hundred short bursts of one thread, in how many nothing at all was
 * called.
 */
#define _GNU_SOURCE
#include "host.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 8, MOST = 500, BURSTS = 300, BURST = 300 };

/* Machine code for x86-64 that counts and goes on to the function. */
struct counter {
    uint8_t code[16];
    uint64_t calls;
    void *target;
};
static struct counter *counters;
static const char *names[MOST];
static int used;

static void count_calls(void **reference, const char *name)
{
    static const uint8_t code[16] = {
        0xf0, 0x48, 0xff, 0x05, 8, 0, 0, 0, /* lock incq calls(%rip) */
        0xff, 0x25, 10, 0, 0, 0,            /* jmp *target(%rip) */
    };
    struct counter *c = &counters[used];
    memcpy(c->code, code, sizeof code);
    c->target = *reference;
    names[used++] = name;
    uintptr_t page = (uintptr_t)reference & -(uintptr_t)sysconf(_SC_PAGESIZE);
    mprotect((void *)page, (uintptr_t)(reference + 1) - page, PROT_READ | PROT_WRITE);
    *reference = c->code;
}

static ElfW(Addr) dynamic(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d->d_un.d_ptr;
    return 0;
}

static void count_all(const struct link_map *map)
{
    const ElfW(Sym) *symbols = (const void *)dynamic(map, DT_SYMTAB);
    const char *strings = (const void *)dynamic(map, DT_STRTAB);
    const ElfW(Rela) *r = (const void *)dynamic(map, DT_JMPREL), *end = (const void *)((const char *)r + dynamic(map, DT_PLTRELSZ));
    counters = mmap(NULL, MOST * sizeof *counters, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (; r < end && used < MOST; r++)
        count_calls((void **)(map->l_addr + r->r_offset), strings + symbols[ELF64_R_SYM(r->r_info)].st_name);
}

static uint64_t all_calls(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < used; i++)
        sum += __atomic_load_n(&counters[i].calls, __ATOMIC_RELAXED);
    return sum;
}

static void forget_calls(void)
{
    for (int i = 0; i < used; i++)
        __atomic_store_n(&counters[i].calls, 0, __ATOMIC_RELAXED);
}

static pthread_barrier_t together;

static void *work(void *unused)
{
    steps(MANY); /* a thread's first calls, first batch and first use of a call site are not usual */
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    steps(5 * MANY);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct link_map *map;
    Dl_info info;
    int provided;
    void *hooks = dlsym(RTLD_DEFAULT, "marple_hooks_1");
    if (!hooks || !dladdr1(hooks, &info, (void **)&map, RTLD_DL_LINKMAP)) {
        puts("libmarple.so is not here");
        return 1;
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    count_all(map);
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    pthread_barrier_wait(&together);
    forget_calls();
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    for (int i = 0; i < used; i++)
        if (counters[i].calls)
            printf("call %s %lu\n", names[i], (unsigned long)counters[i].calls);
    pthread_barrier_wait(&together);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int quiet = 0;
    steps(MANY);
    for (int i = 0; i < BURSTS; i++) {
        forget_calls();
        steps(BURST);
        quiet += all_calls() == 0;
    }
    printf("quiet %d\n", quiet);
    MPI_Finalize();
    return verdict();
}
