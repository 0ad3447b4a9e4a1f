/*
 * Adaptive mesh refinement on blocks: a blob is carried around by a rotating flow, and the mesh follows it. The
 * blocks form a forest of quadtrees, and lie on ranks along the Morton curve through all levels.
 *
 *     amr [steps=N] [levels=N] [roots=N] [work=NS] [fields=N] [balance=off] [order=scrambled]
 *
 * Every rank knows the whole forest, and holds the cells of its own blocks. balance=off leaves new blocks where their
 * parents are; order=scrambled deals blocks out in an order that knows nothing of neighbours; of fields of a cell beyond the
 * first all that is done is to send them where it goes. None of this changes the result: rank 0 prints the number of blocks, the mass, the largest error and a checksum.
 */
#include "work.h"

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8, WIDTH = N + 2, CELLS = WIDTH * WIDTH, BLOCKS_MAX = 8192, LEVELS_MAX = 6 };
enum { LEFT, RIGHT, DOWN, UP, SIDES };
#define APART __attribute__((noinline)) /* a function that is to be seen */

/* A block of N by N cells with one guard cell around. Free ones have no level. */
struct block {
    int level, x, y; /* place in the grid of blocks of its level; level -1: free */
    int parent, child[4], owner;
    double *cells; /* of own ones */
};

static struct block forest[BLOCKS_MAX];
static int blocks; /* ever used */
static int fields = 1;
static int rank, ranks, roots = 4, levels = 3, steps = 40, balanced = 1, scrambled;
static long work_per_block = 20000;
static MPI_Request requests[8 * BLOCKS_MAX];
static int pending;

static int leaf(const struct block *b) { return b->level >= 0 && b->child[0] < 0; }
static int here(const struct block *b) { return b->level >= 0 && b->owner == rank; }
static double *cell(struct block *b, int i, int j) { return &b->cells[j * WIDTH + i]; }
static double width_of(const struct block *b) { return 1.0 / (roots << b->level) / N; }
static double middle_x(const struct block *b, int i) { return 1.0 / (roots << b->level) * b->x + (i - 0.5) * width_of(b); }
static double middle_y(const struct block *b, int j) { return 1.0 / (roots << b->level) * b->y + (j - 0.5) * width_of(b); }

