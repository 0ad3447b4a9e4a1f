/*
 * The application's signal handlers: what they are set to, which stack they run on, in which threads.
 *
 *     signals MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { SIGNALS = 65, OWN_STACK = 65536 };

/* What a signal does, as the kernel has it: the C library keeps some signals to itself. */
struct action {
    unsigned long words[4];
};

static void read_actions(struct action all[SIGNALS])
{
    memset(all, 0, SIGNALS * sizeof *all);
    for (int s = 1; s < SIGNALS; s++)
        syscall(SYS_rt_sigaction, s, NULL, &all[s], 8);
}

/* A thread's stacks. MPI libraries may bring a signal stack of their own along. */
struct stack {
    char *low, *high;
};
static _Thread_local struct stack ordinary, alternate;
static _Thread_local int ours; /* a thread of this program, not of a library */

static void note_stacks(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    ordinary = (struct stack){low, (char *)low + size};
    stack_t now;
    sigaltstack(NULL, &now);
    alternate = now.ss_flags & SS_DISABLE ? (struct stack){NULL, NULL} : (struct stack){now.ss_sp, (char *)now.ss_sp + now.ss_size};
    ours = 1;
}

static void bring_own_stack(void)
{
    char *p = mmap(NULL, OWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&(stack_t){.ss_sp = p, .ss_size = OWN_STACK}, NULL);
}

static int within(struct stack s, const void *p)
{
    return (const char *)p >= s.low && (const char *)p < s.high;
}

/* The state that has to be the same afterwards. */
struct state {
    struct action actions[SIGNALS];
    sigset_t mask;
    struct stack alternate;
};

static void read_state(struct state *s)
{
    read_actions(s->actions);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    note_stacks();
    s->alternate = alternate;
}

static void expect_state(const struct state *before)
{
    struct state now;
    read_state(&now);
    for (int s = 1; s < SIGNALS; s++) {
        const unsigned long *a = before->actions[s].words, *b = now.actions[s].words;
        expect(!memcmp(a, b, sizeof before->actions[s]), "signal %d: handler %lx, flags %lx; before: %lx, %lx", s, b[0], b[1], a[0], a[1]);
        expect(sigismember(&before->mask, s) == sigismember(&now.mask, s), "signal %d: blocked %d", s, sigismember(&now.mask, s));
    }
    expect(before->alternate.low == now.alternate.low && before->alternate.high == now.alternate.high,
           "the signal stack is %p to %p", (void *)now.alternate.low, (void *)now.alternate.high);
}

static void install(int s, void (*handler)(int), int flags)
{
    sigaction(s, &(struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART | flags}, NULL);
}

/* Timers fire while MPI calls are made, and in MPI_Finalize. */
static _Atomic long on_alternate, on_ordinary, elsewhere, in_foreign_threads;

static void note_where(int s)
{
    int here;
    (void)s;
    if (!ours)
        in_foreign_threads++;
    else if (within(alternate, &here))
        on_alternate++;
    else if (within(ordinary, &here))
        on_ordinary++;
    else
        elsewhere++;
}

static void set_timers(long microseconds)
{
    struct itimerval t = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &t, NULL);
    setitimer(ITIMER_PROF, &t, NULL);
}

static void run_timed(int own_stack, int flags)
{
    struct state before;
    sigset_t timed;
    sigemptyset(&timed);
    sigaddset(&timed, SIGALRM);
    sigaddset(&timed, SIGPROF);
    sigaddset(&timed, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &timed, NULL); /* the MPI library's threads are not to have them */
    MPI_Init(NULL, NULL);
    if (own_stack)
        bring_own_stack();
    install(SIGALRM, note_where, flags);
    install(SIGPROF, note_where, flags);
    install(SIGPIPE, note_where, flags);
    sigdelset(&timed, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &timed, NULL);
    read_state(&before);
    set_timers(100);
    while (on_alternate + on_ordinary < 300)
        steps(MANY);
    MPI_Finalize();
    set_timers(0);
    expect_state(&before);
    long right = flags & SA_ONSTACK && alternate.low ? on_alternate : on_ordinary;
    expect(right == on_alternate + on_ordinary + elsewhere + in_foreign_threads,
           "%ld handlers ran on the signal stack, %ld on the thread's, %ld elsewhere, %ld in foreign threads", on_alternate, on_ordinary,
           elsewhere, in_foreign_threads);
}

static void on_thread_stack(void)
{
    run_timed(0, 0);
}

static void on_thread_stack_beside_own(void)
{
    run_timed(1, 0);
}

