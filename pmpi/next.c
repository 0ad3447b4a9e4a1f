#include "next.h"
#include "ours.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

mrl_function *mrl_next_table[MRL_FUNCTIONS];
struct mrl_pmpi mrl_pmpi;

struct nth {
    const char *part; /* of the file's name */
    int wanted;
    char path[1024];
};

static int take_nth(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct nth *n = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || !strstr(slash, n->part) || strlen(info->dlpi_name) >= sizeof n->path || n->wanted-- > 0)
        return 0;
    strcpy(n->path, info->dlpi_name);
    return 1;
}

/* The i-th loaded module whose file has this in its name; false behind the last. NULL if it cannot be had. */
static bool module(int i, const char *part, void **library)
{
    struct nth n = {.part = part, .wanted = i};
    if (!dl_iterate_phdr(take_nth, &n))
        return false;
    *library = dlopen(n.path, RTLD_NOLOAD | RTLD_LAZY);
    return true;
}

/*
 * mpi4py and other plugins load the MPI library privately, where RTLD_NEXT cannot see it. dlopen must
 * not be called while dl_iterate_phdr holds the loader's lock, so modules are taken one at a time.
 */
static void *find_in_modules(const char *symbol)
{
    void *library;
    for (int i = 0; module(i, "mpi", &library); i++) {
        void *found = library ? dlsym(library, symbol) : NULL;
        if (library)
            dlclose(library);
        if (found && !mrl_is_ours(found))
            return found;
    }
    return NULL;
}

static bool same_object(void *a, void *b)
{
    Dl_info of_a, of_b;
    return a && b && dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

/* MPI libraries have their functions in several spellings, or at least with the profiling interface's name too. */
void *mrl_find_stranger(const char *name)
{
    char other[64], profiling[64];
    snprintf(other, sizeof other, "%s_", name);
    snprintf(profiling, sizeof profiling, "p%s", name);
    void *library;
    for (int i = 0; module(i, "", &library); i++) {
        void *found = library ? dlsym(library, name) : NULL;
        if (found && !mrl_is_ours(found) && !same_object(found, dlsym(library, other)) && !same_object(found, dlsym(library, profiling)))
            return found;
        if (library)
            dlclose(library);
    }
    return NULL;
}

void *mrl_find(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found) {
        found = dlsym(RTLD_DEFAULT, symbol);
        if (found && mrl_is_ours(found))
            found = NULL;
    }
    return found ? found : find_in_modules(symbol);
}

static int missing(void)
{
    return 16; /* MPI_ERR_OTHER, more or less everywhere: the application called what is not there */
}

__attribute__((cold)) mrl_function *mrl_resolve(enum mrl_function_id f)
{
    mrl_function *function;
    *(void **)&function = mrl_find(mrl_function_facts[f].name);
    function = function ? function : (mrl_function *)missing;
    __atomic_store_n(&mrl_next_table[f], function, __ATOMIC_RELAXED);
    return function;
}

const char *mrl_pmpi_resolve(void)
{
    const char *missing = NULL;
#define RESOLVE(name, parameters) *(void **)&mrl_pmpi.name = mrl_find("PMPI_" #name);
#define DEMAND(name, parameters) \
    if (!mrl_pmpi.name)          \
        missing = "PMPI_" #name;
    MRL_PMPI_USED(RESOLVE)
    MRL_PMPI_USED(DEMAND)
    MRL_PMPI_OPTIONAL(RESOLVE)
#undef RESOLVE
#undef DEMAND
    return missing;
}
