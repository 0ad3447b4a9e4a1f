/*
 * The Go runtime's threads are started past TAU, which would take them for the application's and measure them. The
 * linker leads the runtime's calls here (main.go).
 */
#define _GNU_SOURCE
#include "starts.h"

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
create __real_pthread_create, __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static create *_Atomic found;
    if (!found)
        found = (create *)mrl_past_tau("pthread_create", (void *)__real_pthread_create);
    return found(thread, attributes, start, argument);
}
