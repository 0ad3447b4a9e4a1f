/* Every way to make a communicator; each proves its members by a collective and a message. */
#include "expect.h"

#define WORLD MPI_COMM_WORLD
#define INT ((long long)sizeof(int))

/* Uses a communicator and frees it. */
static void use(MPI_Comm *comm, const char *text)
{
    int me, n, sum = 0, in = -1;
    MPI_Status status;
    name(*comm, text);
    MPI_Comm_rank(*comm, &me);
    MPI_Comm_size(*comm, &n);
    CALL(Allreduce, on(*comm), INT, INT, &me, &sum, 1, MPI_INT, MPI_SUM, *comm);
    CHECK(sum == n * (n - 1) / 2);
    CALL(Sendrecv, on(*comm), INT, INT, &me, 1, MPI_INT, (me + 1) % n, 4, &in, 1, MPI_INT, MPI_ANY_SOURCE, 4, *comm, &status);
    messages("MPI_Sendrecv", 1);
    sent(*comm, (me + 1) % n, INT);
    received(*comm, (me + n - 1) % n, INT);
    CHECK(in == (me + n - 1) % n && status.MPI_SOURCE == in);
    DO_ON(Comm_free, *comm, comm);
    CHECK(*comm == MPI_COMM_NULL);
}

static void by_group(void)
{
    MPI_Group world, low;
    MPI_Comm comm;
    int half = size / 2, range[1][3] = {{0, half - 1, 1}};
    MPI_Comm_group(WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &low);
    DO_ON(Comm_create, WORLD, WORLD, low, &comm);
    CHECK((comm != MPI_COMM_NULL) == (rank < half));
    if (comm != MPI_COMM_NULL)
        use(&comm, "created");
    if (rank < half) {
        DO_ON(Comm_create_group, WORLD, WORLD, low, 9, &comm);
        use(&comm, "created by its group");
        DO_ON(Comm_create_group, WORLD, WORLD, low, 9, &comm);
        use(&comm, "created by its group again");
    }
    MPI_Group_free(&low);
    MPI_Group_free(&world);
}

static void copies(void)
{
    MPI_Comm comm, second;
    MPI_Request request, requests[2];
    MPI_Status status;
    int flag;
    DO_ON(Comm_dup, WORLD, WORLD, &comm);
    use(&comm, "copy");
    DO_ON(Comm_dup_with_info, WORLD, WORLD, MPI_INFO_NULL, &comm);
    use(&comm, "copy with info");
    DO_ON(Comm_idup, WORLD, WORLD, &comm, &request);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    use(&comm, "copy to come");
    /* Two at once, completed in the other order */
    DO_ON(Comm_idup, WORLD, WORLD, &comm, &requests[0]);
    DO_ON(Comm_idup, WORLD, WORLD, &second, &requests[1]);
    do {
        DO(Testall, 2, requests, &flag, MPI_STATUSES_IGNORE);
    } while (!flag);
    hit("MPI_Testall");
    use(&second, "second of two copies");
    use(&comm, "first of two copies");
    MPI4(DO_ON(Comm_idup_with_info, WORLD, WORLD, MPI_INFO_NULL, &comm, &request);
         DO(Wait, &request, &status);
         use(&comm, "copy with info to come");)
    (void)status;
}

static void parts(void)
{
    MPI_Comm comm, inner;
    char text[64];
    DO_ON(Comm_split, WORLD, WORLD, rank % 2, -rank, &comm);
    snprintf(text, sizeof text, "%s", rank % 2 ? "odd" : "even");
    name(comm, text);
    DO_ON(Comm_split, comm, comm, 0, rank, &inner);
    use(&inner, rank % 2 ? "odd, upwards" : "even, upwards");
    DO_ON(Comm_free, comm, &comm);
    DO_ON(Comm_split, WORLD, WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
    if (rank)
        use(&comm, "all but the first");
    CHECK(comm == MPI_COMM_NULL);
    DO_ON(Comm_split_type, WORLD, WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
    use(&comm, "one host");
}

static void grids(void)
{
    MPI_Comm grid, column;
    int dims[2] = {size / 2, 2}, periods[2] = {0, 1}, remain[2] = {1, 0}, coords[2];
    DO_ON(Cart_create, WORLD, WORLD, 2, dims, periods, 0, &grid);
    if (grid != MPI_COMM_NULL) {
        name(grid, "grid");
        MPI_Cart_coords(grid, rank, 2, coords);
        DO_ON(Cart_sub, grid, grid, remain, &column);
        use(&column, coords[1] ? "right column" : "left column");
        use(&grid, "grid");
    }
#ifndef MOCK_MPI_H
    int new_rank, index[2] = {1, 2}, edges[2] = {1, 0};
    MPI_Comm two;
    DO(Cart_map, WORLD, 2, dims, periods, &new_rank);
    DO(Graph_map, WORLD, 2, index, edges, &new_rank);
    DO_ON(Graph_create, WORLD, WORLD, 2, index, edges, 0, &two);
    if (two != MPI_COMM_NULL)
        use(&two, "two");
    MPI_Comm parent;
    DO(Comm_get_parent, &parent);
    CHECK(parent == MPI_COMM_NULL);
#endif
}

#ifdef HAS_MPI4
/* Without a parent: from a group of the world's processes. */
static void from_groups(void)
{
    MPI_Session session;
    MPI_Group world, own, others;
    MPI_Comm comm;
    int low = size / 2, me = rank < low, ranges[2][1][3] = {{{low, size - 1, 1}}, {{0, low - 1, 1}}};
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    DO(Comm_create_from_group, world, "everything", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use(&comm, "from a group");
    MPI_Group_range_incl(world, 1, ranges[me], &own);
    MPI_Group_range_incl(world, 1, ranges[!me], &others);
    DO(Intercomm_create_from_groups, own, 0, others, 0, "both", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    name(comm, "from two groups");
    DO_ON(Barrier, comm, comm);
    DO_ON(Comm_free, comm, &comm);
    MPI_Group_free(&own);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
}
#endif

void communicators(void)
{
    copies();
    by_group();
    parts();
    grids();
    MPI4(from_groups();)
}
