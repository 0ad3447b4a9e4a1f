/*
 * The clock. Under a simulated MPI ticks are nanoseconds of its own clock; else those of the processor's
 * invariant counter where the kernel itself trusts it, else nanoseconds of CLOCK_MONOTONIC. Ticks are
 * stored raw; pairs of (ticks, CLOCK_MONOTONIC_RAW) taken at both ends of the run convert them.
 */
#include "shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static uint64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t monotonic(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t mrl_raw_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_RAW);
}

#if defined(__x86_64__)
/* The kernel stops using the counter as its clock source when it finds it unsynchronised. */
static bool kernel_trusts_counter(void)
{
    static const char *const sources[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
    char source[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, source, sizeof source - 1);
    close(fd);
    if (n <= 0)
        return false;
    source[strcspn(source, "\n")] = 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(source, sources[i]) == 0)
            return true;
    return false;
}

static bool counter_usable(void)
{
    unsigned a, b, c, d;
    bool invariant = __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d >> 8 & 1);
    return invariant && kernel_trusts_counter();
}
#elif defined(__aarch64__)
static bool counter_usable(void)
{
    return true; /* CNTVCT_EL0 is constant-rate and synchronised by the architecture */
}
#else
static bool counter_usable(void)
{
    return false;
}
#endif

/* marple_clock_external, which a simulated MPI provides: nanoseconds, or UINT64_MAX while time is real. */
static bool take_external(void)
{
    uint64_t (*clock)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "marple_clock_external");
    memcpy(&clock, &symbol, sizeof symbol);
    if (!symbol || clock() == UINT64_MAX)
        return false;
    mrl.clock = clock;
    return true;
}

void mrl_clock_choose(void)
{
    enum { AUTO, TSC, MONOTONIC, EXTERNAL };
    int wanted = mrl.settings.clock;
    mrl.tsc = false;
    mrl.clock = monotonic;
    mrl.external = (wanted == AUTO || wanted == EXTERNAL) && take_external();
    if (wanted == EXTERNAL && !mrl.external) {
        mrl_say("MARPLE_CLOCK=external, but this program has no simulated clock (marple_clock_external); using "
                "CLOCK_MONOTONIC");
    } else if (wanted != MONOTONIC && !mrl.external) {
        mrl.tsc = counter_usable();
        if (wanted == TSC && !mrl.tsc)
            mrl_say("the time stamp counter is not reliable on this machine; using CLOCK_MONOTONIC");
    }
}

struct mrl_instant mrl_instant_now(void)
{
    /* The closest of a few pairs: an interrupt between the two readings would show as a skew. */
    struct mrl_instant best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = mrl_now();
        uint64_t ns = mrl_raw_ns();
        uint64_t after = mrl_now();
        if (after - before < least) {
            least = after - before;
            best.ticks = before + least / 2;
            best.raw_ns = ns;
        }
    }
    best.wall_ns = read_ns(CLOCK_REALTIME);
    return best;
}

uint64_t mrl_ticks_per_second(struct mrl_instant a, struct mrl_instant b)
{
    if (!mrl.tsc)
        return 1000000000u;
#if defined(__aarch64__)
    (void)a;
    (void)b;
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
#else
    if (b.raw_ns <= a.raw_ns)
        return 1000000000u;
    return (uint64_t)((unsigned __int128)(b.ticks - a.ticks) * 1000000000u / (b.raw_ns - a.raw_ns));
#endif
}

/*
 * Good to the precision of the first estimate; for thresholds and small corrections only. In whole numbers,
 * as is everything here: the application may have asked to be told of rounding.
 */
uint64_t mrl_ns_to_ticks(uint64_t ns)
{
    return (uint64_t)((unsigned __int128)ns * mrl.header->ticks_per_second / 1000000000u);
}

uint64_t mrl_ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * 1000000000u / mrl.header->ticks_per_second);
}
