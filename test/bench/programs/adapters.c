/*
 * Nanoseconds per event of each adapter, in a program without MPI: a begin and its end, looked up as the hosts of these interfaces
 * do. Thread CPU time, the best of several rounds. Parallel regions are OpenMP's own, of one thread. The file is one of 4 KiB here.
 *
 *     adapters ROUNDS EVENTS-PER-ROUND
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void (*kernel_begins)(const char *, uint32_t, uint64_t *), (*kernel_ends)(uint64_t);
static void *(*stub_create)(const char *);
static void (*timer_start)(const void *), (*timer_stop)(const void *);
static int (*marker_starts)(const char *), (*marker_stops)(const char *);
static void *timer;
static volatile int sink;

static void kernel(void)
{
    uint64_t id;
    if (!kernel_begins)
        return;
    kernel_begins("kernel", 0, &id);
    kernel_ends(id);
}

static void stubs(void)
{
    if (!timer)
        return;
    timer_start(timer);
    timer_stop(timer);
}

static void marker(void)
{
    if (!marker_starts)
        return;
    marker_starts("region");
    marker_stops("region");
}

/* NVTX's table of functions, as its header has it in each program; a push is the ninth, a pop the eleventh. */
static void (*functions[16])(void), (**table[17])(void);

static int module_table(int module, void (****its)(void), unsigned *size)
{
    *its = table;
    *size = 16;
    return module == 1;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*functions)(int, void (****)(void), unsigned *);
    } callbacks = {sizeof callbacks, module_table};
    return id == 1 ? &callbacks : NULL;
}

static void range(void)
{
    if (!functions[9])
        return;
    ((int (*)(const char *))functions[9])("range");
    ((int (*)(void))functions[11])();
}

static void region(void)
{
#pragma omp parallel num_threads(1)
    sink++;
}

static const char file[] = "adapters.tmp";
static int descriptor;

static void reading(void)
{
    char text[8];
    sink += (int)pread(descriptor, text, sizeof text, 0);
}

static void opening(void)
{
    close(open(file, O_RDONLY));
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[1]) : 5, events = argc > 2 ? atoi(argv[2]) : 50000;
    *(void **)&kernel_begins = dlsym(RTLD_DEFAULT, "kokkosp_begin_parallel_for");
    *(void **)&kernel_ends = dlsym(RTLD_DEFAULT, "kokkosp_end_parallel_for");
    *(void **)&stub_create = dlsym(RTLD_DEFAULT, "ps_tool_timer_create");
    *(void **)&timer_start = dlsym(RTLD_DEFAULT, "ps_tool_timer_start");
    *(void **)&timer_stop = dlsym(RTLD_DEFAULT, "ps_tool_timer_stop");
    *(void **)&marker_starts = dlsym(RTLD_DEFAULT, "likwid_markerStartRegion");
    *(void **)&marker_stops = dlsym(RTLD_DEFAULT, "likwid_markerStopRegion");
    for (int i = 1; i < 16; i++)
        table[i] = &functions[i];
    int (*inject)(const void *(*)(uint32_t));
    *(void **)&inject = dlsym(RTLD_DEFAULT, "InitializeInjectionNvtx2");
    if (inject)
        inject(export_table);
    timer = stub_create ? stub_create("timer") : NULL;
    descriptor = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0 || ftruncate(descriptor, 4096))
        return 1;
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"Kokkos-kernel", kernel}, {"PerfStubs-timer", stubs}, {"LIKWID-region", marker}, {"NVTX-range", range},
                 {"OpenMP-region", region}, {"read-of-a-file", reading}, {"open-and-close", opening}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double best = 1e300;
        for (int r = 0; r < rounds; r++) {
            double begin = now();
            for (int i = 0; i < events; i++)
                kinds[k].run();
            double ns = (now() - begin) / events;
            best = ns < best ? ns : best;
        }
        printf("%s %.1f\n", kinds[k].name, best);
    }
    unlink(file);
    return 0;
}