static int add(int level, int x, int y, int parent, int owner)
{
    int i = 0;
    while (i < blocks && forest[i].level >= 0)
        i++;
    if (i == BLOCKS_MAX) {
        fprintf(stderr, "amr: more than %d blocks\n", BLOCKS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    blocks = i == blocks ? blocks + 1 : blocks;
    forest[i] = (struct block){level, x, y, parent, {-1, -1, -1, -1}, owner, owner == rank ? calloc(CELLS, sizeof(double)) : NULL};
    return i;
}

static void discard(int i)
{
    free(forest[i].cells);
    forest[i].cells = NULL;
    forest[i].level = -1;
}

/* The block at a place of a level, found from its root down; -1: there is none as fine as that. */
static int find(int level, int x, int y)
{
    int grid = roots << level;
    x = (x + grid) % grid;
    y = (y + grid) % grid;
    int i = (y >> level) * roots + (x >> level);
    for (int l = level - 1; l >= 0 && i >= 0; l--)
        i = forest[i].child[(y >> l & 1) * 2 + (x >> l & 1)];
    return i;
}

static int neighbour(const struct block *b, int side)
{
    static const int dx[] = {-1, 1, 0, 0}, dy[] = {0, 0, -1, 1};
    return find(b->level, b->x + dx[side], b->y + dy[side]);
}

/* Messages name the block and the part of it that they are for. Fields beyond the first only travel. */
static struct {
    double *all, *first; /* where the first is to go; NULL: sent */
    size_t room, bytes;
} travelling[8 * BLOCKS_MAX];

static double *with_all_fields(double *first, int n)
{
    size_t bytes = (size_t)n * sizeof(double), room = bytes * (size_t)fields;
    if (travelling[pending].room < room) {
        free(travelling[pending].all);
        travelling[pending].all = calloc(room, 1);
        travelling[pending].room = room;
    }
    travelling[pending].first = first;
    travelling[pending].bytes = bytes;
    return travelling[pending].all;
}
static void send(const double *data, int n, int to, int tag)
{
    double *all = with_all_fields(NULL, n);
    memcpy(all, data, (size_t)n * sizeof(double));
    MPI_Isend(all, n * fields, MPI_DOUBLE, to, tag, MPI_COMM_WORLD, &requests[pending++]);
}
static void receive(double *data, int n, int from, int tag)
{
    double *all = with_all_fields(data, n);
    MPI_Irecv(all, n * fields, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, &requests[pending++]);
}
static void finish(void)
{
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < pending; i++)
        if (travelling[i].first)
            memcpy(travelling[i].first, travelling[i].all, travelling[i].bytes);
    pending = 0;
}

/* The strip of inner cells at a side, and the one of guard cells beyond it. */
static void inner_strip(struct block *b, int side, double *out)
{
    for (int k = 1; k <= N; k++)
        out[k - 1] = side == LEFT ? *cell(b, 1, k) : side == RIGHT ? *cell(b, N, k) : side == DOWN ? *cell(b, k, 1) : *cell(b, k, N);
}
static void guard_strip(struct block *b, int side, const double *in)
{
    for (int k = 1; k <= N; k++)
        *(side == LEFT ? cell(b, 0, k) : side == RIGHT ? cell(b, N + 1, k) : side == DOWN ? cell(b, k, 0) : cell(b, k, N + 1)) = in[k - 1];
}

static double (*strips)[SIDES][N], (*other_strips)[SIDES][N];
static double (*quarters)[N * N / 4];
static double (*copies)[CELLS];

static void average(struct block *b, double *out)
{
    for (int j = 0; j < N / 2; j++)
        for (int i = 0; i < N / 2; i++)
            out[j * N / 2 + i] = 0.25 * (*cell(b, 2 * i + 1, 2 * j + 1) + *cell(b, 2 * i + 2, 2 * j + 1) + *cell(b, 2 * i + 1, 2 * j + 2) + *cell(b, 2 * i + 2, 2 * j + 2));
}

static APART void fetch_from_children(int level)
{
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        if (b->level != level + 1)
            continue;
        struct block *p = &forest[b->parent];
        if (here(p) && !here(b))
            receive(quarters[i], N * N / 4, b->owner, i);
        else if (here(b) && !here(p)) {
            average(b, quarters[i]);
            send(quarters[i], N * N / 4, p->owner, i);
        }
    }
    finish();
}

/* Parents get the averages of their children, from the finest level up. */
static APART void restrict_blocks(void)
{
    for (int level = levels - 1; level >= 0; level--) {
        fetch_from_children(level);
        for (int i = 0; i < blocks; i++) {
            struct block *p = &forest[i];
            if (p->level != level || !here(p) || leaf(p))
                continue;
            for (int c = 0; c < 4; c++) {
                double *q = quarters[p->child[c]];
                if (here(&forest[p->child[c]]))
                    average(&forest[p->child[c]], q);
                for (int y = 0; y < N / 2; y++)
                    for (int x = 0; x < N / 2; x++)
                        *cell(p, 1 + x + (c & 1) * N / 2, 1 + y + (c >> 1) * N / 2) = q[y * N / 2 + x];
            }
        }
    }
}

static APART void transfer_from_siblings(void)
{
    for (int i = 0; i < blocks; i++)
        for (int side = 0; side < SIDES && here(&forest[i]); side++) {
            int n = neighbour(&forest[i], side);
            if (n >= 0 && !here(&forest[n]))
                receive(other_strips[i][side], N, forest[n].owner, i * SIDES + side);
        }
    for (int i = 0; i < blocks; i++)
        for (int side = 0; side < SIDES && here(&forest[i]); side++) {
            int n = neighbour(&forest[i], side);
            if (n < 0)
                continue;
            inner_strip(&forest[i], side, strips[i][side]);
            if (!here(&forest[n]))
                send(strips[i][side], N, forest[n].owner, n * SIDES + (side ^ 1));
        }
    finish();
    for (int i = 0; i < blocks; i++)
        for (int side = 0; side < SIDES && here(&forest[i]); side++) {
            int n = neighbour(&forest[i], side);
            if (n >= 0)
                guard_strip(&forest[i], side, here(&forest[n]) ? strips[n][side ^ 1] : other_strips[i][side]);
        }
}

