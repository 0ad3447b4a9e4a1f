/*
 * Invocations of components' methods. They are open like regions; at their end they leave, beside what a
 * region leaves, what the invocation cost in MPI and in Marple, and the values it was given.
 */
#include "include/marple.h"
#include "path.h"

#include <string.h>

#define NOT_RECORDED UINT32_MAX

/* A list of components and of component.method, separated by commas. */
static bool listed(const char *list, const char *component, const char *method)
{
    size_t n = strlen(component);
    for (const char *item = list; *item; item += *item == ',') {
        size_t length = strcspn(item, ",");
        if (length >= n && strncmp(item, component, n) == 0 &&
            (length == n || (item[n] == '.' && length - n - 1 == strlen(method) && strncmp(item + n + 1, method, length - n - 1) == 0)))
            return true;
        item += length;
    }
    return false;
}

/* A method is known by the node that it has, or would have, at the root. */
static MRL_COLD uint32_t register_method(struct marple_method *m)
{
    const char *component = m->component ? m->component : "", *method = m->method ? m->method : "";
    uint32_t id = NOT_RECORDED;
    if (!listed(mrl.settings.skip, component, method)) {
        uint64_t names = mrl_string(component, 255) | (uint64_t)mrl_string(m->instance ? m->instance : "", 255) << 32;
        id = mrl_node(&(struct mrl_node){
            .parent = MRL_ROOT_NODE, .kind = MRL_NODE_COMPONENT, .key = names, .name = mrl_string(method, 255)});
    }
    __atomic_store_n(&m->id, id, __ATOMIC_RELAXED);
    return id;
}

static const struct mrl_path *method_path(struct mrl_thread *t, uint32_t id, struct mrl_caller caller)
{
    const void *name = (const void *)(uintptr_t)id;
    const struct mrl_path *path = mrl_path_remembered(t, MRL_EVENT_METHOD, name, caller);
    if (path)
        return path;
    const struct mrl_node *method = mrl_node_at(id);
    struct mrl_node leaf = {.kind = MRL_NODE_COMPONENT, .key = method->key, .name = method->name};
    return mrl_path_walk(t, MRL_EVENT_METHOD, name, caller, &leaf);
}

/* The method's node below the one of the context, which is no more than a region around it. */
static MRL_COLD uint32_t node_in(uint32_t context, uint32_t id)
{
    const struct mrl_node *method = mrl_node_at(id);
    return mrl_node(&(struct mrl_node){
        .parent = context, .kind = MRL_NODE_COMPONENT, .key = method->key, .name = method->name});
}

static __attribute__((noinline)) uint64_t begin(struct marple_method *m, const char *context, struct mrl_caller caller)
{
    struct mrl_thread *t = mrl_outside_mpi();
    if (unlikely(!t))
        return 0;
    uint32_t id = __atomic_load_n(&m->id, __ATOMIC_RELAXED);
    if (unlikely(!id))
        id = register_method(m);
    if (unlikely(id == NOT_RECORDED)) {
        t->inside = 0;
        return 0;
    }
    const struct mrl_path *path = context ? mrl_region_path(t, context, caller) : method_path(t, id, caller);
    uint32_t node = unlikely(context != NULL) ? node_in(path->node, id) : path->node;
    bool open = mrl_open_node(t, node, mrl_beginning_of(t, path), false);
    t->inside = 0;
    return open ? mrl_token(t, t->depth) : 0;
}

/* What is usual is here, so that it saves no registers and calls nothing. */
uint64_t mrl_invocation_begin(struct marple_method *m, const char *context)
{
    uint32_t id = __atomic_load_n(&m->id, __ATOMIC_RELAXED);
    if (unlikely(id == NOT_RECORDED))
        return 0;
    struct mrl_thread *t = likely(id && !context) ? mrl_outside_plainly() : NULL;
    if (likely(t != NULL)) {
        struct mrl_caller caller = MRL_CALLER;
        const struct mrl_path *path = mrl_path_place(t->paths, MRL_EVENT_METHOD, (const void *)(uintptr_t)id, caller.pc, caller.sp);
        uint64_t now;
        if (likely(mrl_path_holds(t, path, MRL_EVENT_METHOD, t->paths->mark, caller.pc, caller.sp, caller.fp) &&
                   mrl_beginning_of(t, path)->name == (const void *)(uintptr_t)id && t->depth < MRL_DEPTH &&
                   (now = mrl_counter()) - t->last_end <= mrl.long_ticks)) {
            mrl_open_at(t, path->node, mrl_beginning_of(t, path), false, now);
            t->inside = 0;
            return mrl_token(t, t->depth);
        }
        t->inside = 0;
    }
    return begin(m, context, MRL_CALLER);
}

