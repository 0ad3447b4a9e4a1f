/* Communicators.
 *
 * Members of a communicator agree on its context, a number that no other
 * communicator with a common member has: it comes from the range of fresh
 * numbers that the server gives to the collective that creates it, which has
 * one for each member of the parent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { WORLD_CONTEXT = 1, SELF_CONTEXT = 2 };

static struct comm world, self;

struct comm *comm_get(MPI_Comm handle)
{
    return handle_object(KIND_COMM, handle);
}

static struct comm *comm_new(struct comm *parent, struct group *members, uint64_t context)
{
    struct comm *c = allocate(sizeof *c);
    c->refs = 1;
    c->context = context;
    c->group = members;
    c->rank = group_index(members, environment.rank);
    c->errhandler = parent->errhandler;
    c->errhandler->refs++;
    return c;
}

MPI_Comm comm_publish(struct comm *comm)
{
    return comm->handle = handle_new(KIND_COMM, comm);
}

void comm_release(struct comm *comm)
{
    if (--comm->refs > 0)
        return;
    attributes_drop(comm);
    group_release(comm->group);
    errhandler_release(comm->errhandler);
    cart_free(comm->cart);
    free(comm);
}

static void predefine(struct comm *c, MPI_Comm handle, const char *name, uint64_t context,
                      struct group *members)
{
    c->refs = 1;
    c->handle = handle;
    c->context = context;
    c->group = members;
    c->rank = group_index(members, environment.rank);
    c->errhandler = handle_object(KIND_ERRHANDLER, MPI_ERRORS_ARE_FATAL);
    c->errhandler->refs++;
    snprintf(c->name, sizeof c->name, "%s", name);
    handle_predefine(KIND_COMM, handle, c);
}

void comms_start(void)
{
    struct group *all = group_new(environment.size), *me = group_new(1);
    for (int i = 0; i < all->size; i++)
        all->ranks[i] = i;
    me->ranks[0] = environment.rank;
    predefine(&world, MPI_COMM_WORLD, "MPI_COMM_WORLD", WORLD_CONTEXT, all);
    predefine(&self, MPI_COMM_SELF, "MPI_COMM_SELF", SELF_CONTEXT, me);
}

/* The context for a part of the parent: parts that do not overlap have different
 * first members. */
static uint64_t part_context(struct comm *parent, const struct group *part, uint64_t base)
{
    return base + (uint64_t)group_index(parent->group, part->ranks[0]);
}

static struct comm *duplicate(struct comm *comm, uint64_t context)
{
    comm->group->refs++;
    struct comm *new = comm_new(comm, comm->group, context);
    new->cart = cart_copy(comm->cart);
    return new;
}

/* A communicator without a handle or attributes. */
struct comm *comm_duplicate(struct comm *comm)
{
    return duplicate(comm, exchange(comm, NULL, NULL, 0));
}

static int dup(struct comm *c, MPI_Comm *newcomm)
{
    struct comm *new = comm_duplicate(c);
    int error = attributes_copy(c, new);
    if (error) {
        comm_release(new);
        return fail(c, error);
    }
    *newcomm = comm_publish(new);
    return MPI_SUCCESS;
}

API(Comm_dup, MPI_Comm comm, MPI_Comm *newcomm)
{
    ENTER();
    COMM(c, comm);
    return dup(c, newcomm);
}

API(Comm_dup_with_info, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    (void)info;
    ENTER();
    COMM(c, comm);
    return dup(c, newcomm);
}

/* The new communicator gets its context when the request completes. */
API(Comm_idup, MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    ENTER();
    COMM(c, comm);
    struct comm *new = duplicate(c, 0);
    int error = attributes_copy(c, new);
    if (error) {
        comm_release(new);
        return fail(c, error);
    }
    *newcomm = comm_publish(new);
    struct request *r = request_new(REQUEST_DUP, c, 0);
    r->duplicate = new;
    new->refs++;
    struct collective all = {.comm = c, .shape = ALL_TO_ALL};
    struct frame f = collective_frame(&all, false);
    put_u64(&f, 0);
    return request_issue(r, &f, request, MPI_STATUS_IGNORE);
}

static bool within(const struct group *part, const struct group *whole)
{
    for (int i = 0; i < part->size; i++)
        if (group_index(whole, part->ranks[i]) == MPI_UNDEFINED)
            return false;
    return true;
}

static MPI_Comm create(struct comm *parent, struct group *members, uint64_t context)
{
    if (group_index(members, environment.rank) == MPI_UNDEFINED)
        return MPI_COMM_NULL;
    members->refs++;
    return comm_publish(comm_new(parent, members, context));
}

API(Comm_create, MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    ENTER();
    COMM(c, comm);
    struct group *g = group_get(group);
    REQUIRE(g && within(g, c->group), c, MPI_ERR_GROUP);
    uint64_t base = exchange(c, NULL, NULL, 0);
    *newcomm = MPI_COMM_NULL;
    if (g->size > 0)
        *newcomm = create(c, g, part_context(c, g, base));
    return MPI_SUCCESS;
}

