/*
 * PerfStubs: the functions ps_tool_* that perfstubs_api looks for in the process when a program or library (ADIOS2, PETSc,
 * CAMTIMERS) begins to time. Timers are regions, counters reported values. Another tool that has them as well is called, too.
 */
#include "adapter.h"

#include <stdio.h>

static const struct mrl_adapter timers = {"perfstubs", "PerfStubs"}, phases = {"perfstubs", "PerfStubs phase"};

/* A timer or counter; of more than these the further ones are not recorded. */
#define HANDLES 4096u
struct handle {
    const char *name;
    void *next; /* the next tool's */
};
static struct handle handles[HANDLES];
static _Atomic uint32_t used;

static struct handle *handle(const char *name, void *next)
{
    uint32_t i = atomic_load(&used) < HANDLES ? atomic_fetch_add(&used, 1) : HANDLES;
    if (i >= HANDLES)
        return NULL;
    handles[i] = (struct handle){mrl_adapter_keep(name), next};
    return &handles[i];
}

/* Looked up once: without another tool a call of it costs a test. */
#define NEXT(type, name, parameters)                                                           \
    static type(*next_##name) parameters;                                                      \
    static _Atomic bool asked_##name;                                                          \
    if (unlikely(!asked_##name)) {                                                             \
        *(void **)&next_##name = mrl_adapter_next("ps_tool_" #name);                           \
        asked_##name = true;                                                                   \
    }
#define PASS_ON(name, parameters, ...)     \
    do {                                   \
        NEXT(void, name, parameters)       \
        if (unlikely(next_##name != NULL)) \
            next_##name(__VA_ARGS__);      \
    } while (0)

MRL_ENTRY void ps_tool_initialize(void)
{
    PASS_ON(initialize, (void));
}

MRL_ENTRY void ps_tool_finalize(void)
{
    PASS_ON(finalize, (void));
}

MRL_ENTRY void ps_tool_register_thread(void)
{
    PASS_ON(register_thread, (void));
}

MRL_ENTRY void ps_tool_dump_data(void)
{
    PASS_ON(dump_data, (void));
}

/* As MPI_Pcontrol(0) and (1). What was not paused here is not resumed: the program may be in a phase of its own. */
static _Atomic bool paused;

MRL_ENTRY void ps_tool_pause_measurement(void)
{
    if (mrl.started && mrl_adapter_listens(&timers)) {
        mrl_phase(0);
        paused = true;
    }
    PASS_ON(pause_measurement, (void));
}

MRL_ENTRY void ps_tool_resume_measurement(void)
{
    if (atomic_exchange(&paused, false) && mrl.started && !mrl.stopped)
        mrl_phase(1);
    PASS_ON(resume_measurement, (void));
}

MRL_ENTRY void *ps_tool_timer_create(const char *name)
{
    NEXT(void *, timer_create, (const char *))
    return handle(name, next_timer_create ? next_timer_create(name) : NULL);
}

MRL_ENTRY void ps_tool_timer_start(const void *timer)
{
    const struct handle *h = timer;
    if (!h)
        return;
    mrl_adapter_begin(&timers, h->name, MRL_CALLER);
    PASS_ON(timer_start, (const void *), h->next);
}

MRL_ENTRY void ps_tool_timer_stop(const void *timer)
{
    const struct handle *h = timer;
    if (!h)
        return;
    mrl_adapter_end_innermost(&timers, h->name);
    PASS_ON(timer_stop, (const void *), h->next);
}

MRL_ENTRY void ps_tool_start_string(const char *name)
{
    mrl_adapter_begin(&timers, name, MRL_CALLER);
    PASS_ON(start_string, (const char *), name);
}

MRL_ENTRY void ps_tool_stop_string(const char *name)
{
    mrl_adapter_end_innermost(&timers, name);
    PASS_ON(stop_string, (const char *), name);
}

MRL_ENTRY void ps_tool_stop_current(void)
{
    mrl_adapter_end_innermost(&timers, NULL);
    PASS_ON(stop_current, (void));
}

MRL_ENTRY void ps_tool_set_parameter(const char *name, int64_t value)
{
    mrl_adapter_value(&timers, name, (double)value);
    PASS_ON(set_parameter, (const char *, int64_t), name, value);
}

/* All iterations of a phase are one region: a program may have millions of them. */
MRL_ENTRY void ps_tool_dynamic_phase_start(const char *name, int iteration)
{
    mrl_adapter_begin(&phases, name, MRL_CALLER);
    PASS_ON(dynamic_phase_start, (const char *, int), name, iteration);
}

MRL_ENTRY void ps_tool_dynamic_phase_stop(const char *name, int iteration)
{
    mrl_adapter_end_innermost(&phases, name);
    PASS_ON(dynamic_phase_stop, (const char *, int), name, iteration);
}

MRL_ENTRY void *ps_tool_create_counter(const char *name)
{
    NEXT(void *, create_counter, (const char *))
    return handle(name, next_create_counter ? next_create_counter(name) : NULL);
}

MRL_ENTRY void ps_tool_sample_counter(const void *counter, double value)
{
    const struct handle *h = counter;
    if (!h)
        return;
    mrl_adapter_value(&timers, h->name, value);
    PASS_ON(sample_counter, (const void *, double), h->next, value);
}

MRL_ENTRY void ps_tool_set_metadata(const char *name, const char *value)
{
    mrl_adapter_metadata(&timers, name, value);
    PASS_ON(set_metadata, (const char *, const char *), name, value);
}