static APART void fetch_from_parents(int level)
{
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        if (b->level != level || !leaf(b))
            continue;
        int wanted = 0;
        for (int side = 0; side < SIDES; side++)
            wanted |= neighbour(b, side) < 0;
        struct block *p = &forest[b->parent];
        if (wanted && here(b) && !here(p))
            receive(copies[i], CELLS, p->owner, i);
        else if (wanted && here(p) && !here(b))
            send(p->cells, CELLS, b->owner, i);
    }
    finish();
}

/* Where there is no neighbour as fine as the block, its parent knows what is there. */
static APART void prolong_from_parents(void)
{
    for (int level = 1; level <= levels; level++) {
        fetch_from_parents(level);
        for (int i = 0; i < blocks; i++) {
            struct block *b = &forest[i];
            if (b->level != level || !here(b) || !leaf(b))
                continue;
            struct block *p = &forest[b->parent];
            const double *coarse = here(p) ? p->cells : copies[i];
            for (int side = 0; side < SIDES; side++) {
                double strip[N];
                if (neighbour(b, side) >= 0)
                    continue;
                for (int k = 1; k <= N; k++) {
                    int x = side == LEFT ? 0 : side == RIGHT ? N + 1 : k, y = side == DOWN ? 0 : side == UP ? N + 1 : k;
                    int cx = (x + 1) / 2 + (b->x & 1) * N / 2, cy = (y + 1) / 2 + (b->y & 1) * N / 2;
                    strip[k - 1] = coarse[cy * WIDTH + cx];
                }
                guard_strip(b, side, strip);
            }
        }
    }
}

static APART void fill_guard_cells(void)
{
    restrict_blocks();
    transfer_from_siblings();
    prolong_from_parents();
}

static double exact(double x, double y, double t)
{
    double cx = 0.5 + 0.25 * cos(t), cy = 0.5 + 0.25 * sin(t), r = hypot(x - cx, y - cy);
    return exp(-r * r / 0.005);
}

/* One step of upwind advection in every leaf. */
static APART void advance(double dt)
{
    static double next[CELLS];
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        if (!here(b) || !leaf(b))
            continue;
        double h = width_of(b);
        for (int y = 1; y <= N; y++)
            for (int x = 1; x <= N; x++) {
                double u = 0.5 - middle_y(b, y), v = middle_x(b, x) - 0.5, c = *cell(b, x, y);
                double dx = u > 0 ? c - *cell(b, x - 1, y) : *cell(b, x + 1, y) - c;
                double dy = v > 0 ? c - *cell(b, x, y - 1) : *cell(b, x, y + 1) - c;
                next[y * WIDTH + x] = c - dt / h * (u * dx + v * dy);
            }
        for (int y = 1; y <= N; y++)
            memcpy(cell(b, 1, y), &next[y * WIDTH + 1], N * sizeof(double));
        work_ns((uint64_t)work_per_block);
    }
}

/* How steep the solution is in a block. */
static double steepness(struct block *b)
{
    double most = 0;
    for (int y = 1; y <= N; y++)
        for (int x = 1; x <= N; x++)
            most = fmax(most, fmax(fabs(*cell(b, x + 1 > N ? N : x + 1, y) - *cell(b, x, y)), fabs(*cell(b, x, y + 1 > N ? N : y + 1) - *cell(b, x, y))));
    return most;
}

static signed char wish[BLOCKS_MAX]; /* 1: finer, -1: coarser */

static void agree(void) { MPI_Allreduce(MPI_IN_PLACE, wish, blocks, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD); }

