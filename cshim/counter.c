/*
 * Counters. Three sources know names, all of them PAPI's, and the first that can count a name here does: PAPI,
 * which is opened when counters are asked for; perf_event; and what the kernel accounts to each thread anyway. Of what
 * the kernel itself does (context switches, page faults) PAPI is asked last: it leaves out what happens in the kernel,
 * where all of it happens.
 * Whether one can is tried, because PAPI lists events that the machine does not have.
 *
 * Each thread counts by itself, from the sources that the first one found; what it cannot count is missing from
 * its records. Events that do not fit the machine's registers at once take turns, and are scaled.
 */
#include "counter.h"
#include "shield.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FIRST_DESCRIPTOR 512 /* out of the way of the application's */

/* What a thread counts with. */
struct set { /* of events of one of PAPI's components */
    int id, component;
    uint32_t events;
    bool turns;
};
struct mrl_counting {
    enum mrl_counter_source from[MRL_COUNTERS];
    int fd[MRL_COUNTERS];                              /* perf_event */
    uint8_t set[MRL_COUNTERS], place[MRL_COUNTERS];    /* PAPI */
    struct set sets[MRL_COUNTERS];
    uint32_t set_count;
    uint64_t begin[MRL_COUNTERS];                      /* readings when the thread began */
    uint64_t at[MRL_DEPTH][MRL_COUNTERS];              /* ... when what is open began */
    uint64_t since[MRL_COUNTERS];                      /* counted since what ends now began */
    uint64_t own[MRL_COUNTERS], paused[MRL_COUNTERS];  /* Marple's */
};

