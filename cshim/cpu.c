/*
 * Time off the core. A rank that computes may be descheduled because ranks outnumber cores, and that is
 * neither useful work nor imbalance. Reading the thread's CPU clock costs a quarter of a microsecond, so
 * it is read only at the end of a gap or call longer than `long_ticks`. Losing the core makes the
 * interval long by itself, so whatever was lost since the last reading was lost in the long interval
 * that ends now.
 */
#include "sample.h"
#include "shield.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define WORTH_ASKING_NS 20000u /* asking the scheduler costs 2 microseconds */
#define INTERRUPTED_NS 200000u /* that asking never takes */

struct off {
    uint64_t runnable, blocked; /* ticks */
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static struct {
    clockid_t main_thread;
    uint64_t before;
} others;

static uint64_t others_ns(void)
{
    uint64_t main_thread = clock_ns(others.main_thread), all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    return main_thread && all > main_thread ? all - main_thread : 0;
}

void mrl_cpu_others_begin(void)
{
    if (pthread_getcpuclockid(pthread_self(), &others.main_thread))
        others.main_thread = -1;
    others.before = others_ns();
}

uint64_t mrl_cpu_others(void)
{
    uint64_t now = mrl.external || mrl.confined ? 0 : others_ns(); /* in simulated time nobody knows */
    return now > others.before ? now - others.before : 0;
}

/* Nanoseconds this thread has waited on a run queue, or false where the kernel does not tell. */
static bool run_delay(uint64_t *ns)
{
    char text[128];
    int saved = errno, cancel = mrl_defer(), fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : mrl_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    mrl_undefer(cancel);
    errno = saved;
    if (n <= 0)
        return false;
    text[n] = 0;
    char *second;
    strtoull(text, &second, 10);
    *ns = strtoull(second, NULL, 10);
    return true;
}

static uint64_t voluntary_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_nvcsw;
}

/* Asked are one after the other: where the core is lost between them, they do not belong together, and are asked again. */
static struct off off_core(struct mrl_thread *t)
{
    struct off off = {0, 0};
    uint64_t wall, cpu, spent, passed, delay = 0;
    bool told = false;
    for (int tries = 0; tries < 8; tries++) {
        wall = mrl_raw_ns(), cpu = cpu_ns();
        spent = cpu - t->cpu_ns, passed = wall - t->cpu_wall_ns;
        /* The two clocks are calibrated apart: parts per million of a long interval mean nothing. */
        if (passed <= spent || passed - spent < WORTH_ASKING_NS + passed / 10000) {
            t->cpu_ns = cpu;
            t->cpu_wall_ns = wall;
            return off;
        }
        told = run_delay(&delay);
        if (mrl_raw_ns() - wall < INTERRUPTED_NS)
            break;
    }
    uint64_t lost = passed - spent, waited;
    t->cpu_ns = cpu;
    t->cpu_wall_ns = wall;
    if (told) {
        waited = delay - t->delay_ns;
        t->delay_ns = delay;
    } else {
        uint64_t switches = voluntary_switches();
        waited = switches == t->switches ? lost : 0;
        t->switches = switches;
    }
    if (waited > lost)
        waited = lost;
    off.runnable = mrl_ns_to_ticks(waited);
    off.blocked = mrl_ns_to_ticks(lost - waited);
    return off;
}

static void limit(struct off *off, uint64_t most)
{
    if (off->runnable > most)
        off->runnable = most;
    if (off->blocked > most - off->runnable)
        off->blocked = most - off->runnable;
}

/* Where the core is lost between two of these readings, they do not belong together. */
MRL_COLD void mrl_cpu_begin(struct mrl_thread *t)
{
    for (int tries = 0; tries < 4; tries++) {
        t->cpu_wall_ns = mrl_raw_ns();
        t->cpu_ns = cpu_ns();
        t->switches = voluntary_switches();
        run_delay(&t->delay_ns);
        if (mrl_raw_ns() - t->cpu_wall_ns < INTERRUPTED_NS)
            break;
    }
}

/*
 * What went without a core up to the tick that is returned, since this was last asked. Where the core is lost while it is
 * asked, it is asked again: `reading` ticks of the time since `now` have gone into the last time.
 */
