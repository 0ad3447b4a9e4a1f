/*
 * Neighbourhood collectives on a Cartesian, a general and a distributed graph, where ranks have different
 * numbers of neighbours, and where some neighbours of a Cartesian rank are nobody.
 */
#include "expect.h"

#ifdef MOCK_MPI_H /* has none */
void neighbourhoods(void)
{
}
#else

enum { N = 2, MOST = 64 };
#define INT ((long long)sizeof(int))
#define BYTES ((long long)(N * sizeof(int)))

static MPI_Comm comm;
static int sources[MOST], destinations[MOST], in, out; /* MPI_PROC_NULL is a neighbour too */
static int s[MOST * N], r[MOST * N];
static int counts_n[MOST], displs_n[MOST];
static MPI_Count counts_w[MOST];
static MPI_Aint displs_w[MOST], byte_displs[MOST];
static MPI_Datatype types[MOST];

static void fill(void)
{
    for (int i = 0; i < MOST * N; i++) {
        s[i] = rank * 100 + i % N;
        r[i] = -1;
    }
}

static bool from_sources(void)
{
    for (int p = 0; p < in; p++)
        for (int i = 0; i < N; i++)
            if (r[p * N + i] != (sources[p] == MPI_PROC_NULL ? -1 : sources[p] * 100 + i))
                return false;
    return true;
}

#define NARROW int *counts = counts_n, *displs = displs_n; (void)counts, (void)displs
#define WIDE MPI_Count *counts = counts_w; MPI_Aint *displs = displs_w; (void)counts, (void)displs

#define FORMS(Name, iName, init, out, in, ...)                                    \
    fill();                                                                       \
    CALL(Name, on(comm), out, in, __VA_ARGS__, comm);                             \
    CHECK(from_sources());                                                        \
    fill();                                                                       \
    CALL(iName, on(comm), out, in, __VA_ARGS__, comm, &request);                  \
    DO(Wait, &request, MPI_STATUS_IGNORE);                                        \
    CHECK(from_sources());                                                        \
    MPI4(fill();                                                                  \
         CALL(init, on(comm), 0, 0, __VA_ARGS__, comm, MPI_INFO_NULL, &request);  \
         DO(Start, &request);                                                     \
         moved("MPI_Start", on(comm), out, in);                                   \
         DO(Wait, &request, MPI_STATUS_IGNORE);                                   \
         CHECK(from_sources());                                                   \
         DO(Request_free, &request);)

#define COLLECTIVE(Name, iName, out, in, ...)                                     \
    do {                                                                          \
        MPI_Request request;                                                      \
        {                                                                         \
            NARROW;                                                               \
            FORMS(Name, iName, Name##_init, out, in, __VA_ARGS__)                 \
        }                                                                         \
        COUNTS(WIDE; FORMS(Name##_c, iName##_c, Name##_init_c, out, in, __VA_ARGS__)) \
    } while (0)

static void everything_on(MPI_Comm one, bool uneven)
{
    comm = one;
    (void)uneven;
    for (int p = 0; p < MOST; p++) {
        counts_n[p] = N;
        counts_w[p] = N;
        displs_n[p] = p * N;
        displs_w[p] = p * N;
        byte_displs[p] = p * (MPI_Aint)BYTES;
        types[p] = MPI_INT;
    }
    COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, BYTES, BYTES * in, s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, BYTES, BYTES * in, s, N, MPI_INT, r, counts, displs, MPI_INT);
    COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, BYTES * out, BYTES * in, s, N, MPI_INT, r, N, MPI_INT);
    COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, BYTES * out, BYTES * in, s, counts, displs, MPI_INT, r, counts, displs, MPI_INT);
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
    if (uneven) /* it mistakes the number of sources for that of destinations here */
        return;
#endif
    COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, BYTES * out, BYTES * in, s, counts, byte_displs, types, r, counts, byte_displs, types);
}

static void cartesian(int periodic)
{
    MPI_Comm cart, line;
    int remain = 1;
    DO_ON(Cart_create, MPI_COMM_WORLD, MPI_COMM_WORLD, 1, &size, &periodic, 0, &cart);
    name(cart, periodic ? "ring" : "row");
    in = out = 2;
    MPI_Cart_shift(cart, 0, 1, &sources[0], &sources[1]);
    everything_on(cart, false);
    DO_ON(Cart_sub, cart, cart, &remain, &line);
    name(line, periodic ? "part of the ring" : "part of the row");
    everything_on(line, false);
    DO_ON(Comm_free, line, &line);
    DO_ON(Comm_free, cart, &cart);
}

/* A star around rank 0, the middle having size - 1 neighbours and the others one. */
static void graph(void)
{
    MPI_Comm star;
    int index[MOST], edges[2 * MOST];
    for (int p = 1; p < size; p++) {
        edges[p - 1] = p;
        edges[size - 1 + p - 1] = 0;
    }
    for (int p = 0; p < size; p++)
        index[p] = size - 1 + p;
    DO_ON(Graph_create, MPI_COMM_WORLD, MPI_COMM_WORLD, size, index, edges, 0, &star);
    name(star, "star");
    in = out = rank ? 1 : size - 1;
    for (int p = 0; p < in; p++)
        sources[p] = rank ? 0 : p + 1;
    everything_on(star, false);
    DO_ON(Comm_free, star, &star);
}

/* Rank p sends to all higher ranks. */
static void upwards(void)
{
    MPI_Comm up, same;
    in = rank;
    out = size - 1 - rank;
    for (int p = 0; p < in; p++)
        sources[p] = p;
    for (int p = 0; p < out; p++)
        destinations[p] = rank + 1 + p;
    DO_ON(Dist_graph_create_adjacent, MPI_COMM_WORLD, MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED,
          MPI_INFO_NULL, 0, &up);
    name(up, "upwards");
    everything_on(up, true);
    DO_ON(Dist_graph_create, MPI_COMM_WORLD, MPI_COMM_WORLD, 1, &rank, &out, destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &same);
    name(same, "upwards again");
    int weighted, told[MOST];
    MPI_Dist_graph_neighbors_count(same, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(same, in, sources, told, out, destinations, told);
    CHECK(in == rank);
    everything_on(same, true);
    DO_ON(Comm_free, same, &same);
    DO_ON(Comm_free, up, &up);
}

void neighbourhoods(void)
{
    CHECK(size <= MOST);
    cartesian(1);
    cartesian(0);
    graph();
    upwards();
}
#endif
