/*
 * Calls every MPI function of pmpi/functions.txt that the library has with arguments that are wrong, or that nobody may look at:
 *
 *     arguments erroneous [PART PARTS]     each argument in turn null, a null handle or negative, and then all of them
 *     arguments ignored       what the table says is ignored is garbage; on three ranks, all of which must come through
 *
 * Of each call it prints the error class that it gave, and how often an error handler of the program's was called
 *
 *     says MPI_Wait *request=NULL: class 19, 1 handled
 *
 * or the signal that it died of, SIGALRM where it hung: a child makes the calls, and another one goes on behind one that has
 * died. So `erroneous` is started without a launcher.
 */
#include "counted.h"

#include "arguments.gen.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, BUFFER = 512 };
typedef long long word; /* any argument, as the library's binary interface passes it */

static const struct function {
    const char *name, *params;
} functions[] = {MPI_FUNCTIONS};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const struct ignored {
    const char *name, *params, *when, *what;
} ignoring[] = {MPI_IGNORED};
enum { IGNORED = sizeof ignoring / sizeof *ignoring };

/* Handles are ints or pointers. */
#define HANDLE(h) ((word)(h))
#define AT(p) ((word)(uintptr_t)(p))

static int part, parts = 1; /* of the functions */
static int rank, ranks, handled;
static word in[BUFFER], out[BUFFER], slots[MOST], ones[8] = {1}, zeros[8], garbage_of[64];
static MPI_Comm comm, nobody, halves; /* nobody: a topology without neighbours */
static MPI_Win window;
static MPI_File file;
static MPI_Group group;
static MPI_Datatype types[8];

static void on_comm(MPI_Comm *on, int *code, ...) { (void)on, (void)code, handled++; }
static void on_win(MPI_Win *on, int *code, ...) { (void)on, (void)code, handled++; }
static void on_file(MPI_File *on, int *code, ...) { (void)on, (void)code, handled++; }

static int is(const char *name, const char *list)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

enum kind { POINTER, HANDLES, REFERENCE, NUMBER };

/* What an argument of this name is, something that is right, and the null handle. */
static enum kind argument(const char *name, word *right, word *null)
{
    const struct {
        const char *names;
        word null, right;
    } handles[] = {
#define KNOWN(names, null, right) {names, HANDLE(null), HANDLE(right)}
        KNOWN("comm peer_comm newcomm", MPI_COMM_NULL, comm),
        KNOWN("datatype sendtype recvtype origin_datatype target_datatype result_datatype etype filetype oldtype newtype", MPI_DATATYPE_NULL, MPI_INT),
        KNOWN("op", MPI_OP_NULL, MPI_SUM),
        KNOWN("info", MPI_INFO_NULL, MPI_INFO_NULL),
        KNOWN("win", MPI_WIN_NULL, window),
        KNOWN("fh", MPI_FILE_NULL, file),
        KNOWN("group local_group remote_group", MPI_GROUP_NULL, group),
        KNOWN("request", MPI_REQUEST_NULL, MPI_REQUEST_NULL),
        KNOWN("message", MPI_MESSAGE_NULL, MPI_MESSAGE_NULL),
        KNOWN("errhandler", MPI_ERRHANDLER_NULL, MPI_ERRORS_RETURN),
#if MPI_VERSION >= 4
        KNOWN("session", MPI_SESSION_NULL, MPI_SESSION_NULL),
#else
        KNOWN("session", 0, 0),
#endif
    };
    static word slot;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (is(name + (*name == '*'), handles[i].names)) {
            *null = handles[i].null;
            if (*name != '*')
                return *right = handles[i].right, HANDLES;
            memcpy(&slot, null, sizeof slot);
            return *right = AT(&slot), REFERENCE;
        }
    if (is(name, "count sendcount recvcount origin_count target_count result_count incount outcount nnodes ndims size blocklength "
                 "stride partitions maxprocs length n disp_unit extent high insize outsize")) {
        *right = is(name, "insize outsize size") ? 8 : 1;
        return NUMBER;
    }
    if (is(name, "dest source")) {
        *right = MPI_PROC_NULL;
        return NUMBER;
    }
    if (is(name, "root rank target_rank tag sendtag recvtag assert key color reorder local_leader remote_leader disp target_disp "
                 "offset whence amode flag partition partition_low partition_high indegree outdegree split_type lock_type lb p r order fd")) {
        *right = !strcmp(name, "lock_type") ? MPI_LOCK_SHARED : !strcmp(name, "amode") ? MPI_MODE_RDONLY : !strcmp(name, "split_type") ? MPI_COMM_TYPE_SHARED : 0;
        return NUMBER;
    }
    *right = is(name, "recvcounts sendcounts dims indx degrees array_of_blocklengths array_of_sizes array_of_subsizes array_of_psizes "
                      "array_of_gsizes array_of_maxprocs weights sourceweights destweights")
                 ? AT(ones)
             : is(name, "sdispls rdispls displs edges periods remain_dims sources destinations array_of_starts array_of_displacements position") ? AT(zeros)
             : is(name, "sendtypes recvtypes array_of_types")                                                       ? AT(types)
             : is(name, "filename port_name service_name stringtag command datarep")                               ? AT(strcmp(name, "datarep") ? "/nothing" : "native")
             : is(name, "sendbuf buf inbuf origin_addr buffer compare_addr")                                       ? AT(out)
             : is(name, "array_of_requests")                                                                       ? AT(slots)
                                                                                                                   : AT(in);
    return POINTER;
}

