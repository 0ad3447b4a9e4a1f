/*
 * A program whose run directory somebody else changes while it runs: swapped DIRECTORY VICTIM TRICK END. Rank 0 plays
 * the other one, which it can in a directory that all may write to.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void exchange(int n)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0, got; i < n; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % ranks, 0, &got, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What Marple has yet to write is there already: a link to the victim's file of that name, or a named pipe that nobody reads. */
static int lay(const char *directory, const char *victim, bool pipes)
{
    static const char *const names[] = {"run.json", "report.txt", "replay.bin", "invocations.parquet", "raw/merged", "raw/reporter",
                                        "raw/rank-000000.mrl.0.spill", "raw/rank-000000.mrl.0.calls", "raw/rank-000000.mrl.panic"};
    int failed = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        char from[4096], to[4096];
        snprintf(from, sizeof from, "%s/%s", directory, names[i]);
        snprintf(to, sizeof to, "%s/%s", victim, names[i]);
        failed |= pipes ? mkfifo(from, 0666) : symlink(to, from);
    }
    return failed;
}

static void trick(const char *directory, const char *victim, const char *how)
{
    char away[4096], raw[4096], inside[4096];
    snprintf(away, sizeof away, "%s-away", directory);
    snprintf(raw, sizeof raw, "%s/raw", directory);
    snprintf(inside, sizeof inside, "%s/raw", victim);
    int failed = 0;
    if (!strcmp(how, "waits")) { /* for another user, who says so in the directory that is the victim's otherwise */
        snprintf(inside, sizeof inside, "%s/ready", victim);
        fclose(fopen(inside, "w"));
        snprintf(inside, sizeof inside, "%s/go", victim);
        while (access(inside, F_OK))
            usleep(1000);
        return;
    }
    if (!strcmp(how, "link")) /* the directory becomes a link to the victim's */
        failed = rename(directory, away) || symlink(victim, directory);
    else if (!strcmp(how, "raw-link")) /* the same one level below */
        failed = rename(raw, away) || symlink(inside, raw);
    else if (!strcmp(how, "swap")) /* the victim's takes its place */
        failed = rename(directory, away) || rename(victim, directory);
    else if (!strcmp(how, "gone"))
        failed = rename(directory, away);
    else if (!strcmp(how, "file-links") || !strcmp(how, "file-pipes"))
        failed = lay(directory, victim, how[5] == 'p');
    if (failed)
        perror(how);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    exchange(10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        trick(argv[1], argv[2], argv[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5000; i++) { /* fills the ring, whose records go to the log */
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    exchange(10);
    if (!strcmp(argv[4], "exit")) {
        MPI_Barrier(MPI_COMM_WORLD);
        exit(0);
    }
    MPI_Finalize();
    return !strcmp(argv[4], "error") ? 3 : 0;
}
