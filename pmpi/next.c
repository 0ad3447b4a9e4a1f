#include "next.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

mrl_function *mrl_next_table[MRL_FUNCTIONS];
struct mrl_pmpi mrl_pmpi;

static bool is_ours(void *function)
{
    Dl_info theirs, ours;
    return !dladdr(function, &theirs) || !dladdr(&mrl_pmpi, &ours) || theirs.dli_fbase == ours.dli_fbase;
}

struct nth {
    int wanted;
    char path[1024];
};

static int take_nth(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct nth *n = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || !strstr(slash, "mpi") || strlen(info->dlpi_name) >= sizeof n->path || n->wanted-- > 0)
        return 0;
    strcpy(n->path, info->dlpi_name);
    return 1;
}

/*
 * mpi4py and other plugins load the MPI library privately, where RTLD_NEXT cannot see it. dlopen must
 * not be called while dl_iterate_phdr holds the loader's lock, so modules are taken one at a time.
 */
static void *find_in_modules(const char *symbol)
{
    for (int i = 0;; i++) {
        struct nth n = {.wanted = i};
        if (!dl_iterate_phdr(take_nth, &n))
            return NULL;
        void *library = dlopen(n.path, RTLD_NOLOAD | RTLD_LAZY);
        void *found = library ? dlsym(library, symbol) : NULL;
        if (library)
            dlclose(library);
        if (found && !is_ours(found))
            return found;
    }
}

void *mrl_find(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found) {
        found = dlsym(RTLD_DEFAULT, symbol);
        if (found && is_ours(found))
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
