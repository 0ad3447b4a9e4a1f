/*
 * Divide and conquer: a problem is split between two ranks, each half again, until every rank has a part; it is
 * solved, and the solutions are merged on the way back.
 *
 *   healthy       halves of equal size, cheap splits and merges
 *   uneven-split  one part three in eight, the other five
 *   dear-merge    merging takes time in proportion to what is merged
 *   dear-split    so does splitting, and the ranks below have nothing to do meanwhile
 */
#include "model.h"

enum { PART = 7, SOLUTION = 8 };

static uint64_t data[4096];

static NOINLINE void split(uint64_t work)
{
    work_for(ails("dear-split") ? work / 16 : work / 1000);
}

static NOINLINE void solve(uint64_t work)
{
    work_for(work);
}

static NOINLINE void merge(uint64_t work)
{
    work_for(ails("dear-merge") ? work / 16 : work / 1000);
}

static NOINLINE void send_part(int to, uint64_t work)
{
    data[0] = work;
    MPI_Send(data, 4096, MPI_UINT64_T, to, PART, MPI_COMM_WORLD);
}

static NOINLINE uint64_t receive_part(int from)
{
    MPI_Recv(data, 4096, MPI_UINT64_T, from, PART, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return data[0];
}

static NOINLINE void send_solution(int to)
{
    MPI_Send(data, 4096, MPI_UINT64_T, to, SOLUTION, MPI_COMM_WORLD);
}

static NOINLINE void receive_solution(int from)
{
    MPI_Recv(data, 4096, MPI_UINT64_T, from, SOLUTION, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Works on a problem with n ranks from this one on. */
static void conquer(uint64_t work, int n)
{
    if (n == 1) {
        solve(work);
        return;
    }
    int other = rank + n / 2;
    uint64_t theirs = work * (uint64_t)(n - n / 2) / (uint64_t)n;
    if (ails("uneven-split"))
        theirs = theirs * 5 / 4;
    split(work);
    send_part(other, theirs);
    conquer(work - theirs, n / 2);
    receive_solution(other);
    merge(work);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "uneven-split", "dear-merge", "dear-split", NULL};
    begin(argc, argv, known);
    int problems = 10 * size;
    for (int problem = 0; problem < problems; problem++) {
        if (rank == 0) {
            conquer(MS * (uint64_t)ranks, ranks);
            continue;
        }
        /* Whose other half this rank is, and how many ranks that has. */
        int first = 0, n = ranks;
        while (rank != first + n / 2) {
            if (rank < first + n / 2)
                n = n / 2;
            else
                first += n / 2, n -= n / 2;
        }
        conquer(receive_part(first), n - n / 2);
        send_solution(first);
    }
    return finish(MS * (uint64_t)problems);
}
