/*
 * Regions and phases: the application's own names for parts of its time; and functions, where the compiler
 * was asked to say when they begin and end. What is open in a thread forms a stack, on which ends that come
 * in the wrong order are put right, and counted if it was the application's doing.
 */
#include "include/marple.h"
#include "path.h"

#include <string.h>

/* The record of what was opened last, because something else is to be recorded. */
MRL_COLD void mrl_enter_late(struct mrl_thread *t)
{
    struct mrl_open *open = &t->open[t->depth - 1];
    open->own = mrl_own_before(t);
    open->off = mrl_off_before(t);
    open->mpi = t->mpi_sum;
    open->overlap = mrl_overlap(t, open->enter);
    uint64_t at = mrl_head(t);
    mrl_slot(t, at)->record = (struct mrl_record){.start = open->enter, .path = open->path, .peer = MRL_NO_PEER, .kind = MRL_ENTER};
    atomic_store_explicit(&t->head, at + 1, memory_order_release);
    t->unentered = 0;
    t->last_end = open->enter;
}

static void exit_top(struct mrl_thread *t)
{
    t->cut_short += mrl_node_at(t->open[t->depth - 1].path)->kind == MRL_NODE_COMPONENT;
    bool counted = unlikely(mrl.counters) && !t->paths->functions[t->depth - 1];
    if (counted)
        mrl_count_to(t);
    if (t->unentered && !t->own_ticks) {
        uint64_t now = mrl_now(), wall = now - t->open[t->depth - 1].enter;
        if (likely(wall <= mrl.long_ticks)) {
            struct mrl_open open = mrl_pop(t, now);
            uint64_t at = mrl_head(t);
            mrl_slot(t, at)->leaf = (struct mrl_leaf){
                .end = now, .duration = (uint32_t)wall, .path = open.path, .kind = MRL_LEAF, .flags = MRL_PLAIN};
            mrl_commit(t, counted ? mrl_write_counts(t, open.path, 0, at + 1) : at + 1);
            return;
        }
    }
    uint64_t now = mrl_start(t);
    struct mrl_open open = mrl_pop(t, now);
    uint64_t duration = now - open.enter;
    uint64_t at = mrl_head(t);
    if (duration > UINT32_MAX)
        mrl_slot(t, at++)->wide = (struct mrl_wide){.duration = duration, .kind = MRL_WIDE};
    mrl_slot(t, at++)->record = (struct mrl_record){
        .start = now, .duration = (uint32_t)duration, .path = open.path, .peer = MRL_NO_PEER, .kind = MRL_EXIT};
    mrl_commit(t, counted ? mrl_write_counts(t, open.path, 0, at) : at);
}

const struct mrl_path *mrl_region_path(struct mrl_thread *t, const char *name, struct mrl_caller caller)
{
    const struct mrl_path *path = mrl_path_remembered(t, MRL_EVENT_REGION, name, caller);
    /* The same memory may hold another name by now. */
    if (path && strncmp(mrl_text(mrl_node_at(path->node)->name), name, 255) == 0)
        return path;
    struct mrl_node leaf = {.kind = MRL_NODE_REGION, .name = mrl_string(name, 255)};
    return mrl_path_walk(t, MRL_EVENT_REGION, name, caller, &leaf);
}

const struct mrl_path *mrl_function_path(struct mrl_thread *t, const void *function, struct mrl_caller caller)
{
    const struct mrl_path *path = mrl_path_remembered(t, MRL_EVENT_FUNCTION, function, caller);
    if (path)
        return path;
    struct mrl_node leaf = {.kind = MRL_NODE_FRAME};
    leaf.name = mrl_module((uintptr_t)function, &leaf.key);
    return mrl_path_walk(t, MRL_EVENT_FUNCTION, function, caller, &leaf);
}

