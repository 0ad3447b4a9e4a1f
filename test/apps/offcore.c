/*
 * cshim/cpu.c on a machine of which all is known: its clocks move when they are read, and its core is lost where we want.
 * Prints, for a core that is lost for LOST ns at each of the moments at which the kernel is asked in turn, what time without
 * a core was found at the end, and of that, what was taken for blocked.
 */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { READING = 300, GAP = 1000000, LOST = 5000000 }; /* ns */

static uint64_t wall, cpu, delay, readings, lost_at;

static void pass(void)
{
    wall += READING, cpu += READING;
    if (++readings == lost_at)
        wall += LOST, delay += LOST;
}

static int told_time(clockid_t clock, struct timespec *t)
{
    (void)clock;
    pass();
    t->tv_sec = (time_t)(cpu / 1000000000u), t->tv_nsec = (long)(cpu % 1000000000u);
    return 0;
}

static long told_delay(int file, void *text, size_t size)
{
    (void)file;
    pass();
    return snprintf(text, size, "%llu %llu 1\n", (unsigned long long)cpu, (unsigned long long)delay);
}

#define clock_gettime told_time
#define mrl_read told_delay
#define open(...) (pass(), 0)
#define close(file) pass()
#include "cpu.c"
#undef clock_gettime
#undef mrl_read
#undef open
#undef close

MRL_HIDDEN struct mrl_process mrl;
uint64_t mrl_raw_ns(void) { return pass(), wall; }
uint64_t mrl_ns_to_ticks(uint64_t ns) { return ns; }
int mrl_defer(void) { return 0; }
void mrl_undefer(int cancel) { (void)cancel; }

static struct mrl_thread t;

static void gap(void) { wall += GAP + LOST, cpu += GAP, delay += LOST; }

int main(void)
{
    mrl.clock = mrl_raw_ns, mrl.long_ticks = 10000;
    mrl_cpu_begin(&t);
    uint64_t begun = readings;
    for (uint64_t moment = 1, asked = moment; moment <= asked; moment++) {
        wall = cpu = delay = readings = lost_at = 0;
        mrl_cpu_begin(&t);
        lost_at = begun + moment;
        struct off all = {0, 0}, off;
        for (int i = 0; i < 3; i++) {
            uint64_t reading;
            gap();
            ask(&t, wall, &off, &reading);
            all.runnable += off.runnable, all.blocked += off.blocked;
        }
        asked = readings - begun;
        gap();
        off = off_core(&t); /* what was lost at the end of the last one */
        printf("%llu %llu\n", (unsigned long long)(all.runnable + off.runnable), (unsigned long long)(all.blocked + off.blocked));
    }
}