/* What the kernel knows by itself. Software events have two names each. */
enum account { NO_ACCOUNT, FAULTS, MINOR_FAULTS, MAJOR_FAULTS, SWITCHES, CPU_TIME };
static const struct event {
    const char *name, *also;
    uint32_t type;
    uint64_t config;
    enum account account;
} events[] = {
    {"PAPI_TOT_CYC", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, NO_ACCOUNT},
    {"PAPI_TOT_INS", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, NO_ACCOUNT},
    {"PAPI_REF_CYC", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, NO_ACCOUNT},
    {"PAPI_BR_INS", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, NO_ACCOUNT},
    {"PAPI_BR_MSP", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, NO_ACCOUNT},
    {"PAPI_L3_TCM", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, NO_ACCOUNT},
    {"PAPI_L1_LDM", "", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_RESULT_MISS << 16, NO_ACCOUNT},
    {"PAPI_L1_ICM", "", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1I | PERF_COUNT_HW_CACHE_RESULT_MISS << 16, NO_ACCOUNT},
    {"PAPI_TLB_IM", "", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_ITLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16, NO_ACCOUNT},
    {"perf::PAGE-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, FAULTS},
    {"perf::MINOR-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS_MIN", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, MINOR_FAULTS},
    {"perf::MAJOR-FAULTS", "perf::PERF_COUNT_SW_PAGE_FAULTS_MAJ", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, MAJOR_FAULTS},
    {"perf::CONTEXT-SWITCHES", "perf::PERF_COUNT_SW_CONTEXT_SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, SWITCHES},
    {"perf::CPU-MIGRATIONS", "perf::PERF_COUNT_SW_CPU_MIGRATIONS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, NO_ACCOUNT},
    {"perf::TASK-CLOCK", "perf::PERF_COUNT_SW_TASK_CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, CPU_TIME},
};

/* What is counted: the first mrl.counters of these. */
static struct counter {
    char name[256];
    enum mrl_counter_source source;
    const struct event *event; /* NULL: only PAPI knows it */
} counters[MRL_COUNTERS];

static const char not_offered[] = "this machine does not offer it";
static const char not_known[] = "no such event";

/* As papi.h has them. */
enum { PAPI_OK = 0, PAPI_NULL = -1 };
#define PAPI_VERSION_OF(major, minor) ((major) << 24 | (minor) << 16)
#define PAPI_FUNCTIONS(F) \
    F(int, library_init, (int version)) \
    F(int, is_initialized, (void)) \
    F(int, thread_init, (unsigned long (*id)(void))) \
    F(int, multiplex_init, (void)) \
    F(int, event_name_to_code, (const char *name, int *code)) \
    F(int, get_event_component, (int code)) \
    F(int, create_eventset, (int *set)) \
    F(int, assign_eventset_component, (int set, int component)) \
    F(int, set_multiplex, (int set)) \
    F(int, add_event, (int set, int code)) \
    F(int, remove_event, (int set, int code)) \
    F(int, start, (int set)) \
    F(int, read, (int set, long long *values)) \
    F(int, stop, (int set, long long *values)) \
    F(int, cleanup_eventset, (int set)) \
    F(int, destroy_eventset, (int *set)) \
    F(int, register_thread, (void)) \
    F(int, unregister_thread, (void)) \
    F(char *, strerror, (int code))

static struct {
#define F(result, name, parameters) result(*name) parameters;
    PAPI_FUNCTIONS(F)
#undef F
    char why[256]; /* it cannot be used */
} papi;

static unsigned long thread_id(void)
{
    return (unsigned long)pthread_self();
}

static bool find_papi(void *library)
{
    const char *missing = NULL;
#define F(result, name, parameters) \
    if (!(*(void **)&papi.name = dlsym(library, "PAPI_" #name))) \
        missing = "PAPI_" #name;
    PAPI_FUNCTIONS(F)
#undef F
    if (missing)
        snprintf(papi.why, sizeof papi.why, "it has no %s", missing);
    return !missing;
}

/* The library's version must be known to it; it is not in its name on all systems. */
static bool init_papi(void)
{
    if (papi.is_initialized() != 0)
        return true; /* by the application */
    for (int major = 7; major >= 5; major--)
        for (int minor = 0; minor < 10; minor++)
            if (papi.library_init(PAPI_VERSION_OF(major, minor)) == PAPI_VERSION_OF(major, minor)) {
                papi.multiplex_init();
                papi.thread_init(thread_id);
                return true;
            }
    snprintf(papi.why, sizeof papi.why, "it cannot be initialised, or is not of version 5 to 7");
    return false;
}

static bool open_papi(void)
{
    static const char *const usual[] = {"libpapi.so", "libpapi.so.7", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0", "libpapi.so.6",
                                        "libpapi.so.6.0", "libpapi.so.5"};
    void *library = NULL;
    if (*mrl.settings.papi)
        library = dlopen(mrl.settings.papi, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    else
        for (size_t i = 0; !library && i < sizeof usual / sizeof *usual; i++)
            library = dlopen(usual[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        if (*mrl.settings.papi)
            snprintf(papi.why, sizeof papi.why, "%.200s cannot be opened", mrl.settings.papi);
        else
            snprintf(papi.why, sizeof papi.why, "it is not installed");
        return false;
    }
    return find_papi(library) && init_papi();
}

static int add_to_set(struct mrl_counting *c, uint32_t k, struct set *s, int code)
{
    long long values[MRL_COUNTERS];
    int result = papi.add_event(s->id, code);
    if (result == PAPI_OK && (result = papi.start(s->id)) != PAPI_OK)
        papi.remove_event(s->id, code);
    if (result != PAPI_OK)
        return result;
    papi.stop(s->id, values);
    c->set[k] = (uint8_t)(s - c->sets);
    c->place[k] = (uint8_t)s->events++;
    return PAPI_OK;
}

/* All these tell why a counter does not count, or NULL if it does. */
static const char *add_to_papi(struct mrl_counting *c, uint32_t k)
{
    int code, result;
    if (*papi.why)
        return counters[k].event ? not_offered : "it takes PAPI to know it";
    /* What this thread is PAPI would look up by itself, but not before it is asked for a code (7.0: a fault). */
    if (!c->set_count && (result = papi.register_thread()) != PAPI_OK)
        return papi.strerror(result);
    if ((result = papi.event_name_to_code(counters[k].name, &code)) != PAPI_OK)
        return not_known;
    int component = papi.get_event_component(code);
    struct set *s = c->sets, *end = s + c->set_count;
    while (s < end && s->component != component)
        s++;
    if (s == end) {
        *s = (struct set){.id = PAPI_NULL, .component = component};
        if (component < 0 || (result = papi.create_eventset(&s->id)) != PAPI_OK || (result = papi.assign_eventset_component(s->id, component)) != PAPI_OK)
            return papi.strerror(component < 0 ? component : result);
        c->set_count++;
    }
    result = add_to_set(c, k, s, code);
    if (result != PAPI_OK && s->events && !s->turns && papi.set_multiplex(s->id) == PAPI_OK) {
        s->turns = true;
        result = add_to_set(c, k, s, code);
    }
    return result == PAPI_OK ? NULL : papi.strerror(result);
}

static const char *open_perf_event(struct mrl_counting *c, uint32_t k)
{
    const struct event *e = counters[k].event;
    if (!e)
        return not_known;
    /* The kernel's part of an event belongs to it if it is the kernel's doing. */
    struct perf_event_attr a = {
        .type = e->type, .size = sizeof a, .config = e->config, .exclude_hv = 1, .exclude_kernel = e->type != PERF_TYPE_SOFTWARE,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return errno == EACCES || errno == EPERM ? "it is not allowed: see /proc/sys/kernel/perf_event_paranoid" : not_offered;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high >= 0)
        close(fd);
    c->fd[k] = high >= 0 ? high : fd;
    return NULL;
}

static const char *add_account(struct mrl_counting *c, uint32_t k)
{
    (void)c;
    return counters[k].event && counters[k].event->account ? NULL : not_known;
}

static const char *(*const sources[])(struct mrl_counting *, uint32_t) = {
    [MRL_PAPI] = add_to_papi, [MRL_PERF_EVENT] = open_perf_event, [MRL_ACCOUNTED] = add_account};

static uint64_t read_account(enum account account)
{
    struct rusage usage;
    struct timespec cpu;
    if (account == CPU_TIME)
        return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) ? MRL_NOT_COUNTED : (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    if (getrusage(RUSAGE_THREAD, &usage))
        return MRL_NOT_COUNTED;
    switch (account) {
    case FAULTS:
        return (uint64_t)(usage.ru_minflt + usage.ru_majflt);
    case MINOR_FAULTS:
        return (uint64_t)usage.ru_minflt;
    case MAJOR_FAULTS:
        return (uint64_t)usage.ru_majflt;
    default:
        return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
    }
}

static uint64_t read_perf_event(int fd)
{
    struct {
        uint64_t value, enabled, running;
    } now;
    if (mrl_read(fd, &now, sizeof now) != sizeof now || (now.running == 0 && now.enabled > 0))
        return MRL_NOT_COUNTED;
    return now.running < now.enabled ? (uint64_t)((double)now.value * (double)now.enabled / (double)now.running) : now.value;
}

static void read_counters(const struct mrl_counting *c, uint64_t out[MRL_COUNTERS])
{
    long long values[MRL_COUNTERS][MRL_COUNTERS];
    bool read[MRL_COUNTERS];
    int cancel = mrl_defer();
    for (uint32_t s = 0; s < c->set_count; s++)
        read[s] = papi.read(c->sets[s].id, values[s]) == PAPI_OK;
    for (uint32_t k = 0; k < mrl.counters; k++) {
        out[k] = MRL_NOT_COUNTED;
        switch (c->from[k]) {
        case MRL_PAPI:
            if (read[c->set[k]])
                out[k] = (uint64_t)values[c->set[k]][c->place[k]];
            break;
        case MRL_PERF_EVENT:
            out[k] = read_perf_event(c->fd[k]);
            break;
        case MRL_ACCOUNTED:
            out[k] = read_account(counters[k].event->account);
            break;
        case MRL_NOWHERE:
        case MRL_HOST:
            break;
        }
    }
    mrl_undefer(cancel);
}

static void subtract(uint64_t out[MRL_COUNTERS], const uint64_t *to, const uint64_t *from)
{
    for (uint32_t k = 0; k < mrl.counters; k++)
        out[k] = to[k] == MRL_NOT_COUNTED || from[k] == MRL_NOT_COUNTED ? MRL_NOT_COUNTED : to[k] > from[k] ? to[k] - from[k] : 0;
}

/* Without what Marple has counted. */
static void read_application(const struct mrl_counting *c, uint64_t out[MRL_COUNTERS])
{
    read_counters(c, out);
    subtract(out, out, c->own);
}

static void stop(struct mrl_counting *c)
{
    long long values[MRL_COUNTERS];
    for (uint32_t s = 0; s < c->set_count; s++) {
        papi.stop(c->sets[s].id, values);
        papi.cleanup_eventset(c->sets[s].id);
        papi.destroy_eventset(&c->sets[s].id);
    }
    if (c->set_count)
        papi.unregister_thread();
    for (uint32_t k = 0; k < MRL_COUNTERS; k++)
        if (c->from[k] == MRL_PERF_EVENT)
            close(c->fd[k]);
    memset(c, 0, sizeof *c);
}

/* One name of the list, and the rest of it. */
static const char *next_name(const char *list, char *name, size_t size)
{
    list += strspn(list, " ,");
    size_t length = strcspn(list, ",");
    const char *rest = list + length;
    while (length && list[length - 1] == ' ')
        length--;
    snprintf(name, size, "%.*s", (int)length, list);
    return rest;
}

static const struct event *find_event(const char *name)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (strcmp(name, events[i].name) == 0 || strcmp(name, events[i].also) == 0)
            return &events[i];
    return NULL;
}

static void refuse(const char *name, const char *why)
{
    char *text = mrl.header->uncounted;
    size_t used = strlen(text), size = sizeof mrl.header->uncounted;
    snprintf(text + used, size - used, "%s%.100s (%.100s)", used ? ", " : "", name, why);
}

void mrl_counters_choose(void)
{
    static struct mrl_counting trial;
    const char *list = mrl.settings.counters;
    if (!list[strspn(list, " ,")])
        return;
    if (!open_papi() && !*papi.why)
        snprintf(papi.why, sizeof papi.why, "unknown error");
    struct mrl_header *h = mrl.header;
    while (list[strspn(list, " ,")]) {
        char name[sizeof counters->name];
        list = next_name(list, name, sizeof name);
        uint32_t k = 0;
        while (k < mrl.counters && strcmp(counters[k].name, name) != 0)
            k++;
        if (k < mrl.counters)
            continue;
        if (k == MRL_COUNTERS) {
            refuse(name, "one too many");
            continue;
        }
        struct counter *new = &counters[k];
        *new = (struct counter){.event = find_event(name)};
        memcpy(new->name, name, sizeof name);
        const char *why = NULL, *first = NULL;
        static const enum mrl_counter_source orders[2][3] = {{MRL_PAPI, MRL_PERF_EVENT, MRL_ACCOUNTED}, {MRL_PERF_EVENT, MRL_ACCOUNTED, MRL_PAPI}};
        const enum mrl_counter_source *order = orders[new->event && new->event->type == PERF_TYPE_SOFTWARE];
        enum mrl_counter_source source = MRL_NOWHERE;
        for (int i = 0; i < 3 && !source; i++) {
            why = sources[order[i]](&trial, k);
            if (!why)
                source = order[i];
            else if (!first || (first == not_known && why != not_known) || order[i] == MRL_PERF_EVENT)
                first = why == not_known && first ? first : why;
        }
        if (!source) {
            refuse(name, first);
            continue;
        }
        new->source = trial.from[k] = source;
        h->counters[k] = mrl_string(name, 255);
        h->counter_sources[k] = (uint8_t)source;
        h->counter_count = ++mrl.counters;
    }
    for (uint32_t s = 0; s < trial.set_count; s++)
        papi.start(trial.sets[s].id); /* so that it can be stopped like any other */
    stop(&trial);
    size_t used = strlen(h->uncounted);
    if (used && *papi.why)
        snprintf(h->uncounted + used, sizeof h->uncounted - used, "; PAPI is not used: %.200s", papi.why);
    if (used)
        mrl_say("not counted: %s", h->uncounted);
}

void mrl_counters_begin(struct mrl_thread *t)
{
    struct mrl_counting *c = t->counting;
    if (!c) {
        c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (c == MAP_FAILED) {
            atomic_fetch_add(&mrl.header->threads_uncounted, 1);
            return;
        }
    }
    bool all = true;
    for (uint32_t k = 0; k < mrl.counters; k++) {
        bool counts = !sources[counters[k].source](c, k);
        c->from[k] = counts ? counters[k].source : MRL_NOWHERE;
        all = all && counts;
    }
    for (uint32_t s = 0; s < c->set_count; s++)
        all = papi.start(c->sets[s].id) == PAPI_OK && all;
    if (!all)
        atomic_fetch_add(&mrl.header->threads_uncounted, 1);
    read_counters(c, c->begin);
    t->counting = c;
}

void mrl_counters_end(struct mrl_thread *t)
{
    if (t->counting)
        stop(t->counting);
}

void mrl_count_from(struct mrl_thread *t)
{
    struct mrl_counting *c = t->counting;
    uint64_t begin = mrl_now();
    if (c)
        read_application(c, c->at[t->depth]);
    mrl_own(t, begin);
}

void mrl_count_to(struct mrl_thread *t)
{
    struct mrl_counting *c = t->counting;
    uint64_t begin = mrl_now();
    if (c) {
        read_application(c, c->since);
        subtract(c->since, c->since, c->at[t->depth - 1]);
    }
    mrl_own(t, begin);
}

uint64_t mrl_write_counts(struct mrl_thread *t, uint32_t path, uint8_t flags, uint64_t at)
{
    const struct mrl_counting *c = t->counting;
    for (uint32_t k = 0; c && k < mrl.counters; k += 3) {
        uint64_t *word = mrl_slot(t, at++)->words;
        for (uint32_t i = 0; i < 3; i++)
            word[i] = k + i < mrl.counters ? c->since[k + i] : MRL_NOT_COUNTED;
        word[3] = MRL_WORD(path, k, MRL_COUNTS, flags);
    }
    return at;
}

void mrl_counters_total(struct mrl_thread *t)
{
    struct mrl_counting *c = t->counting;
    if (!c)
        return;
    read_application(c, c->since);
    subtract(c->since, c->since, c->begin);
    mrl_commit(t, mrl_write_counts(t, MRL_ROOT_NODE, 0, mrl_head(t)));
}

void mrl_counters_pause(struct mrl_thread *t)
{
    if (t->counting)
        read_counters(t->counting, t->counting->paused);
}

void mrl_counters_resume(struct mrl_thread *t)
{
    struct mrl_counting *c = t->counting;
    uint64_t now[MRL_COUNTERS];
    if (!c)
        return;
    read_counters(c, now);
    subtract(now, now, c->paused);
    for (uint32_t k = 0; k < mrl.counters; k++)
        c->own[k] += now[k] == MRL_NOT_COUNTED ? 0 : now[k];
}

uint32_t mrl_counters_told(_Atomic uint32_t *place, const char *const *names, uint32_t n)
{
    static atomic_flag making = ATOMIC_FLAG_INIT;
    struct mrl_header *h = mrl.header;
    uint32_t known = atomic_load_explicit(place, memory_order_relaxed);
    if (likely(known <= MRL_COUNTERS) || atomic_flag_test_and_set(&making))
        return known;
    uint32_t first = (uint32_t)h->counter_count;
    if (atomic_load(place) > MRL_COUNTERS) {
        for (uint32_t i = 0; i < n; i++) {
            if (first + n > MRL_COUNTERS) {
                refuse(names[i], "one too many");
                continue;
            }
            h->counters[first + i] = mrl_string(names[i], 255);
            h->counter_sources[first + i] = MRL_HOST;
            h->counter_count = first + i + 1;
        }
        atomic_store(place, first + n <= MRL_COUNTERS ? first : MRL_COUNTERS);
    }
    atomic_flag_clear(&making);
    return atomic_load(place);
}
