#include "adapter.h"
#include "ours.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

const char *const mrl_adapter_layers[] = {"libkokkoscore*", "libtrilinos_kokkoscore*", "libomp", "libiomp5", NULL};

/* "all", "none", or names separated by commas. */
static bool listed(const char *name)
{
    const char *list = mrl.settings.adapters;
    size_t length = strlen(name);
    if (strcmp(list, "all") == 0)
        return true;
    for (const char *item = list; *item; item += *item == ',') {
        size_t n = strcspn(item, ",");
        if (n == length && memcmp(item, name, n) == 0)
            return true;
        item += n;
    }
    return false;
}

bool mrl_adapter_listens(const struct mrl_adapter *by)
{
    static _Atomic int launched = -1;
    if (unlikely(!mrl.started)) { /* a process that a launcher of MPI has started begins in MPI_Init, which is still to come */
        if (launched < 0)
            launched = mrl_told_rank() >= 0;
        return !launched;
    }
    return atomic_load_explicit(&mrl.hooks, memory_order_relaxed) && listed(by->name);
}

/* Names stay where they are, in the table of names; one that does not costs a look at the table of nodes. */
static void note_group(const char *name, const char *group)
{
    static const char *_Atomic known[256];
    const char *_Atomic *k = &known[(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 56];
    if (likely(atomic_load_explicit(k, memory_order_relaxed) == name))
        return;
    atomic_store_explicit(k, name, memory_order_relaxed);
    mrl_groups(name, group);
}

/* The calling thread, if it is not in an MPI call. */
static struct mrl_thread *outside(const struct mrl_adapter *by)
{
    struct mrl_thread *t = mrl_adapter_listens(by) ? mrl_outside_mpi() : NULL;
    if (t && unlikely(!listed(by->name))) { /* the settings have been read only now */
        t->inside = 0;
        return NULL;
    }
    return t;
}

uint64_t mrl_adapter_begin(const struct mrl_adapter *by, const char *name, struct mrl_caller caller)
{
    struct mrl_thread *t = outside(by);
    if (!t)
        return 0;
    if (!name || !*name)
        name = by->group;
    uint32_t string = mrl_string(name, 255);
    if (likely(string))
        name = mrl_text(string); /* which does not move: walks are remembered by it */
    note_group(name, by->group);
    const struct mrl_path *path = mrl_region_path(t, name, caller);
    uint64_t token = 0;
    if (mrl_open_node(t, path->node, mrl_beginning_of(t, path), false)) {
        token = mrl_token(t, t->depth);
        t->paths->begun[t->depth - 1] = (struct mrl_begun){token, by};
    }
    t->inside = 0;
    return token;
}

/* Ends what is open at a depth, counted from 1, and what is inside it. 0: there is nothing. */
static void close_at(struct mrl_thread *t, uint32_t depth)
{
    t->inside = 0;
    t->bad_exits += depth ? t->depth - depth : 1;
    if (depth)
        mrl_close_from(t, depth - 1);
}

void mrl_adapter_end(uint64_t token)
{
    struct mrl_thread *t = token ? mrl_outside_mpi() : NULL;
    uint32_t depth = token & 255;
    if (t)
        close_at(t, depth <= t->depth && mrl_token(t, depth) == token ? depth : 0);
}

void mrl_adapter_end_counted(uint64_t token, uint32_t first, const uint64_t values[3])
{
    struct mrl_thread *t = token ? mrl_outside_mpi() : NULL;
    uint32_t depth = token & 255;
    if (!t)
        return;
    if (depth > t->depth || mrl_token(t, depth) != token) {
        close_at(t, 0);
        return;
    }
    uint32_t path = t->open[depth - 1].path;
    close_at(t, depth);
    if (first >= MRL_COUNTERS || !(t = mrl_outside_mpi()))
        return;
    uint64_t at = mrl_head(t), *word = mrl_slot(t, at)->words;
    memcpy(word, values, 3 * sizeof *values);
    word[3] = MRL_WORD(path, first, MRL_COUNTS, 0);
    mrl_commit(t, at + 1);
}

/* What began before the measurement, or too deep, ends unnoticed. */
void mrl_adapter_end_innermost(const struct mrl_adapter *by, const char *name)
{
    struct mrl_thread *t = mrl_self && mrl_self->depth ? outside(by) : NULL;
    if (!t)
        return;
    uint32_t depth = t->depth;
    for (; depth > 0; depth--) {
        const struct mrl_begun *begun = &t->paths->begun[depth - 1];
        if (begun->by == by && begun->token == mrl_token(t, depth) &&
            (!name || strncmp(mrl_text(mrl_node_at(t->open[depth - 1].path)->name), name, 255) == 0))
            break;
    }
    t->inside = 0;
    if (depth)
        close_at(t, depth);
}

uint64_t mrl_adapter_invoke(const struct mrl_adapter *by, struct marple_method *method, struct mrl_caller caller)
{
    struct mrl_thread *t = outside(by);
    if (!t)
        return 0;
    bool open = false;
    for (uint32_t depth = t->depth; depth > 0 && !open; depth--) {
        const struct mrl_begun *begun = &t->paths->begun[depth - 1];
        open = begun->by == by && begun->token == mrl_token(t, depth);
    }
    t->inside = 0;
    uint64_t token = open ? 0 : mrl_invocation_begin_in(method, caller);
    if (token)
        t->paths->begun[(token & 255) - 1] = (struct mrl_begun){token, by};
    return token;
}

void mrl_adapter_value(const struct mrl_adapter *by, const char *name, double value)
{
    struct mrl_thread *t = name && *name ? outside(by) : NULL;
    if (!t)
        return;
    mrl_atomic(t, name, value);
    t->inside = 0;
}

void mrl_adapter_metadata(const struct mrl_adapter *by, const char *name, const char *value)
{
    struct mrl_thread *t = name && *name && value ? outside(by) : NULL;
    if (!t)
        return;
    mrl_metadata(name, value);
    t->inside = 0;
}

/*
 * A library that was loaded privately, as Python's modules and what they need are, finds the entry points here, but RTLD_NEXT
 * does not find the library: so all that is loaded is asked, one at a time, since dlopen must not be called while
 * dl_iterate_phdr holds the loader's lock.
 */
struct module {
    int wanted;
    char path[1024];
};

static int take(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module *m = data;
    (void)size;
    if (!*info->dlpi_name || strlen(info->dlpi_name) >= sizeof m->path || m->wanted-- > 0)
        return 0;
    strcpy(m->path, info->dlpi_name);
    return 1;
}

void *mrl_adapter_next(const char *function)
{
    struct module m;
    void *found = dlsym(RTLD_NEXT, function);
    for (int i = 0; m.wanted = i, !found && dl_iterate_phdr(take, &m); i++) {
        void *library = dlopen(m.path, RTLD_NOLOAD | RTLD_LAZY);
        found = library ? dlsym(library, function) : NULL;
        if (found && mrl_is_ours(found))
            found = NULL;
        if (library)
            dlclose(library);
    }
    return found;
}

const char *mrl_adapter_keep(const char *name)
{
    return name ? strdup(name) : NULL;
}
