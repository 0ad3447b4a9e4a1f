/*
 * As much of PAPI as Marple uses, with counters that the program drives: stub_count(event, amount) in a thread
 * is what happens there. Two of the first component's three events fit its registers at once. What PAPI would
 * not allow ends the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION (6 << 24 | 0 << 16)
enum { OK = 0, EINVAL_ = -1, ENOEVNT = -7, ECNFLCT = -8, ENOTRUN = -9 };

static const struct {
    const char *name;
    int component;
} events[] = {{"STUB_TEN", 0}, {"STUB_SEVEN", 0}, {"STUB_NONE", 0}, {"other:::TEN", 1}, {"STUB_DEAD", 0}};
enum { EVENTS = sizeof events / sizeof *events, DEAD = EVENTS - 1, SETS = 8, REGISTERS = 2 };

static _Thread_local long long happened[EVENTS];
static _Thread_local struct set {
    int used, component, turns, running, count;
    int event[EVENTS];
    long long base[EVENTS];
} sets[SETS];
static int initialized, multiplex, threads;

__attribute__((visibility("default"))) void stub_count(int event, long long amount)
{
    happened[event] += amount;
    if (event == 0)
        happened[3] += amount;
}

static void must(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "stub of PAPI: %s\n", what);
    abort();
}

int PAPI_is_initialized(void) { return initialized; }

int PAPI_library_init(int version)
{
    if (version != VERSION)
        return EINVAL_;
    initialized = 1;
    return version;
}

int PAPI_thread_init(unsigned long (*id)(void))
{
    must(initialized && id, "PAPI_thread_init before PAPI_library_init");
    threads = 1;
    return OK;
}

int PAPI_multiplex_init(void)
{
    multiplex = 1;
    return OK;
}

int PAPI_event_name_to_code(const char *name, int *code)
{
    for (int i = 0; i < EVENTS; i++)
        if (strcmp(name, events[i].name) == 0) {
            *code = 0x40000000 | i;
            return OK;
        }
    return ENOEVNT;
}

int PAPI_get_event_component(int code) { return events[code & 255].component; }

int PAPI_create_eventset(int *set)
{
    must(threads, "no PAPI_thread_init");
    must(*set == -1, "an event set to be made that is not PAPI_NULL");
    for (int i = 0; i < SETS; i++)
        if (!sets[i].used) {
            sets[i] = (struct set){.used = 1, .component = -1};
            *set = i;
            return OK;
        }
    return EINVAL_;
}

int PAPI_assign_eventset_component(int set, int component)
{
    must(sets[set].used && sets[set].count == 0, "a component for a set with events");
    sets[set].component = component;
    return OK;
}

int PAPI_set_multiplex(int set)
{
    must(multiplex && sets[set].component >= 0 && !sets[set].running, "PAPI_set_multiplex too early or too late");
    sets[set].turns = 1;
    return OK;
}

int PAPI_add_event(int set, int code)
{
    struct set *s = &sets[set];
    must(s->used && !s->running, "PAPI_add_event to a set that runs");
    must(s->component == events[code & 255].component, "an event of another component");
    if (s->count == REGISTERS && !s->turns)
        return ECNFLCT;
    s->event[s->count++] = code & 255;
    return OK;
}

int PAPI_remove_event(int set, int code)
{
    struct set *s = &sets[set];
    must(!s->running && s->count && s->event[s->count - 1] == (code & 255), "PAPI_remove_event of another than the last");
    s->count--;
    return OK;
}

int PAPI_start(int set)
{
    struct set *s = &sets[set];
    must(s->used && !s->running, "PAPI_start of a set that runs");
    for (int i = 0; i < s->count; i++) {
        if (s->event[i] == DEAD)
            return ECNFLCT;
        s->base[i] = happened[s->event[i]];
    }
    for (int i = 0; i < SETS; i++)
        must(!sets[i].running || sets[i].component != s->component, "two running sets of one component");
    s->running = 1;
    return OK;
}

int PAPI_read(int set, long long *values)
{
    struct set *s = &sets[set];
    if (!s->running)
        return ENOTRUN;
    for (int i = 0; i < s->count; i++)
        values[i] = happened[s->event[i]] - s->base[i];
    return OK;
}

int PAPI_stop(int set, long long *values)
{
    int result = PAPI_read(set, values);
    sets[set].running = 0;
    return result;
}

int PAPI_cleanup_eventset(int set)
{
    must(!sets[set].running, "PAPI_cleanup_eventset of a set that runs");
    sets[set].count = 0;
    return OK;
}

int PAPI_destroy_eventset(int *set)
{
    must(sets[*set].count == 0, "PAPI_destroy_eventset of a set with events");
    sets[*set].used = 0;
    *set = -1;
    return OK;
}

int PAPI_register_thread(void) { return OK; }
int PAPI_unregister_thread(void) { return OK; }

char *PAPI_strerror(int code)
{
    static char text[32];
    snprintf(text, sizeof text, "stub's error %d", code);
    return text;
}