static void region_begin(const char *name)
{
    struct mrl_thread *t = name ? mrl_outside_mpi() : NULL;
    if (!t)
        return;
    const struct mrl_path *path = mrl_region_path(t, name, MRL_CALLER);
    mrl_open_node(t, path->node, mrl_beginning_of(t, path), false);
    t->inside = 0;
}

static bool is_region(uint32_t node, const char *name)
{
    const struct mrl_node *n = mrl_node_at(node);
    return n->kind == MRL_NODE_REGION && strncmp(mrl_text(n->name), name, 255) == 0;
}

/* Ends what is open at this depth of the stack, and all inside it. */
void mrl_close_from(struct mrl_thread *t, uint32_t depth)
{
    while (t->depth > depth)
        exit_top(t);
}

static void region_end(const char *name)
{
    struct mrl_thread *t = name ? mrl_outside_mpi() : NULL;
    if (!t)
        return;
    uint32_t depth = t->depth;
    while (depth > 0 && !is_region(t->open[depth - 1].path, name))
        depth--;
    t->inside = 0;
    t->bad_exits += depth ? t->depth - depth : 1;
    if (depth)
        mrl_close_from(t, depth - 1);
}

void mrl_region_aside(struct mrl_thread *t, uint32_t node, uint64_t began, uint64_t ended)
{
    uint64_t at = mrl_head(t);
    if (t->off_inside | t->off_blocked)
        mrl_slot(t, at++)->inside = (struct mrl_inside){.runnable = t->off_inside, .blocked = t->off_blocked, .kind = MRL_INSIDE};
    t->mpi_sum += t->off_inside; /* which mrl_stop has taken from it: this is no call of MPI */
    t->off_inside = t->off_blocked = 0;
    mrl_slot(t, at++)->aside = (struct mrl_aside){.end = ended, .duration = ended - began, .path = node, .kind = MRL_ASIDE};
    mrl_commit(t, at);
}

/*
 * MPI_Pcontrol(level). As MPI-4.0 section 15.2.4 suggests, 0 switches recording off, 1 on, and 2 would
 * flush; any other level begins a phase of that number and ends the one before, as 1 does. The time
 * while recording is off is phase 0.
 */
void mrl_phase(int level)
{
    if (level == 2)
        return;
    if (mrl.started && !mrl.stopped)
        mrl_switch(true);
    struct mrl_thread *t = mrl_outside_mpi();
    if (!t)
        return;
    uint32_t depth = 0;
    while (depth < t->depth && mrl_node_at(t->open[depth].path)->kind != MRL_NODE_PHASE)
        depth++;
    mrl_close_from(t, depth);
    if (level != 1)
        mrl_open_node(t, mrl_node(&(struct mrl_node){.parent = t->where, .kind = MRL_NODE_PHASE, .key = (uint64_t)(int64_t)level}), NULL, false);
    t->inside = 0;
    mrl_switch(level != 0);
}

static MRL_COLD void record_mpi(int on)
{
    if (!mrl.started || mrl.stopped || mrl.mpi_off == !on)
        return;
    uint64_t now = mrl_now();
    if (on)
        mrl.header->unrecorded_ticks += now - mrl.header->unrecorded_since;
    mrl.header->unrecorded_since = on ? 0 : now;
    mrl.mpi_off = !on;
    mrl_switch(mrl.hooks);
}

/* The end is recorded whatever the program has switched off. */
void mrl_resume(void)
{
    record_mpi(1);
    if (!mrl.hooks)
        mrl_phase(1);
}

/*
 * Functions that were left without an end, by longjmp: their frames lie below the stack pointer. Two may
 * begin at the same place of the stack, one after the other; then what they return to tells them apart.
 */
static bool left(const struct mrl_paths *p, uint32_t depth, uintptr_t sp, const struct mrl_anchor *now)
{
    const struct mrl_anchor *a = p->anchors[depth];
    if (!p->functions[depth] || !a->top)
        return false;
    return now ? a->top == now->top && (a->ra != now->ra || a->function != now->function) : a->top <= sp;
}

