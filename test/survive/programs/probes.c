/*
 * Calls with arguments that are null, or that the standard lets a program leave undefined. Of each it prints the error class
 * that it gave, and how often an error handler of the program's was called:
 *
 *     says MPI_Wait(NULL): class 19, 1 handled
 *
 * or the signal that it died of: a child makes the calls, and another one goes on behind one that has died. So it is
 * started without a launcher.
 */
#include "counted.h"

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int handled;
static MPI_Win window;
static MPI_Comm nobody; /* a topology in which the rank has no neighbours */
static int in[64], out[64];

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void on_win(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    handled++;
}

static void on_file(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
    handled++;
}

/* What nobody may look at: no object is at this address, and no handle has this number. */
#define GARBAGE_TYPE ((MPI_Datatype)(uintptr_t)0x7fedcba8)
#define GARBAGE ((void *)(uintptr_t)8)

static MPI_Request request;
static MPI_Message message;
static MPI_Status status;
static MPI_Comm comm;
static MPI_Win win;
static MPI_File file;
static int flag, number;

static int wait_for(int rc)
{
    return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

#define PROBES(X)                                                                                                              \
    X(MPI_Wait(NULL, &status))                                                                                                 \
    X(MPI_Test(NULL, &flag, &status))                                                                                          \
    X(MPI_Cancel(NULL))                                                                                                        \
    X(MPI_Request_free(NULL))                                                                                                  \
    X(MPI_Start(NULL))                                                                                                         \
    X(MPI_Comm_free(NULL))                                                                                                     \
    X(MPI_Comm_disconnect(NULL))                                                                                               \
    X(MPI_Win_free(NULL))                                                                                                      \
    X(MPI_File_close(NULL))                                                                                                    \
    X(MPI_Type_free(NULL))                                                                                                     \
    X(MPI_Mrecv(in, 1, MPI_INT, NULL, &status))                                                                                \
    X(MPI_Imrecv(in, 1, MPI_INT, NULL, &request))                                                                              \
    X(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE))                                                                               \
    X(MPI_Waitall(0, NULL, NULL))                                                                                              \
    X(MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE))                                                                              \
    X(MPI_Waitany(1, NULL, &number, &status))                                                                                  \
    X(MPI_Waitsome(1, NULL, &number, in, MPI_STATUSES_IGNORE))                                                                 \
    X(MPI_Testall(1, NULL, &flag, MPI_STATUSES_IGNORE))                                                                        \
    X(MPI_Startall(1, NULL))                                                                                                   \
    X((comm = MPI_COMM_NULL, MPI_Comm_free(&comm)))                                                                            \
    X((comm = MPI_COMM_NULL, MPI_Comm_disconnect(&comm)))                                                                      \
    X((win = MPI_WIN_NULL, MPI_Win_free(&win)))                                                                                \
    X((file = MPI_FILE_NULL, MPI_File_close(&file)))                                                                           \
    X((request = MPI_REQUEST_NULL, MPI_Cancel(&request)))                                                                      \
    X((request = MPI_REQUEST_NULL, MPI_Wait(&request, &status)))                                                               \
    X((message = MPI_MESSAGE_NULL, MPI_Mrecv(in, 1, MPI_INT, &message, &status)))                                              \
    X((message = MPI_MESSAGE_NO_PROC, MPI_Mrecv(in, 1, MPI_INT, &message, &status)))                                           \
    X(MPI_Send(out, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD))                                                   \
    X(MPI_Send(out, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD))                                                   \
    X(MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_NULL))                                                              \
    X(MPI_Recv(in, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status))                                           \
    X(wait_for(MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request)))                                         \
    X(MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, NULL))                                                       \
    X(MPI_Iprobe(0, 1, MPI_COMM_WORLD, NULL, &status))                                                                         \
    X(MPI_Comm_dup(MPI_COMM_WORLD, NULL))                                                                                      \
    X(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, -77, &comm))                                                               \
    X(MPI_Allreduce(MPI_IN_PLACE, in, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD))                                          \
    X(MPI_Gather(MPI_IN_PLACE, -7, GARBAGE_TYPE, in, 1, MPI_INT, 0, MPI_COMM_WORLD))                                           \
    X(MPI_Allgather(MPI_IN_PLACE, -7, GARBAGE_TYPE, in, 1, MPI_INT, MPI_COMM_WORLD))                                           \
    X(MPI_Alltoall(MPI_IN_PLACE, -7, GARBAGE_TYPE, in, 1, MPI_INT, MPI_COMM_WORLD))                                            \
    X(MPI_Alltoallv(MPI_IN_PLACE, GARBAGE, GARBAGE, GARBAGE_TYPE, in, (int[]){1}, (int[]){0}, MPI_INT, MPI_COMM_WORLD))        \
    X(MPI_Scatter(out, 1, MPI_INT, MPI_IN_PLACE, -7, GARBAGE_TYPE, 0, MPI_COMM_WORLD))                                         \
    X(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, nobody))                                                         \
    X(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, nobody))                                                          \
    X(MPI_Neighbor_alltoallv(NULL, NULL, NULL, MPI_DATATYPE_NULL, NULL, NULL, NULL, MPI_DATATYPE_NULL, nobody))                \
    X(MPI_Neighbor_alltoallw(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, nobody))                                          \
    X(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window))                     \
    X(MPI_Get_accumulate(NULL, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window))                     \
    X(MPI_Get_accumulate(GARBAGE, 5, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window))                  \
    X(wait_for(MPI_Rget_accumulate(NULL, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window, &request))) \
    X(MPI_Fetch_and_op(NULL, in, MPI_INT, 0, 0, MPI_NO_OP, window))                                                            \
    X(MPI_Put(out, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, 1, MPI_DATATYPE_NULL, window))                                      \
    X(MPI_Put(out, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL))

