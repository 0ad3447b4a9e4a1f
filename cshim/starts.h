/*
 * How threads of ours are started. TAU takes every thread for the application's, so it does not see them. Every other
 * library that puts a pthread_create of its own before the C library's must: ThreadSanitizer and jemalloc fail in
 * threads that they have not seen begin.
 */
#ifndef MRL_STARTS_H
#define MRL_STARTS_H

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

/* The C library's function of that name, if the first one in the process is TAU's; otherwise the first one. */
static inline void *mrl_past_tau(const char *name, void *first)
{
    Dl_info where;
    if (!dladdr(first, &where) || !where.dli_fname)
        return first;
    const char *slash = strrchr(where.dli_fname, '/');
    if (strncasecmp(slash ? slash + 1 : where.dli_fname, "libTAU", strlen("libTAU")))
        return first;
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *own = library ? dlsym(library, name) : NULL;
    return own ? own : first;
}

#endif
