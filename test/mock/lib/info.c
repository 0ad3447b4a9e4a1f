/* Info objects: lists of keys and values in the order in which the keys were
 * first set. Nothing in the mock acts on a hint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct entry {
    char *key, *value;
};

struct info {
    int size;
    struct entry *entries;
};

static struct info environment_info;

__attribute__((constructor)) static void predefine(void)
{
    handle_predefine(KIND_INFO, MPI_INFO_ENV, &environment_info);
}

static struct entry *find(const struct info *info, const char *key)
{
    for (int i = 0; i < info->size; i++)
        if (strcmp(info->entries[i].key, key) == 0)
            return &info->entries[i];
    return NULL;
}

static void set(struct info *info, const char *key, const char *value)
{
    struct entry *e = find(info, key);
    if (e) {
        free(e->value);
    } else {
        info->entries =
            reallocate(info->entries, (size_t)(info->size + 1) * sizeof *info->entries);
        e = &info->entries[info->size++];
        e->key = copy_string(key);
    }
    e->value = copy_string(value);
}

static void drop(struct entry *e)
{
    free(e->key);
    free(e->value);
}

#define INFO(name, handle_)                                   \
    struct info *name = handle_object(KIND_INFO, handle_);    \
    REQUIRE(name, NULL, MPI_ERR_INFO)

API(Info_create, MPI_Info *info)
{
    *info = handle_new(KIND_INFO, allocate(sizeof(struct info)));
    return MPI_SUCCESS;
}

#ifndef MOCK_FOREIGN
API(Abi_get_info, MPI_Info *info)
{
    struct info *new = allocate(sizeof *new);
    set(new, "mpi_aint_size", "8");
    set(new, "mpi_count_size", "8");
    set(new, "mpi_offset_size", "8");
    *info = handle_new(KIND_INFO, new);
    return MPI_SUCCESS;
}
#endif

API(Info_dup, MPI_Info info, MPI_Info *newinfo)
{
    INFO(from, info);
    struct info *to = allocate(sizeof *to);
    for (int i = 0; i < from->size; i++)
        set(to, from->entries[i].key, from->entries[i].value);
    *newinfo = handle_new(KIND_INFO, to);
    return MPI_SUCCESS;
}

API(Info_free, MPI_Info *info)
{
    INFO(i, *info);
    REQUIRE(i != &environment_info, NULL, MPI_ERR_INFO);
    for (int k = 0; k < i->size; k++)
        drop(&i->entries[k]);
    free(i->entries);
    free(i);
    handle_free(KIND_INFO, *info);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

API(Info_set, MPI_Info info, const char *key, const char *value)
{
    INFO(i, info);
    REQUIRE(*key && strlen(key) < MPI_MAX_INFO_KEY, NULL, MPI_ERR_INFO_KEY);
    REQUIRE(strlen(value) < MPI_MAX_INFO_VAL, NULL, MPI_ERR_INFO_VALUE);
    set(i, key, value);
    return MPI_SUCCESS;
}

API(Info_delete, MPI_Info info, const char *key)
{
    INFO(i, info);
    struct entry *e = find(i, key);
    REQUIRE(e, NULL, MPI_ERR_INFO_NOKEY);
    drop(e);
    size_t after = (size_t)(i->entries + i->size - (e + 1));
    memmove(e, e + 1, after * sizeof *e);
    i->size--;
    return MPI_SUCCESS;
}

API(Info_get, MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    INFO(i, info);
    const struct entry *e = find(i, key);
    *flag = e != NULL;
    if (e)
        snprintf(value, (size_t)valuelen + 1, "%s", e->value);
    return MPI_SUCCESS;
}

API(Info_get_string, MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    INFO(i, info);
    const struct entry *e = find(i, key);
    *flag = e != NULL;
    if (e) {
        if (*buflen > 0)
            snprintf(value, (size_t)*buflen, "%s", e->value);
        *buflen = (int)strlen(e->value) + 1;
    }
    return MPI_SUCCESS;
}

API(Info_get_valuelen, MPI_Info info, const char *key, int *valuelen, int *flag)
{
    INFO(i, info);
    const struct entry *e = find(i, key);
    *flag = e != NULL;
    if (e)
        *valuelen = (int)strlen(e->value);
    return MPI_SUCCESS;
}

API(Info_get_nkeys, MPI_Info info, int *nkeys)
{
    INFO(i, info);
    *nkeys = i->size;
    return MPI_SUCCESS;
}

API(Info_get_nthkey, MPI_Info info, int n, char *key)
{
    INFO(i, info);
    REQUIRE(n >= 0 && n < i->size, NULL, MPI_ERR_ARG);
    snprintf(key, MPI_MAX_INFO_KEY, "%s", i->entries[n].key);
    return MPI_SUCCESS;
}
