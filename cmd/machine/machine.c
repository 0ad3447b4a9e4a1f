/*
 * marple-machine [MPI-LIBRARY]: measures processor and memory, or with an MPI library the messages between the ranks
 * that it runs as.
 *
 * A thread on each core that may be used does the same at the same time, as ranks do: a clock rate, a bandwidth that
 * one core has for itself are not what a program meets. Times are CPU times of these threads, so that others on the
 * machine count as little as they can; of several tries the shortest counts, since all that disturbs takes longer.
 */
#include "machine.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, TRIES = 5, LEVELS = 8, MOST_THREADS = 1024 };
static const double second = 1e9;

/* A level of memory, and how much of it one core walks through. */
struct level {
    char name[16];
    size_t size;    /* of a cache, for all cores that share it; 0: main memory */
    size_t working; /* bytes of each core */
};

static struct level levels[LEVELS];
static int level_count, threads;
static pthread_barrier_t together;

/* What each thread has found. */
struct found {
    int cpu;
    double clock, flops, latency[LEVELS], bandwidth[LEVELS];
};
static struct found found[MOST_THREADS];
static volatile uint64_t sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / second;
}

/* Register additions that wait for each other take a cycle each; ones of a constant may be done while renaming. */
static double cycles(double *elapsed)
{
    enum { ROUNDS = 400000 };
    uint64_t x = 1, y = 3;
    double begun = now();
    for (int i = 0; i < ROUNDS; i++)
        __asm__ volatile(".rept 32\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(y));
    *elapsed = now() - begun;
    sink += x;
    return 32.0 * ROUNDS;
}

/* Ten chains of vectors: enough for two units with a latency of four or five cycles. And a sum that reads memory. */
#define KERNELS(name, bytes, isa)                                                                                        \
    typedef double name##_real __attribute__((vector_size(bytes), aligned(8)));                                        \
    typedef uint64_t name##_word __attribute__((vector_size(bytes)));                                                    \
    __attribute__((target(isa), noinline)) static double name##_flops(long rounds)                                       \
    {                                                                                                                    \
        name##_real x[10], a = {0}, b = {0};                                                                             \
        a += 1 - 1e-9, b += 1e-9;                                                                                        \
        for (int k = 0; k < 10; k++)                                                                                     \
            x[k] = a + k;                                                                                                \
        for (long i = 0; i < rounds; i++) {                                                                              \
            _Pragma("GCC unroll 10") for (int k = 0; k < 10; k++) x[k] = x[k] * a + b;                                   \
        }                                                                                                                \
        name##_real s = {0};                                                                                             \
        for (int k = 0; k < 10; k++)                                                                                     \
            s += x[k];                                                                                                   \
        sink += (uint64_t)s[0];                                                                                          \
        return 2.0 * 10 * (bytes / 8) * rounds;                                                                          \
    }                                                                                                                    \
    __attribute__((target(isa), noinline)) static void name##_read(const char *memory, size_t size)                      \
    {                                                                                                                    \
        name##_word s[8] = {{0}};                                                                                        \
        for (size_t at = 0; at + 8 * bytes <= size; at += 8 * bytes) {                                                   \
            const name##_word *p = (const name##_word *)(const void *)(memory + at);                                     \
            _Pragma("GCC unroll 8") for (int k = 0; k < 8; k++) s[k] += p[k];                                            \
        }                                                                                                                \
        for (int k = 1; k < 8; k++)                                                                                      \
            s[0] += s[k];                                                                                                \
        sink += s[0][0];                                                                                                 \
    }

KERNELS(sse, 16, "sse2")
KERNELS(avx, 32, "avx2,fma")
KERNELS(wide, 64, "avx512f")

static double (*flops)(long) = sse_flops;
static void (*read_all)(const char *, size_t) = sse_read;

static void choose_kernels(void)
{
    if (__builtin_cpu_supports("avx512f"))
        flops = wide_flops, read_all = wide_read;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        flops = avx_flops, read_all = avx_read;
}

/* Lines of memory that lead from one to the next in an order that nobody can foresee (Sattolo's), in one circle. */
static void lay_circle(char *memory, size_t size)
{
    size_t n = size / LINE;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < n; i++)
        *(size_t *)(void *)(memory + i * LINE) = i;
    for (size_t i = n - 1; i > 0; i--) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t j = random % i, *a = (void *)(memory + i * LINE), *b = (void *)(memory + j * LINE), t = *a;
        *a = *b, *b = t;
    }
    for (size_t i = 0; i < n; i++) { /* numbers become addresses */
        char **at = (void *)(memory + i * LINE);
        *at = memory + *(size_t *)(void *)at * LINE;
    }
}

static double least(double a, double b) { return a == 0 || b < a ? b : a; }

static void measure_level(struct found *f, int l)
{
    enum { STEPS = 1 << 17, BYTES = 64 << 20 };
    size_t size = levels[l].working;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        madvise(memory, size, MADV_HUGEPAGE);
        lay_circle(memory, size);
    }
    pthread_barrier_wait(&together);
    for (int i = 0; memory != MAP_FAILED && i < TRIES; i++) {
        char **p = (char **)(void *)memory;
        double begun = now();
        for (int k = 0; k < STEPS; k++)
            p = (char **)(void *)*p;
        f->latency[l] = least(f->latency[l], (now() - begun) / STEPS);
        sink += (uintptr_t)p;
    }
    pthread_barrier_wait(&together);
    int rounds = size < BYTES ? BYTES / size : 1;
    for (int i = 0; memory != MAP_FAILED && i < TRIES; i++) {
        double begun = now();
        for (int k = 0; k < rounds; k++)
            read_all(memory, size);
        f->bandwidth[l] = least(f->bandwidth[l], (now() - begun) / rounds / size); /* seconds a byte so far */
    }
    f->bandwidth[l] = f->bandwidth[l] ? 1 / f->bandwidth[l] : 0;
    pthread_barrier_wait(&together);
    if (memory != MAP_FAILED)
        munmap(memory, size);
}

