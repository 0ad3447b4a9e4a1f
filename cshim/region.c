/*
 * Regions and phases: the application's own names for parts of its time. A thread's open regions form
 * a stack, on which ends that come in the wrong order are put right and counted.
 */
#include "include/marple.h"
#include "shim.h"

#include <string.h>

#define REGION_KEY (UINT64_C(0xffff) << 48) /* tells cached regions from cached call sites */

/* False if it is nested too deeply to be recorded. */
bool mrl_open_node(struct mrl_thread *t, uint32_t node)
{
    if (t->depth == MRL_DEPTH) {
        t->deep_regions++;
        return false;
    }
    uint64_t now = mrl_start(t);
    t->open[t->depth++] = (struct mrl_open){.enter = now, .path = node, .outer = t->where, .own = t->own_sum,
                                            .mpi = t->mpi_sum, .overlap = mrl_overlap(t, now)};
    t->where = node;
    t->last_end = now;
    uint64_t at = mrl_head(t);
    mrl_slot(t, at)->record = (struct mrl_record){.start = now, .path = node, .peer = MRL_NO_PEER, .kind = MRL_ENTER};
    mrl_commit(t, at + 1);
    return true;
}

static void exit_top(struct mrl_thread *t)
{
    uint64_t now = mrl_start(t);
    struct mrl_open open = t->open[--t->depth];
    uint64_t duration = now - open.enter;
    t->where = open.outer;
    t->last_end = now;
    uint64_t at = mrl_head(t);
    if (duration > UINT32_MAX)
        mrl_slot(t, at++)->wide = (struct mrl_wide){.duration = duration, .kind = MRL_WIDE};
    mrl_slot(t, at++)->record = (struct mrl_record){
        .start = now, .duration = (uint32_t)duration, .path = open.path, .peer = MRL_NO_PEER, .kind = MRL_EXIT};
    mrl_commit(t, at);
}

uint32_t mrl_region_node(struct mrl_thread *t, const char *name)
{
    uint64_t key = (uint64_t)(uintptr_t)name | REGION_KEY;
    struct mrl_site *site = &t->sites[((uintptr_t)name >> 3 ^ t->where) & (MRL_SITES - 1)];
    if (site->key == key && site->where == t->where &&
        strcmp(mrl_text(mrl_node_at(site->path)->name), name) == 0)
        return site->path;
    uint32_t text = mrl_string(name, 255);
    uint32_t node = mrl_node(t->where, MRL_NODE_REGION, 0, text, MRL_OP_NONE, 0);
    *site = (struct mrl_site){.key = key, .where = t->where, .path = node};
    return node;
}

/* From inside an MPI call (a user-defined reduction, say) there is nothing to attach a region to. */
struct mrl_thread *mrl_outside_mpi(void)
{
    struct mrl_thread *t = mrl_self;
    if (t && t->inside && mrl_stack() < t->inside) {
        t->inside_hooks++;
        return NULL;
    }
    if (unlikely(!mrl.started))
        mrl_begin_alone();
    return mrl_enter();
}

static void region_begin(const char *name)
{
    struct mrl_thread *t = name ? mrl_outside_mpi() : NULL;
    if (!t)
        return;
    mrl_open_node(t, mrl_region_node(t, name));
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
        mrl.on = true;
    struct mrl_thread *t = mrl_outside_mpi();
    if (!t)
        return;
    uint32_t depth = 0;
    while (depth < t->depth && mrl_node_at(t->open[depth].path)->kind != MRL_NODE_PHASE)
        depth++;
    mrl_close_from(t, depth);
    if (level != 1)
        mrl_open_node(t, mrl_node(t->where, MRL_NODE_PHASE, (uint64_t)(int64_t)level, 0, MRL_OP_NONE, 0));
    t->inside = 0;
    mrl.on = level != 0;
}

/* Closes what is still open when the run ends. */
void mrl_close_regions(struct mrl_thread *t)
{
    for (uint32_t i = 0; i < t->depth; i++)
        t->cut_short += mrl_node_at(t->open[i].path)->kind == MRL_NODE_COMPONENT;
    mrl_close_from(t, 0);
}

__attribute__((visibility("default"))) const struct marple_hooks marple_hooks_1 = {
    .size = sizeof(struct marple_hooks),
    .region_begin = region_begin,
    .region_end = region_end,
    .invocation_begin = mrl_invocation_begin,
    .invocation_end = mrl_invocation_end,
};