uint64_t mrl_invocation_begin_in(struct marple_method *m, struct mrl_caller caller)
{
    return begin(m, NULL, caller);
}

/* What lies behind its end, too. */
static inline __attribute__((no_sanitize_address)) uint64_t first_bytes(const char *name)
{
    uint64_t bytes;
    memcpy(&bytes, name, sizeof bytes);
    return bytes;
}

/* Long names are rare. */
static inline bool same_text(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (!*a)
            return true;
    return false;
}

static MRL_COLD uint32_t name_miss(struct mrl_name *known, const char *name)
{
    if (known->at != (uintptr_t)name || strncmp(mrl_text(known->string), name, 255) != 0)
        known->string = mrl_string(name, 255);
    known->at = (uintptr_t)name;
    known->first = known->mask = 0;
    size_t length = strlen(name) + 1;
    known->longer = length > sizeof known->first;
    memcpy(&known->first, name, known->longer ? sizeof known->first : length);
    memset(&known->mask, 0xff, known->longer ? sizeof known->mask : length);
    return known->string;
}

/*
 * The string of a value's name; 0 if there is no room for it. The same address may hold another name by now, so its
 * first bytes are compared, all at once unless they may reach into a page that is not there.
 */
static inline uint32_t value_name(struct mrl_thread *t, const char *name)
{
    struct mrl_name *known = &t->names[((uintptr_t)name ^ (uintptr_t)name >> 6) & (MRL_VALUE_NAMES - 1)];
    if (likely(known->at == (uintptr_t)name && ((uintptr_t)name & 4095) <= 4096 - sizeof known->first &&
               !((first_bytes(name) ^ known->first) & known->mask) &&
               (likely(!known->longer) || same_text(mrl_text(known->string) + sizeof known->first, name + sizeof known->first))))
        return known->string;
    return name_miss(known, name);
}

/* One of a pair: its name, and its flags in the upper half. */
static inline uint64_t describe(struct mrl_thread *t, const struct marple_value *value)
{
    static const uint8_t flags[4] = {[MARPLE_INTEGER] = 0, [MARPLE_REAL] = MRL_REAL, [MARPLE_QUALITY] = MRL_REAL | MRL_QUALITY};
    uint32_t name = likely(value->name != NULL) ? value_name(t, value->name) : 0;
    if (unlikely(!name))
        t->values_lost++;
    return name | (uint64_t)flags[value->kind & 3] << 32;
}

static __attribute__((noinline)) uint64_t write_values(struct mrl_thread *t, const struct marple_value *values, uint32_t count, uint32_t path, uint64_t at)
{
    for (uint32_t i = 0; i < count; i += 2) {
        uint64_t *word = mrl_slot(t, at++)->words;
        bool two = i + 1 < count;
        uint64_t first = describe(t, &values[i]), second = two ? describe(t, &values[i + 1]) : 0;
        word[0] = (uint64_t)values[i].as.integer;
        word[1] = two ? (uint64_t)values[i + 1].as.integer : 0;
        word[2] = (uint32_t)first | second << 32;
        word[3] = MRL_WORD(path, 0, MRL_VALUES, first >> 32 | second >> 32 << MRL_SECOND);
    }
    return at;
}

/* Nothing has happened since it began: one record tells it all, and has room for a value. */
static inline bool is_leaf(const struct mrl_thread *t)
{
    return t->unentered && !(t->own_ticks | t->in_flight);
}

static inline uint64_t write_leaf(struct mrl_thread *t, const struct mrl_open *open, uint64_t now, uint64_t wall,
                                  const struct marple_value *values, uint32_t count)
{
    uint64_t at = mrl_head(t), *word = mrl_slot(t, at)->words;
    uint64_t first = count ? describe(t, &values[0]) : 0;
    word[0] = now;
    word[1] = wall | first << 32;
    word[2] = count ? (uint64_t)values[0].as.integer : 0;
    word[3] = MRL_WORD(open->path, 0, MRL_LEAF, first >> 32);
    return at + 1;
}

