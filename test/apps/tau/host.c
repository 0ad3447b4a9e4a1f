/*
 * A stand-in for TAU's plugin host, built as libTAU.so: it takes MPI calls as TAU does, has TAU's calls for timers,
 * atomic events and metadata, loads the plugins that TAU_PLUGINS and TAU_PLUGINS_PATH name when MPI is
 * initialised, and tells them what happens. It measures nothing.
 *
 * HOST_TABLE is which table of callbacks it has: old (TAU 2.28), before (metrics may be lacking), now, or later, with more
 * callbacks behind.
 * HOST_SYNC=1 makes it put a barrier before collective operations, as TAU does.
 * HOST_METRICS=A,B makes it count these beside the time: 1 of the first in each timer, 2 of the second.
 * HOST_GIVEN=1 makes it tell what collective operations were given, as TAU_CURRENT_TIMER_EXIT_PARAMS=1 does.
 */
#include "host.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Callbacks of today's table, by place. */
enum { METADATA = 1, POST_INIT, DUMP, ENTRY = 5, EXIT, PHASE_ENTRY, PHASE_EXIT, GIVEN, SEND, RECV, ATOMIC = 13, PRE_END, END, NOW = 45, LATER = 60 };

typedef int callback(void *);
static callback *callbacks[8][LATER];
static unsigned plugins;

static unsigned places(void)
{
    const char *table = getenv("HOST_TABLE");
    return table && !strcmp(table, "old") ? 16 : table && !strcmp(table, "before") ? NOW - 1 : table && !strcmp(table, "later") ? LATER : NOW;
}

/* Some members of the real one are not cleared, either. */
void Tau_util_init_tau_plugin_callbacks(callback **table)
{
    for (unsigned i = 0; i < places(); i++)
        if (i < 34 || i > 36)
            table[i] = NULL;
}

void Tau_util_plugin_register_callbacks(callback **table, unsigned plugin)
{
    bool old = places() == 16; /* without the two for phases */
    for (unsigned i = 0, at = 0; i < places(); i++, at++) {
        if (old && at == PHASE_ENTRY)
            at += 2;
        callbacks[plugin][at] = table[i];
    }
}

static void tell(int what, void *data)
{
    for (unsigned p = 0; p < plugins; p++)
        if (callbacks[p][what])
            callbacks[p][what](data);
}

static void load(void)
{
    char list[4096], path[8192], *rest = NULL;
    const char *names = getenv("TAU_PLUGINS"), *directory = getenv("TAU_PLUGINS_PATH");
    if (plugins || !names || !directory)
        return;
    snprintf(list, sizeof list, "%s", names);
    for (char *name = strtok_r(list, ":", &rest); name && plugins < 8; name = strtok_r(NULL, ":", &rest)) {
        name[strcspn(name, "(")] = 0;
        snprintf(path, sizeof path, "%s/%s", directory, name);
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        int (*init)(int, char **, unsigned);
        *(void **)&init = library ? dlsym(library, "Tau_plugin_init_func") : NULL;
        if (!init) {
            printf("TAU: Failed loading %s plugin with error: %s\n", name, dlerror());
            continue;
        }
        plugins++;
        if (init(0, NULL, plugins - 1) < 0)
            printf("TAU: Call to init func for plugin %s returned failure\n", name);
    }
}

static unsigned long microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (unsigned long)t.tv_sec * 1000000ul + (unsigned long)t.tv_nsec / 1000ul;
}

static void timer(int what, const char *name, const char *group)
{
    if (places() == 16) {
        struct {
            const char *name, *group;
            int thread;
            unsigned long timestamp;
        } data = {name, group, 0, microseconds()};
        tell(what, &data);
        return;
    }
    double metrics[25] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct {
        const char *name, *group;
        unsigned function;
        int thread;
        unsigned long timestamp;
        double *metrics;
    } data = {name, group, 7, 0, microseconds(), metrics};
    tell(what, &data);
}

void Tau_get_counter_info(const char ***names, int *n)
{
    char *list = getenv("HOST_METRICS"), *rest = NULL;
    *names = malloc(25 * sizeof **names);
    (*names)[0] = "TIME";
    *n = 1;
    for (char *name = strtok_r(strdup(list ? list : ""), ",", &rest); name && *n < 25; name = strtok_r(NULL, ",", &rest))
        (*names)[(*n)++] = name;
}

