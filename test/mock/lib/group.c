/* Groups. A group never changes once it is made, so communicators, handles and
 * operations share it by counting references. */
#include <stdlib.h>

#include "internal.h"

static struct group empty = {.refs = 1};

void groups_start(void)
{
    handle_predefine(KIND_GROUP, MPI_GROUP_EMPTY, &empty);
}

struct group *group_new(int size)
{
    struct group *g = allocate(sizeof *g + (size_t)size * sizeof *g->ranks);
    g->refs = 1;
    g->size = size;
    return g;
}

struct group *group_get(MPI_Group handle)
{
    return handle_object(KIND_GROUP, handle);
}

void group_release(struct group *g)
{
    if (--g->refs == 0)
        free(g);
}

/* The rank in g of a rank of the world, or MPI_UNDEFINED. */
int group_index(const struct group *g, int world_rank)
{
    for (int i = 0; i < g->size; i++)
        if (g->ranks[i] == world_rank)
            return i;
    return MPI_UNDEFINED;
}

static bool contains(const struct group *g, int world_rank)
{
    return group_index(g, world_rank) != MPI_UNDEFINED;
}

int group_relation(const struct group *a, const struct group *b)
{
    if (a->size != b->size)
        return MPI_UNEQUAL;
    int relation = MPI_IDENT;
    for (int i = 0; i < a->size; i++) {
        if (!contains(b, a->ranks[i]))
            return MPI_UNEQUAL;
        if (a->ranks[i] != b->ranks[i])
            relation = MPI_SIMILAR;
    }
    return relation;
}

static MPI_Group publish(struct group *g)
{
    if (g->size > 0)
        return handle_new(KIND_GROUP, g);
    group_release(g);
    return MPI_GROUP_EMPTY;
}

#define GROUP(name, handle_)                 \
    struct group *name = group_get(handle_); \
    REQUIRE(name, NULL, MPI_ERR_GROUP)

API(Comm_group, MPI_Comm comm, MPI_Group *group)
{
    ENTER();
    COMM(c, comm);
    c->group->refs++;
    *group = publish(c->group);
    return MPI_SUCCESS;
}

API(Group_size, MPI_Group group, int *size)
{
    ENTER();
    GROUP(g, group);
    *size = g->size;
    return MPI_SUCCESS;
}

API(Group_rank, MPI_Group group, int *rank)
{
    ENTER();
    GROUP(g, group);
    *rank = group_index(g, environment.rank);
    return MPI_SUCCESS;
}

/* Makes the group of the places of g that are marked, in the order of g. */
static MPI_Group select(const struct group *g, const bool *marked)
{
    struct group *new = group_new(g->size);
    new->size = 0;
    for (int i = 0; i < g->size; i++)
        if (marked[i])
            new->ranks[new->size++] = g->ranks[i];
    return publish(new);
}

static int include(const struct group *g, int n, const int *ranks, MPI_Group *newgroup)
{
    REQUIRE(n >= 0 && n <= g->size, NULL, MPI_ERR_ARG);
    struct group *new = group_new(n);
    new->size = 0;
    for (int i = 0; i < n; i++) {
        bool valid = ranks[i] >= 0 && ranks[i] < g->size && !contains(new, g->ranks[ranks[i]]);
        if (!valid) {
            group_release(new);
            return fail(NULL, MPI_ERR_RANK);
        }
        new->ranks[new->size++] = g->ranks[ranks[i]];
    }
    *newgroup = publish(new);
    return MPI_SUCCESS;
}

static int exclude(const struct group *g, int n, const int *ranks, MPI_Group *newgroup)
{
    bool *marked = allocate((size_t)g->size);
    for (int i = 0; i < g->size; i++)
        marked[i] = true;
    bool valid = true;
    for (int i = 0; i < n && valid; i++) {
        valid = ranks[i] >= 0 && ranks[i] < g->size && marked[ranks[i]];
        if (valid)
            marked[ranks[i]] = false;
    }
    if (valid)
        *newgroup = select(g, marked);
    free(marked);
    REQUIRE(valid, NULL, MPI_ERR_RANK);
    return MPI_SUCCESS;
}