static APART void check_refinement(void)
{
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        wish[i] = here(b) && leaf(b) && b->level < levels && steepness(b) > 0.04;
    }
    agree();
    /* Neighbours differ by one level at most. */
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = 0; i < blocks; i++)
            for (int side = 0; side < SIDES && wish[i] > 0 && forest[i].level > 0; side++) {
                if (neighbour(&forest[i], side) >= 0)
                    continue;
                static const int dx[] = {-1, 1, 0, 0}, dy[] = {0, 0, -1, 1};
                const struct block *b = &forest[i];
                int grid = roots << b->level;
                int n = find(b->level - 1, (b->x + dx[side] + grid) % grid / 2, (b->y + dy[side] + grid) % grid / 2);
                if (n >= 0 && !wish[n])
                    wish[n] = 1, changed = 1;
            }
    }
}

static APART void refine_blocks(void)
{
    int before = blocks;
    static signed char split[BLOCKS_MAX];
    memcpy(split, wish, sizeof split);
    for (int i = 0; i < before; i++) {
        if (split[i] <= 0 || !leaf(&forest[i]))
            continue;
        for (int c = 0; c < 4; c++) {
            struct block b = forest[i];
            int n = add(b.level + 1, 2 * b.x + (c & 1), 2 * b.y + (c >> 1), i, b.owner);
            forest[i].child[c] = n;
            if (!here(&forest[n]))
                continue;
            for (int y = 1; y <= N; y++)
                for (int x = 1; x <= N; x++)
                    *cell(&forest[n], x, y) = *cell(&forest[i], (x + 1) / 2 + (c & 1) * N / 2, (y + 1) / 2 + (c >> 1) * N / 2);
        }
    }
}

static APART void check_derefinement(void)
{
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        wish[i] = here(b) && leaf(b) && b->level > 0 && steepness(b) < 0.01 ? -1 : here(b) && leaf(b) ? 1 : -1;
    }
    agree();
}

/* Four leaves become one where all of them wish it, and no neighbour is two levels finer then. */
static APART void derefine_blocks(void)
{
    for (int i = 0; i < blocks; i++) {
        struct block *p = &forest[i];
        if (p->level < 0 || leaf(p))
            continue;
        int merge = 1;
        for (int c = 0; c < 4 && merge; c++) {
            struct block *b = &forest[p->child[c]];
            merge = leaf(b) && wish[p->child[c]] < 0;
            for (int side = 0; side < SIDES && merge; side++) {
                int n = neighbour(b, side);
                merge = n < 0 || leaf(&forest[n]);
            }
        }
        for (int c = 0; c < 4 && merge; c++) {
            discard(p->child[c]);
            p->child[c] = -1;
        }
    }
}

static struct place {
    uint64_t key;
    int block;
} order[BLOCKS_MAX];

static int by_key(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key ? 1 : p->block - q->block;
}

/* The place on the Morton curve through all levels: a block comes right before its children. */
static uint64_t morton_key(const struct block *b)
{
    uint64_t key = 0, x = (uint64_t)b->x << (LEVELS_MAX - b->level), y = (uint64_t)b->y << (LEVELS_MAX - b->level);
    for (int k = 0; k < 16; k++)
        key |= (x >> k & 1) << (2 * k) | (y >> k & 1) << (2 * k + 1);
    return key << 3 | (uint64_t)b->level;
}