void Tau_start(const char *name)
{
    timer(ENTRY, name, "TAU_USER");
}

void Tau_stop(const char *name)
{
    timer(EXIT, name, "TAU_USER");
}

void Tau_phase(const char *name, bool begins)
{
    struct {
        const char *name;
    } data = {name};
    tell(begins ? PHASE_ENTRY : PHASE_EXIT, &data);
}

/* What was reported, by name, from any thread. */
static pthread_mutex_t reporting = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char name[256];
    int count;
    double sum, squares, min, max;
} reported[64];

static void add(const char *name, double value)
{
    pthread_mutex_lock(&reporting);
    int i = 0;
    while (i < 63 && reported[i].count && strcmp(reported[i].name, name))
        i++;
    if (!reported[i].count++) {
        snprintf(reported[i].name, sizeof reported[i].name, "%s", name);
        reported[i].min = reported[i].max = value;
    }
    reported[i].sum += value;
    reported[i].squares += value * value;
    reported[i].min = value < reported[i].min ? value : reported[i].min;
    reported[i].max = value > reported[i].max ? value : reported[i].max;
    pthread_mutex_unlock(&reporting);
}

void Tau_get_event_names(const char ***names, int *count)
{
    *names = malloc(64 * sizeof **names);
    for (*count = 0; *count < 64 && reported[*count].count; ++*count)
        (*names)[*count] = reported[*count].name;
}

void Tau_get_event_vals(const char **names, int n, int **counts, double **max, double **min, double **mean, double **squares)
{
    (void)names;
    *counts = malloc((size_t)n * sizeof **counts);
    *max = malloc((size_t)n * sizeof **max);
    *min = malloc((size_t)n * sizeof **min);
    *mean = malloc((size_t)n * sizeof **mean);
    *squares = malloc((size_t)n * sizeof **squares);
    for (int i = 0; i < n; i++) {
        (*counts)[i] = reported[i].count;
        (*max)[i] = reported[i].max;
        (*min)[i] = reported[i].min;
        (*mean)[i] = reported[i].sum / reported[i].count;
        (*squares)[i] = reported[i].squares;
    }
}

void Tau_trigger_userevent(const char *name, double value)
{
    add(name, value);
    struct {
        const char *name;
        int thread;
        unsigned long value, timestamp;
    } data = {name, 0, (unsigned long)(long)value, microseconds()};
    tell(ATOMIC, &data);
}

void Tau_metadata(const char *name, const char *value)
{
    struct {
        unsigned type;
        union {
            const char *text;
            int integer;
        } data;
    } v = {0, {.text = value}};
    struct {
        const char *name;
        void *value;
        int thread;
    } data = {name, &v, 0};
    tell(METADATA, &data);
}

static void message(int what, int peer, int tag, long bytes)
{
    struct {
        unsigned long tag, peer, bytes, thread, timestamp;
    } data = {(unsigned long)tag, (unsigned long)peer, (unsigned long)bytes, 0, microseconds()};
    tell(what, &data);
}

static void with_thread(int what)
{
    struct {
        int thread, more;
    } data = {0, 0};
    tell(what, &data);
}

static int in_world(MPI_Comm comm, int rank)
{
    MPI_Group group, world;
    int found;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, 1, &rank, world, &found);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return found;
}

static void sent(int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int size;
    PMPI_Type_size(type, &size);
    message(SEND, to == MPI_PROC_NULL ? to : in_world(comm, to), tag, (long)count * size);
}

static void received(MPI_Status *status, MPI_Comm comm)
{
    int bytes;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    message(RECV, status->MPI_SOURCE == MPI_PROC_NULL ? MPI_PROC_NULL : in_world(comm, status->MPI_SOURCE), status->MPI_TAG, bytes);
}

/* Receives in flight. */
static struct {
    MPI_Request request;
    MPI_Comm comm;
} receives[1024];

static void posted(MPI_Request request, MPI_Comm comm)
{
    for (int i = 0; i < 1024; i++)
        if (!receives[i].comm) {
            receives[i].request = request;
            receives[i].comm = comm;
            return;
        }
}

static void completed(MPI_Request request, MPI_Status *status)
{
    for (int i = 0; i < 1024; i++)
        if (receives[i].comm && receives[i].request == request) {
            received(status, receives[i].comm);
            receives[i].comm = 0;
            return;
        }
}