static void on_signal_stack(void)
{
    run_timed(0, SA_ONSTACK);
}

static void on_own_signal_stack(void)
{
    run_timed(1, SA_ONSTACK);
}

/* A handler that recovers from faults by jumping. */
static _Thread_local sigjmp_buf recovery;
static _Thread_local _Atomic long recovered;

static void recover(int s)
{
    int here;
    recovered++;
    expect(within(alternate, &here) || within(ordinary, &here), "a fault is handled on a foreign stack");
    siglongjmp(recovery, s);
}

static void fault(void)
{
    static char *volatile page;
    if (!page)
        page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sigsetjmp(recovery, 1) == 0)
        *page = 1;
}

static void run_faults(int own_stack, int flags)
{
    struct state before;
    enum { TIMES = 6 };
    MPI_Init(NULL, NULL);
    if (own_stack)
        bring_own_stack();
    install(SIGSEGV, recover, flags);
    install(SIGFPE, recover, flags);
    read_state(&before);
    for (int i = 0; i < TIMES; i++) {
        fault();
        steps(MANY);
    }
    MPI_Finalize();
    fault();
    expect(recovered == TIMES + 1, "recovered %ld times", recovered);
    expect_state(&before);
}

static void faults(void)
{
    run_faults(0, 0);
}

static void faults_on_own_stack(void)
{
    run_faults(1, SA_ONSTACK);
}

/* Threads that hand over at the same time, while another one faults and recovers all the time. */
static _Atomic int working;

static void *work(void *unused)
{
    struct state before;
    bring_own_stack();
    read_state(&before);
    for (int i = 0; i < 10; i++)
        steps(MANY);
    note_stacks();
    expect(alternate.low == before.alternate.low && alternate.high == before.alternate.high, "another signal stack");
    working--;
    return unused;
}

static void *fault_meanwhile(void *unused)
{
    volatile long times = 0;
    note_stacks();
    while (working) {
        times++;
        fault();
    }
    expect(times == recovered, "of %ld faults %ld were handled", times, recovered);
    return unused;
}

static void faults_beside_batches(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS + 1];
    struct state before;
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    expect(provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
    install(SIGSEGV, recover, 0);
    read_state(&before);
    working = THREADS;
    for (int i = 0; i <= THREADS; i++)
        pthread_create(&threads[i], NULL, i < THREADS ? work : fault_meanwhile, NULL);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    expect_state(&before);
    MPI_Finalize();
    expect_state(&before);
}

/* MPI calls on the signal stack itself, in a handler that interrupts nothing. */
static void call_mpi(int s)
{
    (void)s;
    steps(MANY);
}

static void calls_in_a_handler(void)
{
    struct state before;
    MPI_Init(NULL, NULL);
    bring_own_stack();
    install(SIGUSR1, call_mpi, SA_ONSTACK);
    read_state(&before);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    expect_state(&before);
    MPI_Finalize();
    expect_state(&before);
}

/* Signals that the application has blocked wait until it asks for them. */
static _Atomic int handled;

static void note_handled(int s)
{
    (void)s;
    handled++;
}

static void blocked(void)
{
    const int signals[] = {SIGUSR1, SIGCHLD, SIGPROF, SIGALRM, SIGPIPE, SIGXFSZ, SIGSTKFLT, SIGRTMIN};
    enum { N = sizeof signals / sizeof *signals };
    struct state before;
    sigset_t all, pending;
    sigemptyset(&all);
    for (int i = 0; i < N; i++)
        sigaddset(&all, signals[i]);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < N; i++)
        install(signals[i], note_handled, 0);
    read_state(&before);
    steps(MANY);
    for (int i = 0; i < N; i++)
        kill(getpid(), signals[i]);
    steps(MANY);
    MPI_Finalize();
    expect_state(&before);
    sigpending(&pending);
    for (int i = 0; i < N; i++)
        expect(sigismember(&pending, signals[i]), "signal %d does not wait", signals[i]);
    expect(handled == 0, "%d handlers have run", handled);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"thread-stack", on_thread_stack},
        {"thread-stack-beside-own", on_thread_stack_beside_own},
        {"signal-stack", on_signal_stack},
        {"own-signal-stack", on_own_signal_stack},
        {"faults", faults},
        {"faults-on-own-stack", faults_on_own_stack},
        {"faults-beside-batches", faults_beside_batches},
        {"calls-in-a-handler", calls_in_a_handler},
        {"blocked", blocked},
        {NULL, NULL},
    };
    return choose(modes, argc, argv);
}