static uint64_t scrambled_key(const struct block *b)
{
    uint64_t h = ((uint64_t)b->level << 40 | (uint64_t)b->x << 20 | (uint64_t)b->y) * 0x9E3779B97F4A7C15u;
    return (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
}

static APART void migrate_blocks(const int *owner)
{
    for (int i = 0; i < blocks; i++)
        if (forest[i].level >= 0 && owner[i] == rank && !here(&forest[i])) {
            forest[i].cells = calloc(CELLS, sizeof(double));
            receive(forest[i].cells, CELLS, forest[i].owner, i);
        }
    for (int i = 0; i < blocks; i++)
        if (here(&forest[i]) && owner[i] != rank)
            send(forest[i].cells, CELLS, owner[i], i);
    finish();
    for (int i = 0; i < blocks; i++) {
        if (here(&forest[i]) && owner[i] != rank) {
            free(forest[i].cells);
            forest[i].cells = NULL;
        }
        forest[i].owner = owner[i];
    }
}

/* Cuts the curve through all blocks into pieces of equal work: leaves are what work is done on. */
static APART void load_balance(void)
{
    static int owner[BLOCKS_MAX];
    int n = 0, leaves = 0, before = 0;
    for (int i = 0; i < blocks; i++) {
        owner[i] = 0;
        if (forest[i].level < 0)
            continue;
        order[n++] = (struct place){scrambled ? scrambled_key(&forest[i]) : morton_key(&forest[i]), i};
        leaves += leaf(&forest[i]);
    }
    qsort(order, (size_t)n, sizeof *order, by_key);
    for (int k = 0; k < n; k++) {
        owner[order[k].block] = (int)((long)before * ranks / leaves) < ranks ? (int)((long)before * ranks / leaves) : ranks - 1;
        before += leaf(&forest[order[k].block]);
    }
    migrate_blocks(owner);
}

static void adapt(int balance)
{
    check_refinement();
    refine_blocks();
    check_derefinement();
    derefine_blocks();
    if (balance)
        load_balance();
}

static void result(double t)
{
    double sums[2] = {0, 0}, worst = 0, all[2], most;
    uint64_t sum = 0, check;
    int count = 0;
    for (int i = 0; i < blocks; i++) {
        struct block *b = &forest[i];
        count += b->level >= 0;
        if (!here(b) || !leaf(b))
            continue;
        for (int y = 1; y <= N; y++)
            for (int x = 1; x <= N; x++) {
                double c = *cell(b, x, y);
                uint64_t bits;
                memcpy(&bits, &c, sizeof bits);
                sum += bits * (uint64_t)(1 + (b->level * 4096 + b->y * N + y) * 131071 + b->x * N + x);
                sums[0] += c * width_of(b) * width_of(b);
                worst = fmax(worst, fabs(c - exact(middle_x(b, x), middle_y(b, y), t)));
            }
    }
    MPI_Reduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&worst, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &check, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("blocks %d mass %.6f error %.4f checksum %016llx\n", count, all[0], most, (unsigned long long)check);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "steps=%d", &steps) != 1 && sscanf(argv[i], "levels=%d", &levels) != 1 && sscanf(argv[i], "roots=%d", &roots) != 1 &&
            sscanf(argv[i], "work=%ld", &work_per_block) != 1 && sscanf(argv[i], "fields=%d", &fields) != 1) {
            if (!strcmp(argv[i], "balance=off"))
                balanced = 0;
            else if (!strcmp(argv[i], "order=scrambled"))
                scrambled = 1;
            else {
                fprintf(stderr, "amr: unknown argument %s\n", argv[i]);
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
        }
    if (levels > LEVELS_MAX || levels < 0 || roots < 2 || roots > 32) {
        fprintf(stderr, "amr: at most %d levels, 2 to 32 roots\n", LEVELS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    strips = malloc(BLOCKS_MAX * sizeof *strips);
    other_strips = malloc(BLOCKS_MAX * sizeof *other_strips);
    quarters = malloc(BLOCKS_MAX * sizeof *quarters);
    copies = malloc(BLOCKS_MAX * sizeof *copies);

    /* Roots go to ranks in pieces of the curve; the mesh is made fine where the blob is before anything moves. */
    for (int k = 0; k < roots * roots; k++)
        add(0, k % roots, k / roots, -1, 0);
    load_balance();
    for (int l = 0; l <= levels; l++) {
        for (int i = 0; i < blocks; i++)
            for (int y = 1; y <= N && here(&forest[i]); y++)
                for (int x = 1; x <= N; x++)
                    *cell(&forest[i], x, y) = exact(middle_x(&forest[i], x), middle_y(&forest[i], y), 0);
        if (l < levels) {
            fill_guard_cells();
            adapt(balanced);
        }
    }

    double dt = 0.4 / ((roots << levels) * N), t = 0;
    for (int step = 0; step < steps; step++, t += dt) {
        if (step % 8 == 7) {
            fill_guard_cells();
            adapt(balanced);
        }
        fill_guard_cells();
        advance(dt);
    }
    result(t);
    MPI_Finalize();
    return 0;
}