/* As MPI_Allreduce and its like end. size < 0: no event tells it; where there are two, size is that of the event. */
static void given_both(const char *name, long size, long out, long in, int root, MPI_Comm comm)
{
    static const struct {
        const char *name, *event;
    } events[] = {{"MPI_Allreduce", "all-reduce"}, {"MPI_Bcast", "broadcast"},   {"MPI_Reduce", "reduce"}, {"MPI_Allgather", "all-gather"},
                  {"MPI_Alltoall", "all-to-all"},  {"MPI_Gather", "gather"},     {"MPI_Scatter", "scatter"}, {"MPI_Scan", "scan"}};
    char text[256];
    for (size_t i = 0; i < sizeof events / sizeof *events && size >= 0; i++)
        if (!strcmp(events[i].name, name)) {
            snprintf(text, sizeof text, "Message size for %s", events[i].event);
            Tau_trigger_userevent(text, (double)size);
        }
    if (!getenv("HOST_GIVEN"))
        return;
    char sizes[64];
    snprintf(sizes, sizeof sizes, out < 0 ? "\"size\": %ld" : "\"sendsize\": %ld, \"recvsize\": %ld", out < 0 ? size : out, in);
    snprintf(text, sizeof text, "\"cat\": \"MPI\", \"name\": \"%s\", %s, \"root\": %d, \"comm\": \"%s\"", name, sizes, root,
             comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD" : comm == MPI_COMM_SELF ? "MPI_COMM_SELF" : "0x84000001");
    struct {
        const char *text;
    } data = {text};
    tell(GIVEN, &data);
}

static void given(const char *name, long size, int root, MPI_Comm comm)
{
    given_both(name, size, -1, -1, root, comm);
}

static long bytes_of(int count, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    return (long)count * size;
}

/* TAU's own barrier, with a timer of its own in the same function. */
#define TOGETHER(comm)                                   \
    if (getenv("HOST_SYNC")) {                           \
        timer(ENTRY, "MPI Collective Sync", "TAU_MESSAGE"); \
        PMPI_Barrier(comm);                              \
        timer(EXIT, "MPI Collective Sync", "TAU_MESSAGE"); \
    }

#define TIMED(name, ...)                 \
    {                                    \
        timer(ENTRY, name "()", "MPI");  \
        int rc;                          \
        __VA_ARGS__                      \
        timer(EXIT, name "()", "MPI");   \
        return rc;                       \
    }

int MPI_Init(int *argc, char ***argv)
TIMED("MPI_Init", {
    rc = PMPI_Init(argc, argv);
    load();
    with_thread(POST_INIT);
    Tau_metadata("Executable", "program");
})

int MPI_Finalize(void)
{
    timer(ENTRY, "MPI_Finalize()", "MPI");
    with_thread(PRE_END);
    int rc = PMPI_Finalize();
    timer(EXIT, "MPI_Finalize()", "MPI");
    timer(EXIT, ".TAU application", "TAU_DEFAULT");
    with_thread(PRE_END);
    with_thread(END);
    return rc;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) TIMED("MPI_Comm_rank", rc = PMPI_Comm_rank(comm, rank);)
int MPI_Comm_size(MPI_Comm comm, int *size) TIMED("MPI_Comm_size", rc = PMPI_Comm_size(comm, size);)
int MPI_Comm_free(MPI_Comm *comm) TIMED("MPI_Comm_free", rc = PMPI_Comm_free(comm);)
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new)
TIMED("MPI_Comm_split", rc = PMPI_Comm_split(comm, color, key, new);)

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
TIMED("MPI_Send", sent(count, type, to, tag, comm); rc = PMPI_Send(data, count, type, to, tag, comm);)

int MPI_Ssend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
TIMED("MPI_Ssend", sent(count, type, to, tag, comm); rc = PMPI_Ssend(data, count, type, to, tag, comm);)

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
TIMED("MPI_Recv", MPI_Status own; status = status == MPI_STATUS_IGNORE ? &own : status;
      rc = PMPI_Recv(data, count, type, from, tag, comm, status); received(status, comm);)

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to, int tag, void *in, int room, MPI_Datatype intype, int from, int intag,
                 MPI_Comm comm, MPI_Status *status)
