/*
 * What any timing wrapper costs at least: a PMPI tool that reads a clock before and after each call and
 * does nothing else. -DTSC reads the time stamp counter, otherwise clock_gettime is asked. Preloaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

typedef uint64_t word;

static inline uint64_t now(void)
{
#ifdef TSC
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

uint64_t in_mpi;

#define WRAP(name, declared, passed, types)              \
    int name declared                                    \
    {                                                    \
        static int(*next) types;                         \
        if (!next)                                       \
            *(void **)&next = dlsym(RTLD_NEXT, #name);   \
        uint64_t start = now();                          \
        int rc = next passed;                            \
        in_mpi += now() - start;                         \
        return rc;                                       \
    }

WRAP(MPI_Iprobe, (word a, word b, word c, word d, word e), (a, b, c, d, e), (word, word, word, word, word))
WRAP(MPI_Allreduce, (word a, word b, word c, word d, word e, word f), (a, b, c, d, e, f), (word, word, word, word, word, word))
WRAP(MPI_Irecv, (word a, word b, word c, word d, word e, word f, word g), (a, b, c, d, e, f, g),
     (word, word, word, word, word, word, word))
WRAP(MPI_Isend, (word a, word b, word c, word d, word e, word f, word g), (a, b, c, d, e, f, g),
     (word, word, word, word, word, word, word))
WRAP(MPI_Waitall, (word a, word b, word c), (a, b, c), (word, word, word))
WRAP(MPI_Sendrecv, (word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l),
     (a, b, c, d, e, f, g, h, i, j, k, l),
     (word, word, word, word, word, word, word, word, word, word, word, word))