struct call {
    const char *name;
    int (*function)(word, ...);
    char text[512], *params[MOST];
    word with[MOST];
    int count;
};

/* Takes a function and right arguments for it. 0: the library does not have it. */
static int take(struct call *c, const char *name, const char *params)
{
    memset(c, 0, sizeof *c);
    c->name = name;
    char pmpi[128];
    snprintf(pmpi, sizeof pmpi, "P%s", name);
    *(void **)&c->function = dlsym(RTLD_DEFAULT, name);
    snprintf(c->text, sizeof c->text, "%s", params);
    for (char *p = strtok(c->text, " "); p && c->count < MOST; p = strtok(NULL, " "))
        c->params[c->count++] = p;
    size_t length = strlen(name);
    for (int i = 0; i < 8; i++) /* large counts are wider */
        if (length > 2 && !strcmp(name + length - 2, "_c"))
            ones[i] = 1;
        else
            ((int *)ones)[i] = 1;
    MPI_Request none = MPI_REQUEST_NULL;
    for (size_t i = 0; i < MOST; i++)
        memcpy((char *)slots + i * sizeof none, &none, sizeof none);
    for (int i = 0; i < c->count; i++) {
        word null;
        argument(c->params[i], &c->with[i], &null);
        if (strstr(name, "eighbor") && !strcmp(c->params[i], "comm"))
            c->with[i] = HANDLE(nobody);
    }
    return dlsym(RTLD_DEFAULT, pmpi) != NULL; /* tools may have more functions than the library */
}

static int make(const struct call *c)
{
    const word *a = c->with;
    return c->function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15]);
}

static void begin(void)
{
    MPI_Errhandler comms, wins, files;
    int *base;
    char name[] = "argumentsXXXXXX";
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_create_errhandler(on_comm, &comms);
    MPI_Win_create_errhandler(on_win, &wins);
    MPI_File_create_errhandler(on_file, &files);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, comms);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, comms);
    MPI_File_set_errhandler(MPI_FILE_NULL, files);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Dist_graph_create_adjacent(comm, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &nobody);
    MPI_Win_allocate(64, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_set_errhandler(window, wins);
    MPI_Win_lock_all(0, window);
    if (ranks == 1) {
        close(mkstemp(name));
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_set_errhandler(file, files);
        unlink(name);
    } else {
        MPI_Comm_split(comm, rank == ranks - 1, 0, &halves);
    }
    for (int i = 0; i < 8; i++)
        types[i] = MPI_INT;
}

static const char *tell(char *text, size_t size, int rc)
{
    int now = handled, class = 0;
    if (rc)
        MPI_Error_class(rc, &class);
    snprintf(text, size, "class %d, %d handled", class, now);
    return text;
}

/* ---- erroneous */

/* Calls that wait for others if all is right, or start processes; and one whose valid form the libraries may not outlive. */
#define WAITS "MPI_Comm_spawn MPI_Comm_spawn_multiple MPI_Comm_accept MPI_Comm_connect MPI_Comm_join MPI_Win_wait MPI_Win_fence MPI_Win_start"

static int each(int from, int telling)
{
    int probe = 0;
    for (int f = 0; f < FUNCTIONS; f++) {
        struct call right;
        if (!take(&right, functions[f].name, functions[f].params) || is(right.name, WAITS) || f % parts != part)
            continue;
        for (int i = 0; i <= right.count; i++)
            for (int how = 0; how < 2; how++) {
                struct call c;
                word fine, null = 0;
                const char *wrong = "NULL";
                char text[64];
                take(&c, functions[f].name, functions[f].params);
                if (i == c.count) {
                    if (how)
                        continue;
                    memset(c.with, 0, sizeof c.with);
                } else {
                    enum kind k = argument(c.params[i], &fine, &null);
                    if (how && k != REFERENCE)
                        continue;
                    if (k == NUMBER)
                        c.with[i] = -7, wrong = "-7";
                    else if (k == HANDLES)
                        c.with[i] = null, wrong = "null handle";
                    else if (!how)
                        c.with[i] = 0;
                    else
                        wrong = "null handle";
                }
                if (probe++ < from)
                    continue;
                int at = probe - 1, rc = 0;
                if (write(telling, &at, sizeof at) != sizeof at)
                    _exit(1);
                printf("says %s %s=%s: ", c.name, i < c.count ? c.params[i] : "all", wrong);
                fflush(stdout);
                handled = 0;
                alarm(10);
                rc = make(&c);
                alarm(0);
                puts(tell(text, sizeof text, rc));
                fflush(stdout);
            }
    }
    return probe;
}