TIMED("MPI_Sendrecv", MPI_Status own; status = status == MPI_STATUS_IGNORE ? &own : status; sent(count, type, to, tag, comm);
      rc = PMPI_Sendrecv(data, count, type, to, tag, in, room, intype, from, intag, comm, status); received(status, comm);)

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
TIMED("MPI_Isend", sent(count, type, to, tag, comm); rc = PMPI_Isend(data, count, type, to, tag, comm, request);)

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
TIMED("MPI_Irecv", rc = PMPI_Irecv(data, count, type, from, tag, comm, request); posted(*request, comm);)

int MPI_Wait(MPI_Request *request, MPI_Status *status)
TIMED("MPI_Wait", MPI_Status own; MPI_Request was = *request; status = status == MPI_STATUS_IGNORE ? &own : status;
      rc = PMPI_Wait(request, status); completed(was, status);)

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
TIMED("MPI_Test", MPI_Status own; MPI_Request was = *request; status = status == MPI_STATUS_IGNORE ? &own : status;
      rc = PMPI_Test(request, flag, status); if (*flag) completed(was, status);)

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
TIMED("MPI_Waitall", MPI_Status own[1024]; MPI_Request were[1024]; memcpy(were, requests, (size_t)count * sizeof *were);
      statuses = statuses == MPI_STATUSES_IGNORE ? own : statuses; rc = PMPI_Waitall(count, requests, statuses);
      for (int i = 0; i < count; i++) completed(were[i], &statuses[i]);)

int MPI_Barrier(MPI_Comm comm) TIMED("MPI_Barrier", rc = PMPI_Barrier(comm); given("MPI_Barrier", -1, 0, comm);)

int MPI_Allreduce(const void *data, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
TIMED("MPI_Allreduce", TOGETHER(comm) rc = PMPI_Allreduce(data, out, count, type, op, comm); given("MPI_Allreduce", bytes_of(count, type), 0, comm);)

int MPI_Scan(const void *data, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
TIMED("MPI_Scan", TOGETHER(comm) rc = PMPI_Scan(data, out, count, type, op, comm); given("MPI_Scan", bytes_of(count, type), 0, comm);)

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
TIMED("MPI_Bcast", TOGETHER(comm) rc = PMPI_Bcast(data, count, type, root, comm); given("MPI_Bcast", bytes_of(count, type), root, comm);)

int MPI_Reduce(const void *data, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
TIMED("MPI_Reduce", TOGETHER(comm) rc = PMPI_Reduce(data, out, count, type, op, root, comm); given("MPI_Reduce", bytes_of(count, type), root, comm);)

int MPI_Allgather(const void *data, int count, MPI_Datatype type, void *out, int outcount, MPI_Datatype outtype, MPI_Comm comm)
TIMED("MPI_Allgather", TOGETHER(comm) rc = PMPI_Allgather(data, count, type, out, outcount, outtype, comm);
      given_both("MPI_Allgather", bytes_of(outcount, outtype), bytes_of(count, type), bytes_of(outcount, outtype), 0, comm);)

int MPI_Alltoall(const void *data, int count, MPI_Datatype type, void *out, int outcount, MPI_Datatype outtype, MPI_Comm comm)
TIMED("MPI_Alltoall", TOGETHER(comm) rc = PMPI_Alltoall(data, count, type, out, outcount, outtype, comm);
      given_both("MPI_Alltoall", bytes_of(count, type), bytes_of(count, type), bytes_of(outcount, outtype), 0, comm);)

int MPI_Gather(const void *data, int count, MPI_Datatype type, void *out, int outcount, MPI_Datatype outtype, int root, MPI_Comm comm)
TIMED("MPI_Gather", TOGETHER(comm) int me; PMPI_Comm_rank(comm, &me); rc = PMPI_Gather(data, count, type, out, outcount, outtype, root, comm);
      given_both("MPI_Gather", me == root ? bytes_of(outcount, outtype) : -1, bytes_of(count, type), bytes_of(outcount, outtype), root, comm);)

int MPI_Scatter(const void *data, int count, MPI_Datatype type, void *out, int outcount, MPI_Datatype outtype, int root, MPI_Comm comm)
TIMED("MPI_Scatter", TOGETHER(comm) rc = PMPI_Scatter(data, count, type, out, outcount, outtype, root, comm);
      given_both("MPI_Scatter", bytes_of(count, type), bytes_of(count, type), bytes_of(outcount, outtype), root, comm);)
