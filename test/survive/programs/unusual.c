/*
 * Legal programs that few would write: unusual MODE. What is said must be what it is without Marple, and the calls that are
 * counted must all be seen.
 */
#include "counted.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int rank, ranks;

static void begin(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static void probe(int n)
{
    int flag;
    for (int i = 0; i < n; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static long sum(int n) /* of messages round the ring */
{
    long all = 0;
    for (int i = 0; i < n; i++) {
        int token = i, got;
        MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % ranks, 1, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        all += got;
    }
    return all;
}

static void end(int probes, int exchanges)
{
    probe(probes);
    printf("says %ld\n", sum(exchanges));
    counted("MPI_Iprobe", probes);
    counted("MPI_Sendrecv", exchanges);
    MPI_Finalize();
}

static void *all_of_it(void *unused)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    end(100, 5000);
    return unused;
}

static void another_thread(void) /* which has all of MPI to itself, and ends before main does */
{
    pthread_t thread;
    pthread_create(&thread, NULL, all_of_it, NULL);
    pthread_join(thread, NULL);
}

static void asks(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int me, size, same;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Type_size(*type, &size);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &same);
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i] * size / 4;
    (void)me;
}

static void operations(void) /* that ask the library */
{
    MPI_Op op;
    long all = 0;
    begin();
    MPI_Op_create(asks, 1, &op);
    for (int i = 0; i < 500; i++) {
        int a = i + rank, b = 0;
        MPI_Allreduce(&a, &b, 1, MPI_INT, op, MPI_COMM_WORLD);
        all += b;
        MPI_Allreduce(MPI_IN_PLACE, &a, 1, MPI_INT, op, MPI_COMM_WORLD);
        all += a;
    }
    MPI_Op_free(&op);
    printf("says %ld\n", all);
    counted("MPI_Allreduce", 1000);
    end(1, 1);
}

static int deleted;

static int deletes(MPI_Comm comm, int key, void *value, void *extra)
{
    int size, finalized, flag;
    (void)key, (void)extra;
    MPI_Comm_size(comm, &size);
    MPI_Finalized(&finalized);
    MPI_Iprobe(MPI_ANY_SOURCE, 3, comm, &flag, MPI_STATUS_IGNORE);
    deleted += size + finalized + *(int *)value;
    printf("says deleted %d\n", deleted);
    fflush(stdout);
    return MPI_SUCCESS;
}

static int copies(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    int size;
    (void)key, (void)extra;
    MPI_Comm_size(comm, &size);
    *(void **)out = in;
    *flag = size > 0;
    return MPI_SUCCESS;
}

static void attributes(void) /* whose functions call MPI, in MPI_Finalize, too */
{
    static int value = 5;
    int key;
    MPI_Comm other;
    begin();
    MPI_Comm_create_keyval(copies, deletes, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &value);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        MPI_Comm_free(&other);
    }
    MPI_Comm_free_keyval(&key);
    counted("MPI_Comm_dup", 3);
    end(0, 10);
}

static int answers(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 7777;
    status->MPI_TAG = -5;
    return MPI_SUCCESS;
}

static int frees(void *state)
{
    free(state);
    return MPI_SUCCESS;
}

static int cancels(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *completes(void *request)
{
    usleep(2000);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void generalized(void) /* requests, which another thread completes */
{
    int provided, all = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 40; i++) {
        MPI_Request request, copy;
        MPI_Status status;
        pthread_t thread;
        int count, flag = 0, *state = malloc(sizeof *state);
        *state = i;
        MPI_Grequest_start(answers, frees, cancels, state, &request);
        copy = request;
        pthread_create(&thread, NULL, completes, &copy);
        if (i % 2)
            MPI_Wait(&request, &status);
        else
            while (!flag)
                MPI_Waitany(1, &request, &flag, &status), flag = 1;
        pthread_join(thread, NULL);
        MPI_Get_count(&status, MPI_INT, &count);
        all += count + status.MPI_SOURCE + status.MPI_TAG;
    }
    printf("says %d\n", all);
    counted("MPI_Wait", 20);
    counted("MPI_Waitany", 20);
    end(1, 10);
}

static void before_and_after(void) /* what may be called then */
{
    int flag, provided, n = 0, m = 0, version, sub, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Initialized(&flag);
    MPI_Get_version(&version, &sub);
    MPI_Get_library_version(text, &length);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&n);
    begin();
    MPI_T_pvar_get_num(&m);
    end(10, 10);
    MPI_T_cvar_get_num(&n);
    MPI_T_finalize();
    MPI_Finalized(&flag);
    MPI_Get_version(&version, &sub);
    printf("says %d %d %d\n", flag, n > 0, m >= 0);
}