static void child(int from, int telling)
{
    begin();
    each(from, telling);
    _exit(0); /* there is not much left to finalise */
}

static int erroneous(void)
{
    for (int next = 0, status = 1; status;) {
        int told[2], at = next - 1;
        if (pipe(told))
            return 1;
        pid_t pid = fork();
        if (pid == 0) {
            close(told[0]);
            child(next, told[1]);
        }
        close(told[1]);
        while (read(told[0], &at, sizeof at) == sizeof at)
            ;
        close(told[0]);
        waitpid(pid, &status, 0);
        if (WIFSIGNALED(status))
            printf("signal %d\n", WTERMSIG(status));
        else if (status)
            printf("exit %d\n", WEXITSTATUS(status));
        fflush(stdout);
        if (at < next && status)
            return 1;
        next = at + 1;
    }
    return 0;
}

/* ---- ignored */

static void set(struct call *c, const char *name, word value)
{
    for (int i = 0; i < c->count; i++)
        if (!strcmp(c->params[i], name))
            c->with[i] = value;
}

static int has(const struct call *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (!strcmp(c->params[i], name))
            return 1;
    return 0;
}

/* The circumstance for this rank. 0: it is not in it, and makes the call as it should be. */
static int circumstance(struct call *c, const char *when)
{
    int scatters = strstr(c->name, "catter") != NULL;
    if (!strcmp(when, "leaf"))
        return rank != 0;
    if (!strcmp(when, "in_place")) {
        if (has(c, "root") && rank != 0)
            return 0;
        set(c, scatters ? "recvbuf" : "sendbuf", AT(MPI_IN_PLACE));
        return 1;
    }
    if (!strcmp(when, "no_op"))
        return set(c, "op", HANDLE(MPI_NO_OP)), 1;
    if (!strcmp(when, "no_destination") || !strcmp(when, "no_source"))
        return 1; /* nobody has neighbours: the library may refuse, and then nobody waits for it */
    if (!strcmp(when, "follower"))
        return set(c, "comm", HANDLE(halves)), set(c, "peer_comm", HANDLE(comm)), set(c, "remote_leader", rank == ranks - 1 ? 0 : ranks - 1),
               rank == 1;
    if (!strcmp(when, "undefined"))
        return set(c, "color", MPI_UNDEFINED), 1;
    printf("says no such circumstance: %s\n", when);
    return 0;
}

/* Both libraries look at some of what they should not: so it is nonsense that can be looked at, and each look is an error. */
static word garbage(const char *name)
{
    static MPI_Datatype nothing[64];
    word fine, null;
    switch (argument(name, &fine, &null)) {
    case HANDLES:
        return null;
    case NUMBER:
        return -7;
    default:
        for (int i = 0; i < 64; i++)
            nothing[i] = MPI_DATATYPE_NULL;
        memset(garbage_of, 0xf9, sizeof garbage_of);
        return strstr(name, "types") ? AT(nothing) : AT(garbage_of);
    }
}

static int ignored(void)
{
    begin();
    for (int i = 0; i < IGNORED; i++) {
        struct call c;
        char text[64];
        if (!take(&c, ignoring[i].name, ignoring[i].params) || is(c.name, WAITS))
            continue;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm made = MPI_COMM_NULL;
        set(&c, "*request", AT(&request));
        set(&c, "*newcomm", AT(&made));
        int odd = circumstance(&c, ignoring[i].when);
        for (int k = 0; odd && k < c.count; k++)
            if (is(c.params[k], ignoring[i].what))
                c.with[k] = garbage(c.params[k]);
        handled = 0;
        printf("begins %s %s\n", c.name, ignoring[i].when);
        fflush(stdout);
        int rc = make(&c);
        if (!rc && request != MPI_REQUEST_NULL) {
            if (strstr(c.name, "_init"))
                rc = MPI_Start(&request);
            rc = rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (request != MPI_REQUEST_NULL)
                MPI_Request_free(&request);
        }
        printf("says rank %d, %s, %s: %s\n", rank, c.name, ignoring[i].when, tell(text, sizeof text, rc));
        fflush(stdout);
        if (made != MPI_COMM_NULL)
            MPI_Comm_free(&made);
        MPI_Barrier(comm);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 3)
        part = atoi(argv[2]), parts = atoi(argv[3]);
    return argc > 1 && !strcmp(argv[1], "ignored") ? ignored() : erroneous();
}
