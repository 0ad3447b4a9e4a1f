/*
 * A tree whose nodes are spread over ranks, as of a multipole or multifrontal method: going up it, every node is put
 * together from its children; then nodes of one level look at their siblings.
 *
 *   healthy   each rank has a subtree
 *   levels    parents are on another rank than their children
 *   siblings  many neighbours of one level are on different ranks: ranks have several small subtrees
 *   building  the tree is built anew for every pass
 *   late      one rank's nodes take twice as long as those of the others
 */
#include "model.h"

enum { LEVELS = 10, NODES = 1 << LEVELS, WORDS = 64, PER_NODE = 5 };

static double data[NODES][WORDS], fetched[NODES][WORDS];

/* The rank of a node: those of a level are numbered from 1 << level on. */
static int owner(int node)
{
    int level = 0, top = 0;
    while (node >> (level + 1))
        level++;
    while (1 << top < ranks)
        top++;
    int place = node - (1 << level);
    if (ails("siblings")) /* small subtrees, dealt out in turn */
        top = LEVELS - 4;
    int home = level > top ? place >> (level - top) : place << (top - level);
    if (ails("levels"))
        home += level;
    return home % ranks;
}

/* Nodes of which others' owners want the data: receives first, then synchronous sends. */
static MPI_Request pending[NODES];
static int count, queued, queue[NODES][2];

static void want(int node, int from)
{
    if (owner(node) == owner(from))
        return;
    if (owner(node) == rank)
        MPI_Irecv(fetched[from], WORDS, MPI_DOUBLE, owner(from), from, MPI_COMM_WORLD, &pending[count++]);
    if (owner(from) == rank)
        queue[queued][0] = from, queue[queued++][1] = owner(node);
}

static inline __attribute__((always_inline)) void carry_out(void)
{
    for (int i = 0; i < queued; i++)
        MPI_Ssend(data[queue[i][0]], WORDS, MPI_DOUBLE, queue[i][1], queue[i][0], MPI_COMM_WORLD);
    MPI_Waitall(count, pending, MPI_STATUSES_IGNORE);
    count = queued = 0;
}

static NOINLINE void fetch_from_children(int level)
{
    for (int node = 1 << level; node < 2 << level; node++)
        for (int c = 0; c < 2; c++)
            want(node, 2 * node + c);
    carry_out();
}

static NOINLINE void fetch_from_siblings(int level)
{
    for (int node = 1 << level; node + 1 < 2 << level; node++)
        want(node, node + 1);
    carry_out();
}

static NOINLINE void build_tree(void)
{
    static int mine[NODES], all[NODES];
    for (int level = 0; level < LEVELS; level++)
        MPI_Allreduce(mine, all, NODES, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static NOINLINE void work_on(int level)
{
    uint64_t ns = ails("late") ? uneven(PER_NODE * US, ranks / 2) : PER_NODE * US;
    for (int node = 1 << level; node < 2 << level; node++)
        if (owner(node) == rank)
            work_for(ns);
}

int main(int argc, char **argv)
{
    static const char *const known[] = {"healthy", "levels", "siblings", "building", "late", NULL};
    begin(argc, argv, known);
    int passes = 10 * size;
    build_tree();
    for (int p = 0; p < passes; p++) {
        for (int i = 0; ails("building") && i < 20; i++)
            build_tree();
        for (int level = LEVELS - 1; level >= 0; level--) {
            if (level < LEVELS - 1)
                fetch_from_children(level);
            work_on(level);
        }
        for (int i = 0; i < 3; i++)
            for (int level = 1; level < LEVELS; level++)
                fetch_from_siblings(level);
    }
    return finish((uint64_t)passes * (NODES - 1) * PER_NODE * US / (uint64_t)ranks);
}
