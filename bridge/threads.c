/*
 * The Go runtime's threads are started by the C library, past tools that put a pthread_create of their own before its:
 * these would take them for the application's, and measure them. The linker leads the runtime's calls here (main.go).
 */
#include <dlfcn.h>
#include <pthread.h>

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
create __real_pthread_create, __wrap_pthread_create;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static create *_Atomic found;
    if (!found) {
        void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *function = library ? dlsym(library, "pthread_create") : NULL;
        found = function ? (create *)function : __real_pthread_create;
    }
    return found(thread, attributes, start, argument);
}
