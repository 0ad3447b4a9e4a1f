/*
 * `marple doctor`: with MARPLE_DOCTOR set, reports what a measurement would meet in this process, and ends
 * it before main. One line per check on stdout: id, ok or no, title, detail; separated by tabs.
 */
#include "../cshim/shim.h"
#include "next.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(const char *id, bool ok, const char *title, const char *format, ...)
{
    char detail[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    detail[strcspn(detail, "\n\t")] = 0;
    printf("%s\t%s\t%s\t%s\n", id, ok ? "ok" : "no", title, detail);
}

static void check_mpi(void)
{
    char library[256];
    if (!mrl_find("PMPI_Send")) {
        check("mpi", false, "MPI", "no MPI library is loaded into this program when it starts; if it loads one later, ask under mpirun");
        return;
    }
    const char *missing = NULL;
    bool known = mrl_abi_recognise(library, sizeof library);
    if (known)
        missing = mrl_pmpi_resolve();
    if (!known)
        check("mpi", false, "MPI", "not recognised, programs run unmeasured: %s", library);
    else if (missing)
        check("mpi", false, "MPI", "%s is missing, programs run unmeasured: %s", missing, library);
    else
        check("mpi", true, "MPI", "recognised as %s: %s", mrl_abi.name, library);
}

__attribute__((constructor)) static void doctor(void)
{
    if (!getenv("MARPLE_DOCTOR"))
        return;
    mrl_settings_read();
    check_mpi();
    mrl_clock_choose();
    check("clock", true, "clock", "%s", mrl.tsc ? "the processor's invariant time stamp counter"
                                       : mrl.external ? "a simulated MPI's own"
                                                      : "CLOCK_MONOTONIC (the time stamp counter is not reliable here)");
    check("scheduler", access("/proc/thread-self/schedstat", R_OK) == 0, "time off the core",
          access("/proc/thread-self/schedstat", R_OK) == 0
              ? "the kernel tells waiting for a core from other waiting"
              : "/proc/thread-self/schedstat is missing: waiting for a core is guessed from context switches");
    char why[1024];
    bool core = mrl_core_possible(why, sizeof why);
    check("core", core, "analysis core", "%s", core ? "can be opened" : why);
    fflush(stdout);
    _exit(0);
}