#define NAME(call) #call,
static const char *const names[] = {PROBES(NAME)};
enum { COUNT = sizeof names / sizeof *names };

static int make(int probe)
{
    int next = 0;
    request = MPI_REQUEST_NULL;
#define MAKE(call)         \
    if (probe == next++)   \
        return call;
    PROBES(MAKE)
    return 0;
}

static void begin(void)
{
    MPI_Errhandler comms, wins, files;
    int *base;
    MPI_Init(NULL, NULL);
    MPI_Comm_create_errhandler(on_comm, &comms);
    MPI_Win_create_errhandler(on_win, &wins);
    MPI_File_create_errhandler(on_file, &files);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, comms);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, comms);
    MPI_File_set_errhandler(MPI_FILE_NULL, files);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &nobody);
    MPI_Comm_set_errhandler(nobody, comms);
    MPI_Win_allocate(64, sizeof *out, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_set_errhandler(window, wins);
    MPI_Win_lock_all(0, window);
}

/* Makes the calls from this one on, and tells before each that it comes. */
static void child(int from, int telling)
{
    begin();
    for (int i = from; i < COUNT; i++) {
        int class = 0;
        if (write(telling, &i, sizeof i) != sizeof i)
            _exit(1);
        handled = 0;
        alarm(20);
        int rc = make(i), now = handled;
        if (rc)
            MPI_Error_class(rc, &class);
        printf("says %s: class %d, %d handled\n", names[i], class, now);
        fflush(stdout);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}

int main(void)
{
    for (int next = 0; next < COUNT;) {
        int told[2], at = next - 1, status_of;
        if (pipe(told))
            return 1;
        pid_t pid = fork();
        if (pid == 0) {
            close(told[0]);
            child(next, told[1]);
            return 0;
        }
        close(told[1]);
        while (read(told[0], &at, sizeof at) == sizeof at)
            ;
        close(told[0]);
        waitpid(pid, &status_of, 0);
        next = at + 1;
        if (WIFSIGNALED(status_of))
            printf("says %s: signal %d\n", at < 0 ? "MPI_Init" : names[at], WTERMSIG(status_of));
        else if (WEXITSTATUS(status_of))
            printf("says %s: exit %d\n", at < 0 ? "MPI_Init" : names[at], WEXITSTATUS(status_of));
        fflush(stdout);
        if (at < 0)
            return 1;
    }
    return 0;
}