static void *measure(void *mine)
{
    struct found *f = mine;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(f->cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_barrier_wait(&together);
    double clock = 0, real = 0, elapsed;
    for (int i = 0; i < 4 * TRIES; i++) { /* the first tries bring the core up to its rate */
        double n = cycles(&elapsed);
        clock = least(clock, elapsed / n);
    }
    pthread_barrier_wait(&together);
    for (int i = 0; i < 4 * TRIES; i++) {
        double begun = now(), n = flops(200000);
        real = least(real, (now() - begun) / n);
    }
    f->clock = 1 / clock, f->flops = 1 / real;
    for (int l = 0; l < level_count; l++)
        measure_level(f, l);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The cores' middle value. */
static double middle(size_t offset)
{
    static double values[MOST_THREADS];
    for (int i = 0; i < threads; i++)
        values[i] = *(double *)(void *)((char *)&found[i] + offset);
    qsort(values, threads, sizeof *values, by_size);
    return values[threads / 2];
}

static int read_line(const char *path, char *to, int size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int got = fgets(to, size, f) != NULL;
    fclose(f);
    return got;
}

/* How many of the cores that may be used are in a list such as 0-3,8. */
static int sharing(const char *list)
{
    int n = 0;
    for (const char *at = list; *at && *at != '\n';) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (end == at)
            break;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (int i = 0; i < threads; i++)
            n += found[i].cpu >= from && found[i].cpu <= to;
        at = *end == ',' ? end + 1 : end;
    }
    return n ? n : 1;
}

static void add_cache(int level, size_t size, int share)
{
    size_t working = size / 2 / share / (8 * LINE) * (8 * LINE);
    if (working == 0 || level_count == LEVELS - 1)
        return;
    struct level *l = &levels[level_count++];
    snprintf(l->name, sizeof l->name, "l%d", level);
    l->size = size;
    l->working = working;
}

static void find_caches(void)
{
    for (int i = 0; i < LEVELS; i++) {
        char path[128], text[256];
        const char *cache = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s";
        snprintf(path, sizeof path, cache, found[0].cpu, i, "type");
        if (!read_line(path, text, sizeof text) || text[0] == 'I') /* Instruction */
            continue;
        snprintf(path, sizeof path, cache, found[0].cpu, i, "level");
        int level = read_line(path, text, sizeof text) ? atoi(text) : 0;
        snprintf(path, sizeof path, cache, found[0].cpu, i, "size");
        char *unit = text;
        size_t size = read_line(path, text, sizeof text) ? strtoul(text, &unit, 10) : 0;
        size *= *unit == 'K' ? 1 << 10 : *unit == 'M' ? 1 << 20 : 1;
        snprintf(path, sizeof path, cache, found[0].cpu, i, "shared_cpu_list");
        if (level > 0)
            add_cache(level, size, read_line(path, text, sizeof text) ? sharing(text) : 1);
    }
    if (level_count == 0) { /* a sandbox without /sys */
        long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
        add_cache(1, l1 > 0 ? l1 : 0, 1);
        add_cache(2, l2 > 0 ? l2 : 0, 1);
        add_cache(3, l3 > 0 ? l3 : 0, threads);
    }
}

/* Twice the largest cache and 64 MiB at least, all cores together; what the machine has free is a limit. */
static void add_memory(void)
{
    size_t all = (size_t)64 << 20, spare = (size_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
    for (int l = 0; l < level_count; l++)
        if (2 * levels[l].size > all)
            all = 2 * levels[l].size;
    if (all > spare) {
        printf("not measured\tmemory\tit needs %zu MiB, and %zu may be used\n", all >> 20, spare >> 20);
        return;
    }
    struct level *l = &levels[level_count++];
    strcpy(l->name, "memory");
    l->working = all / threads / (8 * LINE) * (8 * LINE);
}

int main(int count, char **arguments)
{
    if (count > 1)
        return messages(arguments[1]);
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        CPU_ZERO(&allowed);
        CPU_SET(0, &allowed);
    }
    for (int cpu = 0; cpu < CPU_SETSIZE && threads < MOST_THREADS; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            found[threads++].cpu = cpu;
    choose_kernels();
    find_caches();
    add_memory();
    pthread_barrier_init(&together, NULL, threads);
    pthread_t others[MOST_THREADS];
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, measure, &found[i]) != 0) {
            fprintf(stderr, "no thread could be started on core %d\n", found[i].cpu);
            return 1;
        }
    measure(&found[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    printf("cores\t%d\n", threads);
    printf("clock\t%.6g\nflops\t%.6g\n", middle(offsetof(struct found, clock)), middle(offsetof(struct found, flops)));
    for (int l = 0; l < level_count; l++)
        printf("level\t%s\t%zu\t%.6g\t%.6g\n", levels[l].name, levels[l].size, middle(offsetof(struct found, latency) + l * sizeof(double)),
               middle(offsetof(struct found, bandwidth) + l * sizeof(double)));
    return 0;
}