API(Group_incl, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    ENTER();
    GROUP(g, group);
    return include(g, n, ranks, newgroup);
}

API(Group_excl, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    ENTER();
    GROUP(g, group);
    return exclude(g, n, ranks, newgroup);
}

/* Lists the ranks of (first, last, stride) triplets; returns null if there are
 * more of them than a group of that size has, which no valid triplets do. */
static int *expand(int size, int n, int ranges[][3], int *count)
{
    int *ranks = allocate((size_t)size * sizeof *ranks);
    *count = 0;
    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        bool valid = stride != 0;
        for (int r = first; valid && (stride > 0 ? r <= last : r >= last); r += stride) {
            valid = *count < size;
            if (valid)
                ranks[(*count)++] = r;
        }
        if (!valid) {
            free(ranks);
            return NULL;
        }
    }
    return ranks;
}

typedef int selector(const struct group *, int, const int *, MPI_Group *);

static int with_ranges(selector *apply, MPI_Group group, int n, int ranges[][3],
                       MPI_Group *newgroup)
{
    GROUP(g, group);
    int count;
    int *ranks = expand(g->size, n, ranges, &count);
    REQUIRE(ranks, NULL, MPI_ERR_ARG);
    int error = apply(g, count, ranks, newgroup);
    free(ranks);
    return error;
}

API(Group_range_incl, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    ENTER();
    return with_ranges(include, group, n, ranges, newgroup);
}

API(Group_range_excl, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    ENTER();
    return with_ranges(exclude, group, n, ranges, newgroup);
}

API(Group_union, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    ENTER();
    GROUP(a, group1);
    GROUP(b, group2);
    struct group *new = group_new(a->size + b->size);
    new->size = 0;
    for (int i = 0; i < a->size; i++)
        new->ranks[new->size++] = a->ranks[i];
    for (int i = 0; i < b->size; i++)
        if (!contains(a, b->ranks[i]))
            new->ranks[new->size++] = b->ranks[i];
    *newgroup = publish(new);
    return MPI_SUCCESS;
}

/* Those of the first group that are, or are not, in the second. */
static int those(MPI_Group group1, MPI_Group group2, bool in, MPI_Group *newgroup)
{
    GROUP(a, group1);
    GROUP(b, group2);
    bool *marked = allocate((size_t)a->size);
    for (int i = 0; i < a->size; i++)
        marked[i] = contains(b, a->ranks[i]) == in;
    *newgroup = select(a, marked);
    free(marked);
    return MPI_SUCCESS;
}

API(Group_intersection, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    ENTER();
    return those(group1, group2, true, newgroup);
}

API(Group_difference, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    ENTER();
    return those(group1, group2, false, newgroup);
}

API(Group_translate_ranks, MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
    int ranks2[])
{
    ENTER();
    GROUP(a, group1);
    GROUP(b, group2);
    for (int i = 0; i < n; i++) {
        bool null = ranks1[i] == MPI_PROC_NULL;
        REQUIRE(null || (ranks1[i] >= 0 && ranks1[i] < a->size), NULL, MPI_ERR_RANK);
        ranks2[i] = null ? MPI_PROC_NULL : group_index(b, a->ranks[ranks1[i]]);
    }
    return MPI_SUCCESS;
}

API(Group_compare, MPI_Group group1, MPI_Group group2, int *result)
{
    ENTER();
    GROUP(a, group1);
    GROUP(b, group2);
    *result = group_relation(a, b);
    return MPI_SUCCESS;
}

API(Group_free, MPI_Group *group)
{
    ENTER();
    GROUP(g, *group);
    if (*group != MPI_GROUP_EMPTY) {
        handle_free(KIND_GROUP, *group);
        group_release(g);
    }
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
