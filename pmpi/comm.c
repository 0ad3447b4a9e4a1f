#include "comm.h"
#include "next.h"

#include <stdlib.h>
#include <string.h>

struct mrl_map mrl_comms, mrl_windows, mrl_files;

/* Translating ranks between groups is quadratic in some libraries; beyond this it is not asked for. */
#define TRANSLATIONS_MAX (UINT64_C(1) << 26)

/* The group that ranks are told in; that of MPI_COMM_WORLD unless there is none. */
static mrl_word instead_of_world;

static mrl_word world_group(void)
{
    mrl_word group = instead_of_world;
    return group || !mrl_pmpi.Comm_group(mrl_abi.comm_world, &group) ? group : 0;
}

static void free_world_group(mrl_word group)
{
    if (group && group != instead_of_world)
        mrl_pmpi.Group_free(&group);
}

static uint32_t map_slot(mrl_word handle)
{
    return (uint32_t)((handle ^ handle >> 17) * UINT64_C(0x9e3779b97f4a7c15) >> 51);
}

void mrl_map_put(struct mrl_map *map, mrl_word handle, uint32_t index)
{
    uint32_t slot = map_slot(handle);
    for (uint32_t probe = 0; probe < MRL_MAP_SLOTS; probe++, slot = (slot + 1) % MRL_MAP_SLOTS) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&map->slots[slot].handle, &there, handle) || there == handle) {
            atomic_store_explicit(&map->slots[slot].index, index, memory_order_release);
            atomic_fetch_add(&mrl.epoch, 1);
            return;
        }
    }
}

uint32_t mrl_map_get(struct mrl_map *map, mrl_word handle)
{
    uint32_t slot = map_slot(handle);
    for (uint32_t probe = 0; probe < MRL_MAP_SLOTS; probe++, slot = (slot + 1) % MRL_MAP_SLOTS) {
        uint64_t there = atomic_load_explicit(&map->slots[slot].handle, memory_order_acquire);
        if (there == handle)
            return atomic_load_explicit(&map->slots[slot].index, memory_order_acquire);
        if (there == 0)
            break;
    }
    return 0;
}

static uint64_t hash(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 31;
}

static void append_run(struct mrl_run *runs, uint32_t *count, uint32_t rank)
{
    struct mrl_run *last = *count ? &runs[*count - 1] : NULL;
    if (last && last->count == 1)
        last->stride = (int32_t)(rank - last->first);
    if (last && rank == last->first + (uint32_t)last->stride * last->count) {
        last->count++;
        return;
    }
    runs[(*count)++] = (struct mrl_run){.first = rank, .stride = 1, .count = 1};
}

/*
 * World ranks of a communicator's group (the remote one if so wanted) as runs, of which as many are
 * returned; *members becomes their hash. 0: unknown.
 */
static uint32_t read_group(mrl_word handle, bool remote, uint32_t size, struct mrl_run **runs, uint64_t *members)
{
    mrl_word group = 0;
    uint32_t count = 0;
    *runs = NULL;
    *members = 0;
    if (size == 0 || (uint64_t)size * (uint64_t)mrl.header->ranks > TRANSLATIONS_MAX ||
        (remote ? mrl_pmpi.Comm_remote_group : mrl_pmpi.Comm_group)(handle, &group))
        return 0;
    int *ranks = malloc(2 * size * sizeof *ranks), *translated = ranks + size;
    *runs = malloc(size * sizeof **runs);
    mrl_word world = world_group();
    if (ranks && *runs && world) {
        for (uint32_t i = 0; i < size; i++)
            ranks[i] = (int)i;
        if (!mrl_pmpi.Group_translate_ranks(group, (int)size, ranks, world, translated)) {
            *members = size;
            for (uint32_t i = 0; i < size; i++) {
                /* A process of another world has no rank in this one. */
                uint32_t rank = translated[i] == mrl_abi.undefined ? MRL_NONE : (uint32_t)translated[i];
                *members = hash(*members, rank);
                append_run(*runs, &count, rank);
            }
        }
    }
    free_world_group(world);
    mrl_pmpi.Group_free(&group);
    free(ranks);
    return count;
}

/* Creations that not all of a parent's members take part in cannot be counted on the parent. */
static uint32_t ordinal_by_members(const struct mrl_comm *c, uint64_t members)
{
    uint32_t ordinal = 0;
    for (uint32_t i = 1; i < atomic_load(&mrl.header->comms) && mrl_comm_at(i) != c; i++)
        ordinal += mrl_comm_at(i)->id == hash(hash(hash(c->parent, ordinal), MRL_COMM_GROUP), members);
    return ordinal;
}

static uint32_t make(mrl_word handle, uint64_t parent, uint32_t ordinal, bool by_group)
{
    uint32_t index = mrl_comm_new();
    if (index == MRL_NONE || index > UINT16_MAX) {
        if (mrl_map_get(&mrl_comms, handle)) /* of one that was freed */
            mrl_map_put(&mrl_comms, handle, 0);
        return 0;
    }
    struct mrl_comm *c = mrl_comm_at(index);
    int inter = 0, size = 0, rank = 0;
    mrl_pmpi.Comm_test_inter(handle, &inter);
    (inter ? mrl_pmpi.Comm_remote_size : mrl_pmpi.Comm_size)(handle, &size);
    mrl_pmpi.Comm_rank(handle, &rank);
    *c = (struct mrl_comm){.parent = inter ? 0 : parent, .size = (uint32_t)size, .rank = rank,
                           .flags = inter ? MRL_COMM_INTER : 0u, .sources = -1, .destinations = -1, .handle = mrl_handle(handle)};
    struct mrl_run *runs, *stored;
    uint64_t members, own;
    c->runs = read_group(handle, inter, c->size, &runs, &members);
    if (c->runs && (c->members = mrl_members_new(c->runs, &stored)) != MRL_NONE) {
        memcpy(stored, runs, c->runs * sizeof *runs);
        c->flags |= MRL_COMM_MEMBERS;
    }
    free(runs);
    if (inter) {
        /* What both sides know is the two groups, one as local, the other as remote. */
        int local = 0;
        mrl_pmpi.Comm_size(handle, &local);
        read_group(handle, false, (uint32_t)local, &runs, &own);
        free(runs);
        members += own;
    }
    bool counted = !by_group && !inter;
    c->ordinal = counted ? ordinal : ordinal_by_members(c, members);
    c->id = hash(hash(hash(c->parent, c->ordinal), counted ? 0 : MRL_COMM_GROUP), members);
    mrl_map_put(&mrl_comms, handle, index);
    return index;
}