API(Comm_create_group, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    ENTER();
    COMM(c, comm);
    struct group *g = group_get(group);
    REQUIRE(g && within(g, c->group), c, MPI_ERR_GROUP);
    REQUIRE(tag >= 0, c, MPI_ERR_TAG);
    *newcomm = MPI_COMM_NULL;
    if (group_index(g, environment.rank) == MPI_UNDEFINED)
        return MPI_SUCCESS;
    struct collective some = {.comm = c, .group = g, .tag = 1 + (int64_t)tag};
    struct frame f = collective_frame(&some, true);
    put_u64(&f, 0);
    struct reply reply = call(&f);
    *newcomm = create(c, g, reply.results[0].base);
    reply_free(&reply);
    return MPI_SUCCESS;
}

struct choice {
    int color, key, parent_rank;
};

static int by_key(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->parent_rank - y->parent_rank;
}

/* Returns null where the color is MPI_UNDEFINED. */
struct comm *comm_split(struct comm *parent, int color, int key)
{
    int n = parent->group->size;
    struct choice mine = {color, key, parent->rank};
    struct choice *all = allocate((size_t)n * sizeof *all);
    uint64_t base = exchange(parent, &mine, all, sizeof mine);
    int count = 0;
    for (int i = 0; i < n; i++)
        if (all[i].color == color)
            all[count++] = all[i];
    struct comm *new = NULL;
    if (color != MPI_UNDEFINED) {
        qsort(all, (size_t)count, sizeof *all, by_key);
        struct group *members = group_new(count);
        for (int i = 0; i < count; i++)
            members->ranks[i] = parent->group->ranks[all[i].parent_rank];
        new = comm_new(parent, members, part_context(parent, members, base));
    }
    free(all);
    return new;
}

static int split(struct comm *c, int color, int key, MPI_Comm *newcomm)
{
    struct comm *new = comm_split(c, color, key);
    *newcomm = new ? comm_publish(new) : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

API(Comm_split, MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    ENTER();
    COMM(c, comm);
    REQUIRE(color >= 0 || color == MPI_UNDEFINED, c, MPI_ERR_ARG);
    return split(c, color, key, newcomm);
}

API(Comm_split_type, MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    (void)info;
    ENTER();
    COMM(c, comm);
    REQUIRE(split_type == MPI_COMM_TYPE_SHARED || split_type == MPI_UNDEFINED, c, MPI_ERR_ARG);
    int color = split_type == MPI_UNDEFINED ? MPI_UNDEFINED : host_of(environment.rank);
    return split(c, color, key, newcomm);
}

API(Comm_free, MPI_Comm *comm)
{
    ENTER();
    COMM(c, *comm);
    REQUIRE(c != &world && c != &self, c, MPI_ERR_COMM);
    int error = attributes_delete(c);
    REQUIRE(!error, c, error);
    handle_free(KIND_COMM, *comm);
    *comm = MPI_COMM_NULL;
    comm_release(c);
    return MPI_SUCCESS;
}

API(Comm_rank, MPI_Comm comm, int *rank)
{
    ENTER();
    COMM(c, comm);
    *rank = c->rank;
    return MPI_SUCCESS;
}

API(Comm_size, MPI_Comm comm, int *size)
{
    ENTER();
    COMM(c, comm);
    *size = c->group->size;
    return MPI_SUCCESS;
}

API(Comm_compare, MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    ENTER();
    COMM(a, comm1);
    COMM(b, comm2);
    int relation = group_relation(a->group, b->group);
    *result = relation == MPI_IDENT && a != b ? MPI_CONGRUENT : relation;
    return MPI_SUCCESS;
}

API(Comm_test_inter, MPI_Comm comm, int *flag)
{
    ENTER();
    COMM(c, comm);
    *flag = 0;
    return MPI_SUCCESS;
}

/* There are no intercommunicators, so nothing has a remote group. */
API(Comm_remote_size, MPI_Comm comm, int *size)
{
    (void)size;
    ENTER();
    COMM(c, comm);
    return fail(c, MPI_ERR_COMM);
}

API(Comm_remote_group, MPI_Comm comm, MPI_Group *group)
{
    (void)group;
    ENTER();
    COMM(c, comm);
    return fail(c, MPI_ERR_COMM);
}

API(Comm_set_name, MPI_Comm comm, const char *comm_name)
{
    ENTER();
    COMM(c, comm);
    snprintf(c->name, sizeof c->name, "%s", comm_name);
    return MPI_SUCCESS;
}

API(Comm_get_name, MPI_Comm comm, char *comm_name, int *resultlen)
{
    ENTER();
    COMM(c, comm);
    *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", c->name);
    return MPI_SUCCESS;
}