static void function_begin(void *function, struct mrl_caller caller)
{
    struct mrl_thread *t = mrl_self;
    if (!atomic_load_explicit(&mrl.hooks, memory_order_relaxed) || !(t = mrl_outside_mpi()))
        return;
    struct mrl_paths *p = t->paths;
    const struct mrl_path *path;
    while (t->depth && left(p, t->depth - 1, caller.sp, NULL))
        exit_top(t);
    for (;;) {
        path = mrl_function_path(t, function, caller);
        if (!t->depth || !left(p, t->depth - 1, 0, mrl_beginning_of(t, path)->anchors))
            break;
        exit_top(t);
    }
    if (t->depth == MRL_DEPTH && !p->beyond)
        p->beyond = mrl_beginning_of(t, path)->anchors[0].top ? mrl_beginning_of(t, path)->anchors[0].top : caller.sp;
    mrl_open_node(t, path->node, mrl_beginning_of(t, path), true);
    t->inside = 0;
}

/* Functions that began before the measurement, or too deep, end unnoticed. */
static void function_end(void *function, struct mrl_caller caller)
{
    struct mrl_thread *t = mrl_self;
    if (!t || !atomic_load_explicit(&mrl.hooks, memory_order_relaxed) || !(t = mrl_outside_mpi()))
        return;
    struct mrl_paths *p = t->paths;
    t->inside = 0;
    if (p->beyond && caller.sp <= p->beyond)
        return;
    p->beyond = 0;
    uint32_t depth = t->depth;
    /* It may end by jumping here, when its frame is gone: then the stack pointer is at the frame's upper end. */
    while (depth > 0 && (p->functions[depth - 1] != function || (p->anchors[depth - 1][0].top && p->anchors[depth - 1][0].top < caller.sp)))
        depth--;
    if (depth)
        mrl_close_from(t, depth - 1);
}

/* What -finstrument-functions puts at the beginning and the end of each function. */
#define MRL_HOOK __attribute__((visibility("default")))

MRL_HOOK void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    function_begin(function, MRL_CALLER);
}

MRL_HOOK void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    function_end(function, MRL_CALLER);
}

/* Closes what is still open when the run ends. */
void mrl_close_regions(struct mrl_thread *t)
{
    mrl_close_from(t, 0);
    if (mrl.counters)
        mrl_counters_total(t);
}

static int totals(struct marple_totals *out)
{
    struct mrl_thread *t = mrl_outside_mpi();
    if (!t)
        return 0;
    uint64_t now = mrl_now();
    if (unlikely(now - mrl_ended(t) > mrl.long_ticks))
        now = mrl_cpu_notice(t, now);
    t->inside = 0;
    /* Clocks that are calibrated apart differ by parts per million: nobody is told that time has gone back. */
    uint64_t passed = now - t->begin_tick, other = t->own_sum + t->off_sum;
    uint64_t more = mrl_ticks_to_ns(passed > other ? passed - other : 0) - t->told_wall, in_mpi = mrl_ticks_to_ns(t->mpi_sum), mpi = in_mpi - t->seen_mpi;
    if ((int64_t)more < 0)
        more = 0;
    if ((int64_t)mpi < 0)
        mpi = 0;
    t->seen_mpi = in_mpi;
    t->told_wall += more;
    t->told_mpi += mpi < more ? mpi : more;
    out->wall = t->told_wall;
    out->mpi = t->told_mpi;
    out->rank = mrl.header->rank;
    out->ranks = mrl.header->ranks;
    return 1;
}

__attribute__((visibility("default"))) const struct marple_hooks marple_hooks_1 = {
    .size = sizeof(struct marple_hooks),
    .region_begin = region_begin,
    .region_end = region_end,
    .invocation_begin = mrl_invocation_begin,
    .invocation_end = mrl_invocation_end,
    .families = mrl_families,
    .totals = totals,
    .record_mpi = record_mpi,
};
