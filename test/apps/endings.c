/*
 * Ends in every way a program can: endings ACCOUNT HOW [RANK]
 *
 * Each rank keeps account of its calls in a file of its own, ACCOUNT-<rank>, which outlives it: how many it
 * has begun and ended, and the bytes they have sent. All ranks end that way, or only RANK, while the others
 * wait for it. "loop" never ends: it waits to be killed. "survived" is the end of RANK alone: the others finalise.
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS 5001 /* two rings full, and a rest */

static struct account {
    volatile unsigned long pid, begun, ended, bytes;
} *account;

static void open_account(const char *name, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-%d", name, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof *account))
        exit(100);
    account = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (account == MAP_FAILED)
        exit(101);
    close(fd);
    account->pid = (unsigned long)getpid();
}

static void call(void)
{
    static char out[128], in[128];
    int bytes = (int)(account->begun % 97);
    account->begun++;
    MPI_Sendrecv(out, bytes, MPI_CHAR, 0, 1, in, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    account->bytes += (unsigned long)bytes;
    account->ended++;
}

static void terminated(int signal)
{
    (void)signal;
    exit(6);
}

static void finalize(void)
{
    MPI_Finalize();
}

static int end(const char *how, int rank, int who)
{
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "exit-0"))
        exit(0);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "return"))
        return 5;
    if (!strcmp(how, "handler")) {
        signal(SIGUSR1, terminated);
        raise(SIGUSR1);
    }
    if (!strcmp(how, "atexit")) {
        atexit(finalize);
        exit(0);
    }
    if (!strcmp(how, "MPI_Abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "error")) /* MPI_ERRORS_ARE_FATAL */
        MPI_Send(NULL, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD);
    static const struct {
        const char *name;
        int signal;
    } signals[] = {{"SIGSEGV", SIGSEGV}, {"SIGFPE", SIGFPE}, {"SIGTERM", SIGTERM}, {"SIGKILL", SIGKILL}};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!strcmp(how, signals[i].name))
            raise(signals[i].signal);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "survived") && rank == who)
        raise(SIGKILL);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int rank, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    open_account(argv[1], rank);
    const char *how = argv[2];
    int who = argc > 3 ? atoi(argv[3]) : -1;
    while (!strcmp(how, "loop"))
        call();
    for (int i = 0; i < CALLS; i++)
        call();
    printf("rank %d made its calls\n", rank);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (who >= 0 && who != rank && strcmp(how, "survived"))
        MPI_Recv(&in, 1, MPI_INT, who, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end(how, rank, who);
}
