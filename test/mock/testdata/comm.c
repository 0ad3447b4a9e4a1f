/* Communicators, groups and cartesian topologies. Wants --hosts 2. */
#include "check.h"

/* Whether messages and collectives of c stay in c and reach its members. */
static void check_works(MPI_Comm c, int want_rank, int want_size)
{
    int r, n, sum, in, flag;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    CHECK_EQUAL(r, want_rank);
    CHECK_EQUAL(n, want_size);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK_EQUAL(sum, n * (n - 1) / 2);
    MPI_Status s;
    MPI_Send(&r, 1, MPI_INT, (r + 1) % n, 5, c);
    MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &s);
    CHECK(!flag);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, c, &s);
    CHECK(in == (r + n - 1) % n && s.MPI_SOURCE == in);
    MPI_Comm_test_inter(c, &flag);
    CHECK(!flag);
}

static void duplicates(void)
{
    MPI_Comm a, b, c;
    MPI_Request r;
    int result, n;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_idup(a, &b, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_dup_with_info(MPI_COMM_SELF, MPI_INFO_NULL, &c);
    check_works(a, rank, size);
    check_works(b, rank, size);
    check_works(c, 0, 1);
    MPI_Comm_compare(a, a, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Comm_compare(a, b, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_compare(a, c, &result);
    CHECK_EQUAL(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && n == 14);
    MPI_Comm_get_name(a, name, &n);
    CHECK(name[0] == 0 && n == 0);
    MPI_Comm_set_name(a, "mine");
    MPI_Comm_get_name(a, name, &n);
    CHECK(strcmp(name, "mine") == 0 && n == 4);

    MPI_Comm old = c;
    MPI_Comm_free(&c);
    CHECK(c == MPI_COMM_NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    CHECK(c == old);
    MPI_Comm_free(&c);
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
}

/* A communicator can be freed before what was posted on it completes. */
static void freed_early(void)
{
    MPI_Comm c;
    MPI_Request r;
    MPI_Status s;
    int in = -1;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &c);
    int me = size - 1 - rank;
    MPI_Irecv(&in, 1, MPI_INT, (me + 1) % size, 0, c, &r);
    MPI_Send(&me, 1, MPI_INT, (me + size - 1) % size, 0, c);
    MPI_Comm_free(&c);
    MPI_Wait(&r, &s);
    CHECK(in == (me + 1) % size && s.MPI_SOURCE == in);
}

static void splits(void)
{
    MPI_Comm c, d;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &c);
    int members = (size - 1 - rank % 3) / 3 + 1;
    check_works(c, members - 1 - rank / 3, members);
    MPI_Comm_split(c, 0, 0, &d);
    check_works(d, members - 1 - rank / 3, members);
    int result;
    MPI_Comm_compare(c, d, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, 0, &c);
    if (rank) {
        check_works(c, rank - 1, size - 1);
        MPI_Comm_free(&c);
    }
    CHECK(c == MPI_COMM_NULL);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &c);
    check_works(c, size - 1 - rank, size);
    MPI_Comm_compare(c, MPI_COMM_WORLD, &result);
    CHECK_EQUAL(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&c);

    /* The launcher spreads the ranks over two hosts in blocks. */
    char name[MPI_MAX_PROCESSOR_NAME];
    int n;
    MPI_Get_processor_name(name, &n);
    int hosts = size < 2 ? 1 : 2, host = rank * hosts / size;
    CHECK(n == 5 && strncmp(name, "mock", 4) == 0 && name[4] == '0' + host);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c);
    int first = (host * size + hosts - 1) / hosts, end = ((host + 1) * size + hosts - 1) / hosts;
    check_works(c, rank - first, end - first);
    MPI_Comm_free(&c);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &c);
    CHECK(c == MPI_COMM_NULL);
}

static void check_group(MPI_Group g, int n, const int *world_ranks)
{
    MPI_Group world;
    int got;
    MPI_Group_size(g, &got);
    CHECK_EQUAL(got, n);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int my_place = MPI_UNDEFINED;
    for (int i = 0; i < n; i++) {
        MPI_Group_translate_ranks(g, 1, &i, world, &got);
        CHECK_EQUAL(got, world_ranks[i]);
        if (got == rank)
            my_place = i;
    }
    MPI_Group_rank(g, &got);
    CHECK_EQUAL(got, my_place);
    MPI_Group_free(&world);
    CHECK(world == MPI_GROUP_NULL);
}

