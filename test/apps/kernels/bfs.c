/*
 * Breadth-first search (Graph500): a Kronecker graph, its vertices spread over the ranks, is searched level by level. At
 * each level ranks tell the others what vertices of theirs are reached.
 */
#include "kernel.h"

enum { SCALE = 12, VERTICES = 1 << SCALE, EDGES = 8 * VERTICES };

static int mine, *first, *neighbour; /* the edges of vertex v * ranks + rank */

/* Sends pairs of numbers to the owners of their first one; gives what came in. */
static NOINLINE int *deliver(const int *pair, int n, int *got)
{
    int count[ranks], from[ranks], to[ranks], in[ranks], at[ranks], total = 0, sent = 0;
    int *out = malloc(sizeof *out * 2 * (size_t)(n + 1));
    memset(count, 0, sizeof count);
    for (int i = 0; i < n; i++)
        count[pair[2 * i] % ranks] += 2;
    for (int r = 0; r < ranks; r++) {
        to[r] = at[r] = sent;
        sent += count[r];
    }
    for (int i = 0; i < n; i++) {
        int r = pair[2 * i] % ranks;
        out[at[r]++] = pair[2 * i];
        out[at[r]++] = pair[2 * i + 1];
    }
    MPI_Alltoall(count, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        from[r] = total;
        total += in[r];
    }
    int *all = malloc(sizeof *all * (size_t)(total + 1));
    MPI_Alltoallv(out, count, to, MPI_INT, all, in, from, MPI_INT, MPI_COMM_WORLD);
    free(out);
    *got = total / 2;
    return all;
}

static NOINLINE void generate(void)
{
    int part = EDGES / ranks, got;
    int *edge = malloc(sizeof *edge * 4 * (size_t)part);
    uint64_t x = skip(314159265, 2ull * SCALE * (uint64_t)part * (uint64_t)rank);
    for (int i = 0; i < part; i++) {
        int u = 0, v = 0;
        for (int bit = 0; bit < SCALE; bit++) {
            int down = next_random(&x) > 0.76, right = next_random(&x) > (down ? 0.19 / 0.24 : 0.57 / 0.76);
            u = 2 * u + down, v = 2 * v + right;
        }
        edge[4 * i] = edge[4 * i + 3] = u;
        edge[4 * i + 1] = edge[4 * i + 2] = v;
    }
    int *in = deliver(edge, 2 * part, &got);
    first = calloc((size_t)mine + 2, sizeof *first), neighbour = malloc(sizeof *neighbour * (size_t)(got + 1));
    for (int i = 0; i < got; i++)
        first[in[2 * i] / ranks + 2]++;
    for (int v = 0; v < mine; v++)
        first[v + 2] += first[v + 1];
    for (int i = 0; i < got; i++)
        neighbour[first[in[2 * i] / ranks + 1]++] = in[2 * i + 1];
    free(in);
    free(edge);
}

/* Gives how many vertices are reached; level and parent of each of ours, -1 where none. */
static NOINLINE long search(int root, int *level, int *parent)
{
    int *front = malloc(sizeof *front * (size_t)mine), *pair = malloc(sizeof *pair * 2 * (size_t)(first[mine] + 1)), n = 0;
    long reached = 0, all = 1;
    memset(level, -1, sizeof *level * (size_t)mine);
    memset(parent, -1, sizeof *parent * (size_t)mine);
    if (root % ranks == rank) {
        front[n++] = root / ranks;
        level[root / ranks] = 0, parent[root / ranks] = root;
    }
    for (int depth = 1; all > 0; depth++) {
        int pairs = 0, got;
        long new = 0;
        prepare(300 * US);
        compute(200 * US);
        for (int i = 0; i < n; i++)
            for (int e = first[front[i]]; e < first[front[i] + 1]; e++) {
                pair[2 * pairs] = neighbour[e];
                pair[2 * pairs++ + 1] = front[i] * ranks + rank;
            }
        reached += n;
        int *in = deliver(pair, pairs, &got);
        compute(300 * US);
        n = 0;
        for (int i = 0; i < got; i++) {
            int v = in[2 * i] / ranks;
            if (level[v] < 0) {
                level[v] = depth, parent[v] = in[2 * i + 1];
                front[n++] = v;
            }
        }
        free(in);
        new = n;
        MPI_Allreduce(&new, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    free(front);
    free(pair);
    MPI_Allreduce(&reached, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "slow", "serial", NULL};
    begin(argc, argv, known);
    mine = VERTICES / ranks;
    generate();
    int *level = malloc(sizeof *level * (size_t)mine), *parent = malloc(sizeof *parent * (size_t)mine), ok = 1;
    int *all = malloc(sizeof *all * VERTICES);
    long reached = 0;
    for (int search_of = 0; search_of < 8 * size; search_of++) {
        reached = search(search_of % 8 * 5, level, parent);
        if (search_of > 0)
            continue;
        /* Every vertex is one level below its parent, which it has an edge to, and at most one from its neighbours. */
        MPI_Allgather(level, mine, MPI_INT, all, mine, MPI_INT, MPI_COMM_WORLD);
        for (int v = 0; v < mine; v++) {
            int is = level[v] <= 0;
            for (int e = first[v]; e < first[v + 1]; e++) {
                int other = all[neighbour[e] % ranks * mine + neighbour[e] / ranks];
                is |= neighbour[e] == parent[v] && other == level[v] - 1;
                ok = ok && abs(other - level[v]) <= 1 && (other < 0) == (level[v] < 0);
            }
            ok = ok && is;
        }
    }
    return verified(ok && reached > VERTICES / 4, (double)reached);
}