static volatile sig_atomic_t ticks;
static int drain[2];

static void tick(int s)
{
    int saved = errno;
    ssize_t n = write(drain[1], &s, 1);
    (void)n;
    ticks++;
    errno = saved;
}

static void timer(void) /* that interrupts everything a thousand times a second, without SA_RESTART */
{
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int wrong = 0;
    begin();
    if (pipe(drain) || fcntl(drain[1], F_SETFL, O_NONBLOCK))
        exit(9);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = tick}, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 20000 || ticks < 50; i++) {
        errno = 12345;
        probe(1);
        wrong += errno != 12345 && errno != EINTR && errno != EAGAIN;
        if (i >= 20000)
            usleep(100);
        if (i == 20000)
            probe(0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("says %d\n", wrong);
    printf("says %ld\n", sum(2000));
    counted("MPI_Sendrecv", 2000);
    setitimer(ITIMER_REAL, &every, NULL); /* in MPI_Finalize, too */
    MPI_Finalize();
    setitimer(ITIMER_REAL, &never, NULL);
}

static void starts(void) /* other programs, in each way */
{
    begin();
    char *const line[] = {"sh", "-c", "exit 3", NULL};
    int status, all = 0;
    for (int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execvp(line[0], line);
            _exit(99);
        }
        waitpid(child, &status, 0);
        all += WEXITSTATUS(status);
        if (!posix_spawnp(&child, line[0], NULL, NULL, line, environ)) {
            waitpid(child, &status, 0);
            all += WEXITSTATUS(status);
        }
        status = system("(exit 4)");
        all += WEXITSTATUS(status);
        FILE *other = popen("echo 5", "r");
        int five = 0;
        if (other && fscanf(other, "%d", &five) == 1)
            all += five;
        if (other)
            pclose(other);
        if ((child = fork()) == 0) { /* a daemon of its own */
            setsid();
            if (fork() == 0)
                for (int fd = 0; fd < 256; fd++)
                    close(fd);
            _exit(6);
        }
        waitpid(child, &status, 0);
        all += WEXITSTATUS(status);
    }
    printf("says %d\n", all);
    end(10, 100);
}

static void limits(void) /* all that can be low are, after MPI_Init */
{
    begin();
    sum(10);
    static const int list[] = {RLIMIT_NOFILE, RLIMIT_STACK, RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct rlimit limit;
        getrlimit(list[i], &limit);
        limit.rlim_cur = list[i] == RLIMIT_STACK ? 256 << 10 : 0;
        printf("says %d\n", setrlimit(list[i], &limit));
    }
    end(20000, 2000);
    counted("MPI_Sendrecv", 10);
}

static void another_user(void) /* from MPI_Init on, who may write nothing */
{
    begin();
    if (chdir("/"))
        exit(9);
    if (geteuid() == 0) {
        printf("says %d\n", setgid(65534));
        printf("says %d\n", setuid(65534));
    }
    printf("says %d\n", prctl(PR_SET_DUMPABLE, 0)); /* nor read another's memory, or have its own read */
    umask(0777);
    end(20000, 2000);
}

static void locked(void) /* memory: what there is and will be */
{
    printf("says %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
    begin();
    printf("says %d\n", mlockall(MCL_CURRENT));
    end(20000, 2000);
}

static void locked_in_limits(void) /* what there will be, up to some megabytes */
{
    struct rlimit limit = {16 << 20, 16 << 20};
    begin();
    sum(10);
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (geteuid() == 0) { /* who has no limits */
        printf("says %d\n", setgid(65534));
        printf("says %d\n", setuid(65534));
    }
    printf("says %d\n", mlockall(MCL_FUTURE));
    end(1000, 490); /* which fit the ring: another user may not make it longer */
    counted("MPI_Sendrecv", 10);
}

static void bottom(void) /* absolute addresses, types of several pieces, more than an int can count */
{
    begin();
    int a = 1 + rank, into[2] = {0, 0}, lengths[2] = {1, 2};
    double b[2] = {2, 3}, got[2] = {0, 0};
    MPI_Aint out[2], in[2];
    MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE}, sends, receives, large, empty;
    MPI_Get_address(&a, &out[0]);
    MPI_Get_address(b, &out[1]);
    MPI_Get_address(into, &in[0]);
    MPI_Get_address(got, &in[1]);
    MPI_Type_create_struct(2, lengths, out, kinds, &sends);
    MPI_Type_create_struct(2, lengths, in, kinds, &receives);
    MPI_Type_commit(&sends);
    MPI_Type_commit(&receives);
    MPI_Type_contiguous(2000000000, MPI_DOUBLE, &large);
    MPI_Type_commit(&large);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (int i = 0; i < 100; i++) {
        MPI_Request request[4];
        MPI_Irecv(MPI_BOTTOM, 1, receives, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(MPI_BOTTOM, 1, sends, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &request[1]);
        MPI_Irecv(NULL, 0, large, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(NULL, 1000, empty, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &request[3]);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    }
    printf("says %d %g %g\n", into[0], got[0], got[1]);
    MPI_Type_free(&sends);
    MPI_Type_free(&receives);
    MPI_Type_free(&large);
    MPI_Type_free(&empty);
    counted("MPI_Waitall", 100);
    counted("MPI_Irecv", 200);
    counted("MPI_Isend", 200);
    end(0, 10);
}

static void halves(void) /* which meet by a port, an intercommunicator, and part */
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, remote, inter, merged;
    int a, b = 0, all;
    begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    int none = rank == 0 && MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(&none, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (none)
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &remote);
    else if (rank % 2 == 0)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &remote);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &remote);
    a = rank + 1;
    MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, remote);
    printf("says %d\n", b);
    MPI_Intercomm_merge(remote, rank % 2, &merged);
    MPI_Allreduce(&a, &all, 1, MPI_INT, MPI_SUM, merged);
    printf("says %d\n", all);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&remote);
    if (rank == 0 && !none)
        MPI_Close_port(port);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 4, &inter);
    MPI_Bcast(&a, 1, MPI_INT, rank % 2 ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT, inter);
    printf("says %d\n", a);
    MPI_Comm_free(&inter);
    MPI_Comm_disconnect(&half);
    counted("MPI_Allreduce", 2);
    counted("MPI_Bcast", 3);
    end(0, 10);
}