static void groups(void)
{
    if (size < 7)
        return;
    MPI_Group world, a, b, c;
    int result, null = MPI_PROC_NULL, two = 2;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, (int[]){4, 0, 2}, &a);
    check_group(a, 3, (int[]){4, 0, 2});
    MPI_Group_excl(world, 4, (int[]){0, 1, 5, 6}, &b);
    check_group(b, 3, (int[]){2, 3, 4});
    MPI_Group_union(a, b, &c);
    check_group(c, 4, (int[]){4, 0, 2, 3});
    MPI_Group_free(&c);
    MPI_Group_intersection(a, b, &c);
    check_group(c, 2, (int[]){4, 2});
    MPI_Group_free(&c);
    MPI_Group_difference(a, b, &c);
    check_group(c, 1, (int[]){0});
    MPI_Group_translate_ranks(b, 1, &two, c, &result);
    CHECK_EQUAL(result, MPI_UNDEFINED);
    MPI_Group_translate_ranks(b, 1, &null, c, &result);
    CHECK_EQUAL(result, MPI_PROC_NULL);
    MPI_Group_free(&c);
    MPI_Group_difference(a, a, &c);
    CHECK(c == MPI_GROUP_EMPTY);
    MPI_Group_range_incl(world, 2, (int[][3]){{5, 1, -2}, {6, 6, 1}}, &c);
    check_group(c, 4, (int[]){5, 3, 1, 6});
    MPI_Group_free(&c);
    MPI_Group_range_excl(world, 1, (int[][3]){{0, 5, 1}}, &c);
    check_group(c, 1, (int[]){6});
    MPI_Group_compare(a, a, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_compare(a, b, &result);
    CHECK_EQUAL(result, MPI_UNEQUAL);
    MPI_Group_free(&b);
    MPI_Group_incl(world, 3, (int[]){0, 2, 4}, &b);
    MPI_Group_compare(a, b, &result);
    CHECK_EQUAL(result, MPI_SIMILAR);

    MPI_Comm comm;
    MPI_Comm_create(MPI_COMM_WORLD, a, &comm);
    MPI_Group_rank(a, &result);
    if (result == MPI_UNDEFINED) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        check_works(comm, result, 3);
        MPI_Comm_free(&comm);
        MPI_Comm_create_group(MPI_COMM_WORLD, a, 3, &comm);
        check_works(comm, result, 3);
        MPI_Comm_free(&comm);
    }
    /* Two groups at once in one call. */
    MPI_Group half;
    int first = rank < 3 ? 0 : 3, last = rank < 3 ? 2 : 6;
    MPI_Group_range_incl(world, 1, (int[][3]){{first, last, 1}}, &half);
    MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
    check_works(comm, rank - first, last - first + 1);
    MPI_Comm_free(&comm);
    MPI_Comm_create_group(MPI_COMM_WORLD, half, 3, &comm);
    check_works(comm, rank - first, last - first + 1);
    MPI_Comm_free(&comm);
    MPI_Group_free(&half);
    MPI_Group_free(&c);
    MPI_Group_free(&b);
    MPI_Group_free(&a);
    MPI_Group_free(&world);
}

static void dims(void)
{
    static const struct {
        int nodes, ndims, in[3], out[3];
    } all[] = {
        {12, 2, {0, 0}, {4, 3}},        {7, 2, {0, 0}, {7, 1}},     {6, 3, {0, 3, 0}, {2, 3, 1}},
        {24, 3, {0, 0, 0}, {4, 3, 2}},  {1, 1, {0}, {1}},           {64, 3, {0, 0, 0}, {4, 4, 4}},
        {36, 2, {0, 0}, {6, 6}},        {60, 2, {0, 0}, {10, 6}},   {8, 3, {2, 2, 2}, {2, 2, 2}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int d[3] = {all[i].in[0], all[i].in[1], all[i].in[2]};
        MPI_Dims_create(all[i].nodes, all[i].ndims, d);
        for (int k = 0; k < all[i].ndims; k++)
            CHECK_EQUAL(d[k], all[i].out[k]);
    }
}

static void cartesian(void)
{
    MPI_Comm grid, line, copy;
    int rows = size < 4 ? 1 : 2, columns = size / rows;
    int sizes[] = {rows, columns}, periods[] = {0, 1}, coords[2], result, source, dest;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &grid);
    if (rank >= rows * columns) {
        CHECK(grid == MPI_COMM_NULL);
        return;
    }
    check_works(grid, rank, rows * columns);
    MPI_Topo_test(MPI_COMM_WORLD, &result);
    CHECK_EQUAL(result, MPI_UNDEFINED);
    MPI_Comm_dup(grid, &copy);
    MPI_Topo_test(copy, &result);
    CHECK_EQUAL(result, MPI_CART);
    MPI_Cartdim_get(copy, &result);
    CHECK_EQUAL(result, 2);
    MPI_Cart_coords(copy, rank, 2, coords);
    int row = rank / columns, column = rank % columns;
    CHECK(coords[0] == row && coords[1] == column);
    int got_sizes[2], got_periods[2];
    MPI_Cart_get(copy, 2, got_sizes, got_periods, coords);
    CHECK(got_sizes[1] == columns && got_periods[1] && !got_periods[0] && coords[0] == row);
    coords[1] += 3 * columns;
    MPI_Cart_rank(copy, coords, &result);
    CHECK_EQUAL(result, rank);
    MPI_Cart_shift(copy, 0, 1, &source, &dest);
    CHECK_EQUAL(source, row ? rank - columns : MPI_PROC_NULL);
    CHECK_EQUAL(dest, row < rows - 1 ? rank + columns : MPI_PROC_NULL);
    MPI_Cart_shift(copy, 1, 1, &source, &dest);
    CHECK_EQUAL(dest, row * columns + (column + 1) % columns);
    CHECK_EQUAL(source, row * columns + (column + columns - 1) % columns);
    int in = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, dest, 0, &in, 1, MPI_INT, source, 0, copy, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, source);

    MPI_Cart_sub(grid, (int[]){0, 1}, &line);
    check_works(line, column, columns);
    MPI_Cartdim_get(line, &result);
    CHECK_EQUAL(result, 1);
    MPI_Comm_free(&line);
    MPI_Cart_sub(grid, (int[]){1, 0}, &line);
    check_works(line, row, rows);
    MPI_Comm_free(&line);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    check_works(MPI_COMM_SELF, 0, 1);
    duplicates();
    freed_early();
    splits();
    groups();
    dims();
    cartesian();
    MPI_Finalize();
    return 0;
}