/* Not in the thread's cache. A communicator made where nobody was looking is asked what it is. */
MRL_COLD uint32_t mrl_comm_miss(struct mrl_thread *t, mrl_word handle)
{
    if (handle == mrl_handle(mrl_abi.comm_null) || handle == 0)
        return 0;
    uint32_t index = mrl_map_get(&mrl_comms, handle);
    if (!index && !atomic_load(&mrl.header->comms_lost)) /* or it is one of those that found no room */
        index = make(handle, 0, 0, true);
    t->comms[(handle ^ handle >> 8) & (MRL_COMM_CACHE - 1)] = (struct mrl_known){.handle = handle, .index = index};
    return index;
}

void mrl_comms_begin(void)
{
    uint32_t unknown = mrl_comm_new();
    if (unknown == MRL_NONE)
        return;
    uint32_t world = make(mrl_abi.comm_world, 0, 1, false);
    uint32_t self = make(mrl_abi.comm_self, 0, 2, false);
    mrl_comm_at(world)->name = mrl_string("MPI_COMM_WORLD", 64);
    /* One name for all ranks' own communicators, or a report on 1,000 ranks lists 1,000 of them. */
    mrl_comm_at(self)->id = hash(0, 2);
    mrl_comm_at(self)->name = mrl_string("MPI_COMM_SELF", 64);
}

void mrl_comms_begin_without_world(mrl_word group)
{
    instead_of_world = group;
    mrl_comm_new();
}

uint32_t mrl_comm_ordinal(uint32_t parent)
{
    return parent ? __atomic_add_fetch(&mrl_comm_at(parent)->children, 1, __ATOMIC_RELAXED) : 0;
}

void mrl_comm_arrived(uint32_t parent, uint32_t ordinal, mrl_word result)
{
    mrl_word handle = mrl_handle(result);
    if (handle && handle != mrl_handle(mrl_abi.comm_null))
        make(handle, parent ? mrl_comm_at(parent)->id : 0, ordinal, ordinal == 0);
}

void mrl_comm_made(struct mrl_thread *t, mrl_word parent, mrl_word result, bool by_group)
{
    uint32_t on = parent ? mrl_comm(t, parent) : 0;
    mrl_comm_arrived(on, by_group ? 0 : mrl_comm_ordinal(on), result);
}

void mrl_comm_freed(uint32_t index)
{
    if (index)
        mrl_comm_at(index)->flags |= MRL_COMM_FREED;
}

/* Neighbours in a communicator's topology (MPI-4.0 section 8.5.5). */
static void read_topology(struct mrl_comm *c, mrl_word handle)
{
    int kind = 0, in = 0, out = 0, weighted;
    if (mrl_pmpi.Topo_test)
        mrl_pmpi.Topo_test(handle, &kind);
    if (kind == mrl_abi.cart && mrl_pmpi.Cartdim_get && !mrl_pmpi.Cartdim_get(handle, &in))
        in = out = 2 * in;
    else if (kind == mrl_abi.graph && mrl_pmpi.Graph_neighbors_count && !mrl_pmpi.Graph_neighbors_count(handle, c->rank, &in))
        out = in;
    else if (kind == mrl_abi.dist_graph && mrl_pmpi.Dist_graph_neighbors_count)
        mrl_pmpi.Dist_graph_neighbors_count(handle, &in, &out, &weighted);
    c->sources = in;
    c->destinations = out;
}

/* Size of the caller's own group. */
int64_t mrl_comm_local(mrl_word handle, uint32_t comm)
{
    int size = 0;
    if (!mrl_comm_inter(comm))
        return mrl_comm_n(comm);
    mrl_pmpi.Comm_size(handle, &size);
    return size;
}

int64_t mrl_comm_sources(mrl_word handle, uint32_t comm)
{
    if (!comm)
        return 0;
    struct mrl_comm *c = mrl_comm_at(comm);
    if (c->sources < 0)
        read_topology(c, handle);
    return c->sources;
}

int64_t mrl_comm_destinations(mrl_word handle, uint32_t comm)
{
    if (!comm)
        return 0;
    mrl_comm_sources(handle, comm);
    return mrl_comm_at(comm)->destinations;
}

/* Names make reports readable. */
void mrl_comm_named(mrl_word comm, const char *name, size_t length)
{
    uint32_t index = mrl.on ? mrl_map_get(&mrl_comms, mrl_handle(comm)) : 0;
    if (index)
        mrl_comm_at(index)->name = mrl_string(name, length < 128 ? length : 128);
}

__attribute__((visibility("default"))) int MPI_Comm_set_name(mrl_word comm, const char *name)
{
    if (name)
        mrl_comm_named(comm, name, strlen(name));
    return ((int (*)(mrl_word, const char *))mrl_next(MRL_FN_MPI_Comm_set_name))(comm, name);
}