static void persistent(void) /* requests: started, tested, freed while active, asked for */
{
    int token = 0, got = 0, flag;
    MPI_Request pair[2], odd;
    MPI_Status status;
    begin();
    MPI_Send_init(&token, 1, MPI_INT, (rank + 1) % ranks, 2, MPI_COMM_WORLD, &pair[0]);
    MPI_Recv_init(&got, 1, MPI_INT, (rank + ranks - 1) % ranks, 2, MPI_COMM_WORLD, &pair[1]);
    for (int i = 0; i < 200; i++) {
        token = i;
        MPI_Startall(2, pair);
        do
            MPI_Request_get_status(pair[1], &flag, &status);
        while (!flag);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    }
    printf("says %d\n", got);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &odd);
    MPI_Cancel(&odd);
    MPI_Wait(&odd, &status);
    MPI_Test_cancelled(&status, &flag);
    printf("says %d\n", flag);
    MPI_Isend(&token, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &odd);
    MPI_Request_free(&odd);
    MPI_Recv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&odd, MPI_STATUS_IGNORE);
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    counted("MPI_Startall", 200);
    counted("MPI_Waitall", 200);
    end(0, 10);
}

static void partitioned(void)
{
#if MPI_VERSION >= 4
    enum { PARTS = 8 };
    int out[PARTS], in[PARTS], flag;
    MPI_Request send, receive;
    begin();
    MPI_Psend_init(out, PARTS, 1, MPI_INT, (rank + 1) % ranks, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, PARTS, 1, MPI_INT, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int i = 0; i < 50; i++) {
        MPI_Start(&receive);
        MPI_Start(&send);
        for (int p = 0; p < PARTS; p++) {
            out[p] = i + p;
            MPI_Pready(p, send);
        }
        do
            MPI_Parrived(receive, 3, &flag);
        while (!flag);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    printf("says %d %d\n", in[0], in[PARTS - 1]);
    counted("MPI_Start", 100);
    counted("MPI_Wait", 100);
    end(0, 10);
#endif
}

#ifdef NAMES
/* The C library's in a program of GNU C only. */
int clone(int n)
{
    printf("says the program's own clone %d\n", n);
    return n;
}
#endif

static void early(void) /* end, without MPI_Finalize */
{
    begin();
    sum(100);
    probe(100);
    counted("MPI_Iprobe", 100);
    counted("MPI_Sendrecv", 100);
    MPI_Barrier(MPI_COMM_WORLD);
    exit(0);
}

static int late;

__attribute__((destructor)) static void finishes(void)
{
    if (late)
        end(10, 10);
}

static void destructor(void) /* which calls MPI_Finalize */
{
    begin();
    late = 1;
}

int main(int argc, char **argv)
{
#define MODE(f) {#f, f}
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {MODE(another_thread), MODE(operations), MODE(attributes), MODE(generalized), MODE(before_and_after), MODE(timer), MODE(starts),
                 MODE(limits), MODE(another_user), MODE(locked), MODE(locked_in_limits), MODE(bottom), MODE(halves), MODE(persistent),
                 MODE(partitioned), MODE(early), MODE(destructor)};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
