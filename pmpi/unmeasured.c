/*
 * Nothing was measured in the process that somebody has asked to measure: it says so when it ends, and why.
 */
#include "../cshim/shim.h"
#include "calls.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say_why(const char *program)
{
    int (*initialized)(int *), called = 0;
    *(void **)&initialized = mrl_find("PMPI_Initialized");
    if (!initialized)
        mrl_say("nothing was measured: no call of MPI_Init was seen in %s or in what it started (is it built with MPI, as a shared library?)", program);
    else if (initialized(&called) || !called)
        mrl_say("nothing was measured: %s ended before it called MPI_Init", program);
    else
        mrl_say("nothing was measured: %s has looked up MPI's functions in the library itself, not in what is loaded (dlsym with RTLD_DEFAULT), "
                "or calls them as PMPI_...", program);
}

__attribute__((destructor)) static void exits(void)
{
    const char *program = mrl_owes_answer();
    if (program)
        say_why(program);
}

static void (*next_exit)(int);

__attribute__((constructor)) static void find_exit(void)
{
    *(void **)&next_exit = dlsym(RTLD_NEXT, "_exit");
}

/* Shells end like this, and signal handlers, in which nothing can be looked up. */
MRL_EXPORT _Noreturn void _exit(int code)
{
    const char *program = mrl_owes_answer();
    if (program)
        mrl_say("nothing was measured: no call of MPI_Init was seen in %s or in what it started", program);
    mrl_await_conclusion(code);
    if (next_exit)
        next_exit(code);
    for (;;)
        syscall(SYS_exit_group, code);
}

MRL_EXPORT __attribute__((alias("_exit"))) _Noreturn void _Exit(int code);