static uint64_t ask(struct mrl_thread *t, uint64_t now, struct off *off, uint64_t *reading)
{
    *off = (struct off){0, 0};
    for (int tries = 0; tries < 4; tries++) {
        struct off more = off_core(t);
        off->runnable += more.runnable;
        off->blocked += more.blocked;
        uint64_t after = mrl_now();
        *reading = after - now;
        if (*reading <= mrl.long_ticks)
            return after;
        now = after;
    }
    *reading = 0;
    return now;
}

/*
 * Within a gap that has become long, for whoever asks what the thread has spent: takes what it went without a core from
 * that. The MRL_BEFORE of the event that ends the gap has it all. All that is returned happened before the tick that is.
 */
MRL_COLD uint64_t mrl_cpu_notice(struct mrl_thread *t, uint64_t now)
{
    uint64_t ended = mrl_ended(t), reading;
    if (t->noticed_at > ended && now - t->noticed_at <= mrl.long_ticks)
        return now;
    struct off off;
    now = t->noticed_at = ask(t, now, &off, &reading);
    limit(&off, now - ended - t->noticed_off - t->noticed_blocked);
    t->noticed_off += off.runnable;
    t->noticed_blocked += off.blocked;
    t->off_sum += off.runnable;
    mrl_took(t, reading);
    return now;
}

/*
 * Before an event: says in an MRL_BEFORE what became of the gap that ends now. The event begins at the tick that is
 * returned: between a tick that was looked at and one that counts, the core could be lost unseen.
 */
MRL_COLD uint64_t mrl_cpu_gap(struct mrl_thread *t, uint64_t now)
{
    if (t->unentered) {
        mrl_enter_late(t);
        if (!t->own_ticks && now - t->last_end <= mrl.long_ticks)
            return now;
    }
    uint64_t ended = mrl_ended(t), own = t->own_ticks, reading = 0, after = now;
    struct off off = {t->noticed_off, t->noticed_blocked};
    t->own_ticks = t->noticed_off = t->noticed_blocked = 0;
    if (now - ended > mrl.long_ticks) {
        struct off more;
        after = ask(t, now, &more, &reading);
        limit(&more, after - ended - off.runnable - off.blocked);
        t->off_sum += more.runnable;
        off.runnable += more.runnable;
        off.blocked += more.blocked;
    }
    /* What Marple did since the last event may have been interrupted too, which is in `off` already. */
    uint64_t gap = after - reading - ended, most = off.runnable + off.blocked < gap ? gap - off.runnable - off.blocked : 0;
    if (own > most) {
        t->own_sum -= own - most;
        own = most;
    }
    own += reading;
    t->own_sum += reading;
    if (mrl.sampling) {
        mrl_samples_write(t);
        uint64_t wrote = mrl_now();
        if (wrote - after > mrl.long_ticks)
            mrl_cpu_begin(t);
        own += wrote - after;
        t->own_sum += wrote - after;
        after = wrote;
    }
    if (!off.runnable && !off.blocked && !own)
        return after;
    uint64_t head = mrl_head(t);
    struct mrl_before *record = &mrl_slot(t, head)->before;
    *record = (struct mrl_before){.runnable = off.runnable, .blocked = off.blocked, .own = own, .kind = MRL_BEFORE};
    uint64_t start = mrl_now();
    if (start - after > mrl.long_ticks) { /* the page had gone to disk, or the core was lost */
        mrl_cpu_begin(t);
        start = mrl_now();
        record->own += start - after;
        t->own_sum += start - after;
    }
    atomic_store_explicit(&t->head, head + 1, memory_order_release);
    return start;
}

/* After a long call: keeps what became of it for the MRL_INSIDE that follows its record. */
MRL_COLD void mrl_cpu_call(struct mrl_thread *t, uint64_t start, uint64_t end)
{
    struct off off;
    uint64_t reading, asked = ask(t, end, &off, &reading), later = asked - end - reading; /* lost while asking */
    later = later < off.runnable ? later : off.runnable;
    off.runnable -= later;
    limit(&off, end - start);
    t->off_inside = off.runnable;
    t->off_sum += off.runnable + later;
    t->mpi_sum -= off.runnable; /* the call will add all of its time */
    t->off_blocked = off.blocked;
    t->noticed_off = later;
    mrl_took(t, asked - end - later);
}
