/*
 * Calls that are left: leaves MODE. What follows them is made deeper in the stack.
 */
#include "counted.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void probe(int n)
{
    int flag;
    for (int i = 0; i < n; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static __attribute__((noinline)) void deeper(int n)
{
    volatile char room[4000];
    room[0] = 0;
    probe(n);
    (void)room[0];
}

static void fails(void)
{
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void handle(void (*handler)(MPI_Comm *, int *, ...))
{
    MPI_Errhandler errors;
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
}

static sigjmp_buf back;
static volatile sig_atomic_t way;

static void jumps(MPI_Comm *comm, int *code, ...)
{
    int flag;
    (void)comm, (void)code;
    MPI_Initialized(&flag);
    switch (way) {
    case 0:
        longjmp(back, 1);
    case 1:
        _longjmp(back, 1);
    default:
        siglongjmp(back, 1);
    }
}

static void longjmps(void) /* from an error handler, in each way */
{
    MPI_Init(NULL, NULL); /* with threads, the library's lock would stay with it */
    handle(jumps);
    volatile int errors = 0;
    for (volatile int i = 0; i < 300; i++) {
        way = i % 3;
        if (sigsetjmp(back, way == 2) == 0)
            fails();
        else
            errors++;
        deeper(2);
    }
    printf("says %d\n", errors);
    counted("MPI_Iprobe", 600);
    counted("MPI_Send", 300);
    MPI_Finalize();
}

static jmp_buf near;

static __attribute__((noinline)) void comes_back(void)
{
    longjmp(near, 1);
}

static void stays(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
    if (setjmp(near) == 0)
        comes_back();
    probe(1); /* within MPI_Reduce_local */
}

static void within(void) /* an operation that jumps, but does not leave it */
{
    MPI_Op op;
    int a = 1, b = 2;
    MPI_Init(NULL, NULL);
    MPI_Op_create(stays, 1, &op);
    for (int i = 0; i < 100; i++)
        MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    probe(7);
    counted("MPI_Reduce_local", 100);
    counted("MPI_Iprobe", 7); /* what operations call is part of it */
    MPI_Finalize();
}

static int asked(void *state, MPI_Status *status)
{
    (void)state, (void)status;
    longjmp(back, 1);
}

static int frees(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancels(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void held(void) /* requests by an MPI_Waitany that is left, one of which is complete only later; among threads */
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (volatile int i = 0; i < 100; i++) {
        static char out[1000], in[1000];
        static MPI_Request pair[2];
        static int which;
        MPI_Irecv(in, 1000, MPI_CHAR, 0, 2, MPI_COMM_SELF, &pair[0]);
        MPI_Grequest_start(asked, frees, cancels, NULL, &pair[1]);
        MPI_Grequest_complete(pair[1]);
        if (sigsetjmp(back, 0) == 0)
            MPI_Waitany(2, pair, &which, MPI_STATUS_IGNORE);
        MPI_Send(out, 1000, MPI_CHAR, 0, 2, MPI_COMM_SELF);
        MPI_Wait(&pair[0], MPI_STATUS_IGNORE);
    }
    counted("MPI_Waitany", 100);
    counted("MPI_Wait", 100);
    MPI_Finalize();
}

static void on_signal(int s)
{
    (void)s;
    siglongjmp(back, 1);
}

static void raises(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    raise(SIGUSR1);
}

static void signals(void) /* the jump is made on another stack */
{
    static char stack[65536];
    MPI_Init(NULL, NULL);
    handle(raises);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, NULL);
    for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(back, 1) == 0)
            fails();
        deeper(2);
    }
    counted("MPI_Iprobe", 200);
    counted("MPI_Send", 100);
    MPI_Finalize();
}

static void exits(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    pthread_exit(NULL);
}

static void cleans(void *n)
{
    deeper(*(int *)n);
}

static void *leaves(void *n)
{
    pthread_cleanup_push(cleans, n);
    fails();
    pthread_cleanup_pop(0);
    return NULL;
}

static void threads(void) /* the thread ends in the call, and calls MPI meanwhile */
{
    int n = 2;
    MPI_Init(NULL, NULL); /* one thread at a time */
    handle(exits);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, leaves, &n);
        pthread_join(thread, NULL);
    }
    counted("MPI_Iprobe", 200);
    counted("MPI_Send", 100);
    MPI_Finalize();
}

static void *cancels_itself(void *done)
{
    pthread_cancel(pthread_self());
    probe(50000); /* none of which is a point of cancellation */
    *(int *)done = 1;
    pthread_testcancel();
    *(int *)done = 2;
    return NULL;
}

static void cancelled(void) /* a thread with a pending request to cancel it */
{
    pthread_t thread;
    int done = 0, provided;
    void *result;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, cancels_itself, &done);
    pthread_join(thread, &result);
    printf("says %d %d\n", done, result == PTHREAD_CANCELED);
    if (done) /* the library's own progress may be a point of cancellation */
        counted("MPI_Iprobe", 50000);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
#define MODE(f) {#f, f}
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {MODE(longjmps), MODE(within), MODE(signals), MODE(threads), MODE(cancelled), MODE(held)};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    return 2;
}