static __attribute__((noinline)) void end_branch(struct mrl_thread *t, const struct mrl_open *open, const struct marple_value *values, uint32_t count)
{
    uint64_t now = mrl_start(t);
    mrl_pop(t, now);
    mrl_land_others(t, now);
    uint64_t own = t->own_sum - open->own, off = t->off_sum - open->off, wall = now - open->enter;
    uint64_t mpi = t->mpi_sum - open->mpi, overlap = mrl_overlap(t, now) - open->overlap;
    wall -= own < wall ? own : wall;
    off = off < wall ? off : wall;
    wall -= off;
    mpi = mpi < wall ? mpi : wall;
    overlap = overlap < wall - mpi ? overlap : wall - mpi;
    uint64_t at = mrl_head(t);
    if (unlikely(wall > UINT32_MAX))
        mrl_slot(t, at++)->wide = (struct mrl_wide){.duration = wall, .out = mpi, .in = overlap, .kind = MRL_WIDE};
    if (unlikely(off))
        mrl_slot(t, at++)->inside = (struct mrl_inside){.runnable = off, .kind = MRL_INSIDE, .flags = MRL_INVOCATION};
    uint64_t *word = mrl_slot(t, at++)->words; /* struct mrl_invoked, in four stores */
    word[0] = now;
    word[1] = (uint32_t)wall | mpi << 32;
    word[2] = (uint32_t)overlap | (own < UINT32_MAX ? own : UINT32_MAX) << 32;
    word[3] = MRL_WORD(open->path, 0, MRL_EXIT, MRL_INVOCATION);
    at = write_values(t, values, count, open->path, at);
    if (unlikely(mrl.counters))
        at = mrl_write_counts(t, open->path, MRL_INVOCATION, at);
    mrl_commit(t, at);
}

static __attribute__((noinline)) void end(uint64_t token, const struct marple_value *values, uint32_t count)
{
    struct mrl_thread *t = token ? mrl_outside_mpi() : NULL;
    if (unlikely(!t))
        return;
    uint32_t depth = token & 255;
    t->inside = 0;
    if (unlikely(depth == 0 || depth > t->depth || mrl_token(t, depth) != token)) {
        t->bad_exits++; /* it was closed already, or was begun in another thread */
        return;
    }
    if (unlikely(depth < t->depth)) {
        t->bad_exits += t->depth - depth;
        mrl_close_from(t, depth);
    }
    if (unlikely(count > MARPLE_VALUES)) {
        t->values_lost += count - MARPLE_VALUES;
        count = MARPLE_VALUES;
    }
    if (unlikely(mrl.counters))
        mrl_count_to(t);
    struct mrl_open *open = &t->open[depth - 1];
    if (likely(is_leaf(t))) {
        uint64_t now = mrl_now(), wall = now - open->enter;
        if (likely(wall <= mrl.long_ticks)) {
            uint64_t at = write_leaf(t, open, now, wall, values, count);
            if (count > 1)
                at = write_values(t, values + 1, count - 1, open->path, at);
            if (unlikely(mrl.counters))
                at = mrl_write_counts(t, open->path, MRL_INVOCATION, at);
            mrl_pop(t, now);
            mrl_commit(t, at);
            return;
        }
    }
    end_branch(t, open, values, count);
}

/* As at the beginning: what is usual. */
void mrl_invocation_end(uint64_t token, const struct marple_value *values, uint32_t count)
{
    uint32_t depth = token & 255;
    struct mrl_thread *t = likely(depth && count <= 1) ? mrl_outside_plainly() : NULL;
    if (likely(t != NULL)) {
        struct mrl_open *open = &t->open[depth - 1];
        uint64_t now;
        if (likely(depth == t->depth && mrl_token(t, depth) == token && is_leaf(t) &&
                   (now = mrl_counter()) - open->enter <= mrl.long_ticks)) {
            uint64_t at = write_leaf(t, open, now, now - open->enter, values, count);
            mrl_pop(t, now);
            mrl_commit(t, at);
            return;
        }
        t->inside = 0;
    }
    end(token, values, count);
}

/* Kept among the nodes: there it is once, however often it is declared. */
void mrl_families(const char *declaration)
{
    struct mrl_thread *t = declaration ? mrl_outside_mpi() : NULL;
    if (!t)
        return;
    mrl_node(&(struct mrl_node){
        .parent = MRL_ROOT_NODE, .kind = MRL_NODE_FAMILIES, .name = mrl_string(declaration, MRL_DECLARATION)});
    t->inside = 0;
}
