/* The life of the process in MPI: what mockrun told it, beginning and end.
 *
 * The state only moves forward, and MPI functions work only in RUNNING. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#ifndef MOCK_LIBRARY_VERSION
#define MOCK_LIBRARY_VERSION "Marple mock MPI 1.0 (MPI standard ABI 1.0)"
#endif

enum state { BEFORE, RUNNING, AFTER };

struct environment environment = {.fd = -1, .size = 1, .hosts = 1};
_Thread_local const char *mpi_function = "MPI";
static _Atomic enum state state;
static int thread_level;
static pthread_t main_thread;

__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("MOCKMPI");
    int is_virtual = 0, cpu = 0;
    unsigned long long tick = 0;
    long long skew = 0, drift = 0;
    if (text && sscanf(text, "fd=%d rank=%d size=%d virtual=%d cpu=%d tick=%llu hosts=%d appnum=%d skew=%lld drift=%lld",
                       &environment.fd, &environment.rank, &environment.size, &is_virtual, &cpu, &tick,
                       &environment.hosts, &environment.appnum, &skew, &drift) != 10)
        environment.fd = -1;
    environment.is_virtual = is_virtual;
    environment.cpu = cpu;
    environment.tick = tick;
    environment.skew = skew;
    environment.drift = drift;
}

bool mpi_running(void)
{
    return state == RUNNING;
}

int fail_outside(void)
{
    fprintf(stderr, "mockmpi: rank %d: %s called %s\n", environment.rank, mpi_function,
            state == BEFORE ? "before MPI_Init" : "after MPI_Finalize");
    exit(MPI_ERR_OTHER);
}

/* Ends this process; mockrun ends the others. */
void mpi_abort(int code)
{
    if (!mpi_running())
        exit(code);
    struct frame f = frame_new(OP_ABORT, false);
    put_i32(&f, code);
    struct reply reply = call(&f);
    reply_free(&reply);
    exit(code);
}

/* Ranks are spread over the hosts in blocks. */
int host_of(int rank)
{
    return (int)((int64_t)rank * environment.hosts / environment.size);
}

/* What a rank is told of where it runs. */
int gethostname(char *name, size_t size)
{
    if (environment.hosts > 1)
        return snprintf(name, size, "mock%d", host_of(environment.rank)) < (int)size ? 0 : -1;
    int (*next)(char *, size_t) = dlsym(RTLD_NEXT, "gethostname");
    return next(name, size);
}

void *reallocate(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p) {
        fprintf(stderr, "mockmpi: rank %d: out of memory in %s\n", environment.rank, mpi_function);
        abort();
    }
    return p;
}

void *allocate(size_t size)
{
    return memset(reallocate(NULL, size), 0, size);
}

char *copy_string(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(allocate(size), text, size);
}

static int start(int required, int *provided)
{
    if (state != BEFORE)
        return state == RUNNING ? fail(NULL, MPI_ERR_OTHER) : fail_outside();
    if (environment.fd < 0 || fcntl(environment.fd, F_SETFD, FD_CLOEXEC) < 0) {
        fprintf(stderr, "mockmpi: %s: this program was not started by mockrun\n", mpi_function);
        exit(1);
    }
    int best = environment.is_virtual ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
    thread_level = required < best ? required : best;
    main_thread = pthread_self();
    wire_open(environment.fd);
    errors_start();
    types_start();
    ops_start();
    groups_start();
    comms_start();
    requests_start();
    struct frame f = frame_new(OP_INIT, false);
    struct reply reply = call(&f);
    reply_free(&reply);
    clock_start();
    state = RUNNING;
    if (provided)
        *provided = thread_level;
    return MPI_SUCCESS;
}

API(Init, int *argc, char ***argv)
{
    (void)argc, (void)argv;
    mpi_function = "MPI_Init";
    return start(MPI_THREAD_SINGLE, NULL);
}

API(Init_thread, int *argc, char ***argv, int required, int *provided)
{
    (void)argc, (void)argv;
    mpi_function = "MPI_Init_thread";
    return start(required, provided);
}

API(Initialized, int *flag)
{
    *flag = state != BEFORE;
    return MPI_SUCCESS;
}

API(Finalized, int *flag)
{
    *flag = state == AFTER;
    return MPI_SUCCESS;
}

API(Finalize, void)
{
    ENTER();
    int error = attributes_delete(comm_get(MPI_COMM_SELF));
    REQUIRE(!error, NULL, error);
    mpi_function = "MPI_Finalize";
    struct frame f = frame_new(OP_FINALIZE, true);
    struct reply reply = call(&f);
    reply_free(&reply);
    state = AFTER;
    return MPI_SUCCESS;
}

API(Abort, MPI_Comm comm, int errorcode)
{
    (void)comm;
    ENTER();
    mpi_abort(errorcode);
}

API(Query_thread, int *provided)
{
    ENTER();
    *provided = thread_level;
    return MPI_SUCCESS;
}

API(Is_thread_main, int *flag)
{
    ENTER();
    *flag = pthread_equal(pthread_self(), main_thread) != 0;
    return MPI_SUCCESS;
}

API(Get_processor_name, char *name, int *resultlen)
{
    ENTER();
    *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "mock%d", host_of(environment.rank));
    return MPI_SUCCESS;
}

API(Get_library_version, char *version, int *resultlen)
{
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", MOCK_LIBRARY_VERSION);
    return MPI_SUCCESS;
}

API(Get_version, int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

/* To have this function is to claim the standard ABI; so for MPI_Abi_get_info. */
#ifndef MOCK_FOREIGN
API(Abi_get_version, int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
#endif

API(Pcontrol, const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}

API(Alloc_mem, MPI_Aint size, MPI_Info info, void *baseptr)
{
    (void)info;
    ENTER();
    REQUIRE(size >= 0, NULL, MPI_ERR_ARG);
    *(void **)baseptr = allocate((size_t)size);
    return MPI_SUCCESS;
}

API(Free_mem, void *base)
{
    ENTER();
    free(base);
    return MPI_SUCCESS;
}
