/* Attributes of communicators.
 *
 * Callbacks run while nothing is locked and the attribute is still in place, so
 * they may call MPI. Attributes go in the reverse order of being set. */
#include <stdlib.h>

#include "internal.h"

struct keyval {
    atomic_int refs;
    int number;
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *delete;
    void *extra;
};

struct attribute {
    struct keyval *keyval;
    void *value;
    struct attribute *next; /* set before this one */
};

static struct keyval *keyval_get(int number)
{
    return handle_object(KIND_KEYVAL, (void *)(intptr_t)number);
}

static void keyval_release(struct keyval *k)
{
    if (--k->refs == 0)
        free(k);
}

static struct attribute **find(struct comm *comm, const struct keyval *k)
{
    struct attribute **a = &comm->attributes;
    while (*a && (*a)->keyval != k)
        a = &(*a)->next;
    return a;
}

static int call_delete(struct comm *comm, struct attribute *a)
{
    struct keyval *k = a->keyval;
    if (k->delete == MPI_COMM_NULL_DELETE_FN)
        return MPI_SUCCESS;
    return k->delete(comm->handle, k->number, a->value, k->extra);
}

static int remove_attribute(struct comm *comm, struct attribute *a)
{
    int error = call_delete(comm, a);
    if (error)
        return error;
    *find(comm, a->keyval) = a->next;
    keyval_release(a->keyval);
    free(a);
    return MPI_SUCCESS;
}

int attributes_delete(struct comm *comm)
{
    int error = MPI_SUCCESS;
    while (comm->attributes && !error)
        error = remove_attribute(comm, comm->attributes);
    return error;
}

/* Forgets what a failed copy left, without callbacks. */
void attributes_drop(struct comm *comm)
{
    while (comm->attributes) {
        struct attribute *a = comm->attributes;
        comm->attributes = a->next;
        keyval_release(a->keyval);
        free(a);
    }
}

static void append(struct comm *comm, struct keyval *k, void *value)
{
    struct attribute *a = allocate(sizeof *a);
    k->refs++;
    a->keyval = k;
    a->value = value;
    *find(comm, NULL) = a;
}

int attributes_copy(struct comm *from, struct comm *to)
{
    for (struct attribute *a = from->attributes; a; a = a->next) {
        struct keyval *k = a->keyval;
        void *value = a->value;
        int flag = k->copy == MPI_COMM_DUP_FN;
        if (!flag && k->copy != MPI_COMM_NULL_COPY_FN) {
            int error = k->copy(from->handle, k->number, k->extra, a->value, &value, &flag);
            if (error)
                return error;
        }
        if (flag)
            append(to, k, value);
    }
    return MPI_SUCCESS;
}

API(Comm_create_keyval, MPI_Comm_copy_attr_function *copy_fn,
    MPI_Comm_delete_attr_function *delete_fn, int *keyval, void *extra_state)
{
    ENTER();
    struct keyval *k = allocate(sizeof *k);
    k->refs = 1;
    k->copy = copy_fn;
    k->delete = delete_fn;
    k->extra = extra_state;
    *keyval = k->number = (int)(intptr_t)handle_new(KIND_KEYVAL, k);
    return MPI_SUCCESS;
}

API(Comm_free_keyval, int *keyval)
{
    ENTER();
    struct keyval *k = keyval_get(*keyval);
    REQUIRE(k, NULL, MPI_ERR_KEYVAL);
    handle_free(KIND_KEYVAL, (void *)(intptr_t)*keyval);
    keyval_release(k);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

API(Comm_set_attr, MPI_Comm comm, int keyval, void *attribute_val)
{
    ENTER();
    COMM(c, comm);
    struct keyval *k = keyval_get(keyval);
    REQUIRE(k, c, MPI_ERR_KEYVAL);
    struct attribute *a = *find(c, k);
    if (a) {
        int error = call_delete(c, a);
        REQUIRE(!error, c, error);
        a->value = attribute_val;
        return MPI_SUCCESS;
    }
    a = allocate(sizeof *a);
    k->refs++;
    a->keyval = k;
    a->value = attribute_val;
    a->next = c->attributes;
    c->attributes = a;
    return MPI_SUCCESS;
}

/* Predefined attributes are addresses of ints; all communicators have them. */
static int *predefined(int keyval)
{
    static int tag_ub = 0x7fffffff, wtime_is_global = 1, universe_size, appnum;
    universe_size = environment.size;
    appnum = environment.appnum;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    }
    return NULL;
}

API(Comm_get_attr, MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    ENTER();
    COMM(c, comm);
    void *value = predefined(keyval);
    *flag = value != NULL;
    if (!value) {
        struct keyval *k = keyval_get(keyval);
        REQUIRE(k, c, MPI_ERR_KEYVAL);
        struct attribute *a = *find(c, k);
        *flag = a != NULL;
        value = a ? a->value : NULL;
    }
    if (*flag)
        *(void **)attribute_val = value;
    return MPI_SUCCESS;
}

API(Comm_delete_attr, MPI_Comm comm, int keyval)
{
    ENTER();
    COMM(c, comm);
    struct keyval *k = keyval_get(keyval);
    struct attribute *a = k ? *find(c, k) : NULL;
    REQUIRE(a, c, MPI_ERR_KEYVAL);
    int error = remove_attribute(c, a);
    REQUIRE(!error, c, error);
    return MPI_SUCCESS;
}
