/* Datatypes: what they measure, and that data really moves by them. */
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "check.h"

static void check_type(MPI_Datatype t, int want_size, MPI_Aint want_lb, MPI_Aint want_extent,
                       MPI_Aint want_true_lb, MPI_Aint want_true_extent)
{
    int n;
    MPI_Count big;
    MPI_Aint lb, extent;
    MPI_Type_size(t, &n);
    CHECK_EQUAL(n, want_size);
    MPI_Type_size_c(t, &big);
    CHECK_EQUAL(big, want_size);
    MPI_Type_get_extent(t, &lb, &extent);
    CHECK_EQUAL(lb, want_lb);
    CHECK_EQUAL(extent, want_extent);
    MPI_Type_get_true_extent(t, &lb, &extent);
    CHECK_EQUAL(lb, want_true_lb);
    CHECK_EQUAL(extent, want_true_extent);
}

static void predefined(void)
{
    static const struct {
        MPI_Datatype type;
        int size, extent;
    } all[] = {
        {MPI_CHAR, 1, 1},
        {MPI_SIGNED_CHAR, 1, 1},
        {MPI_UNSIGNED_CHAR, 1, 1},
        {MPI_BYTE, 1, 1},
        {MPI_PACKED, 1, 1},
        {MPI_WCHAR, sizeof(wchar_t), sizeof(wchar_t)},
        {MPI_SHORT, sizeof(short), sizeof(short)},
        {MPI_INT, sizeof(int), sizeof(int)},
        {MPI_LONG, sizeof(long), sizeof(long)},
        {MPI_LONG_LONG_INT, sizeof(long long), sizeof(long long)},
        {MPI_UNSIGNED, sizeof(unsigned), sizeof(unsigned)},
        {MPI_FLOAT, sizeof(float), sizeof(float)},
        {MPI_DOUBLE, sizeof(double), sizeof(double)},
        {MPI_LONG_DOUBLE, sizeof(long double), sizeof(long double)},
        {MPI_C_BOOL, sizeof(bool), sizeof(bool)},
        {MPI_C_FLOAT_COMPLEX, sizeof(float complex), sizeof(float complex)},
        {MPI_C_DOUBLE_COMPLEX, sizeof(double complex), sizeof(double complex)},
        {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex), sizeof(long double complex)},
        {MPI_AINT, sizeof(MPI_Aint), sizeof(MPI_Aint)},
        {MPI_OFFSET, sizeof(MPI_Offset), sizeof(MPI_Offset)},
        {MPI_COUNT, sizeof(MPI_Count), sizeof(MPI_Count)},
        {MPI_CHARACTER, 1, 1},
        {MPI_INTEGER, 4, 4},
        {MPI_REAL, 4, 4},
        {MPI_DOUBLE_PRECISION, 8, 8},
        {MPI_COMPLEX, 8, 8},
        {MPI_LOGICAL, 4, 4},
        {MPI_INTEGER8, 8, 8},
        {MPI_REAL16, 16, 16},
        {MPI_2INT, 8, 8},
        {MPI_SHORT_INT, 6, 8},
        {MPI_LONG_INT, 12, 16},
        {MPI_FLOAT_INT, 8, 8},
        {MPI_DOUBLE_INT, 12, 16},
        {MPI_LONG_DOUBLE_INT, 20, 32},
        {MPI_2DOUBLE_PRECISION, 16, 16},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int n;
        MPI_Aint lb, extent;
        MPI_Type_size(all[i].type, &n);
        CHECK_EQUAL(n, all[i].size);
        MPI_Type_get_extent(all[i].type, &lb, &extent);
        CHECK(lb == 0 && extent == all[i].extent);
    }
}

/* Sends one t out of the numbers 0, 1, ... to the neighbour as ints, and from
 * there back into a t, and checks that exactly the listed places were touched. */
static void check_moves(MPI_Datatype t, int count, const int *places)
{
    enum { SPACE = 60 };
    int out[SPACE], flat[SPACE], in[SPACE], n;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Status s;
    for (int i = 0; i < SPACE; i++) {
        out[i] = i;
        in[i] = flat[i] = -1;
    }
    MPI_Type_commit(&t);
    MPI_Sendrecv(out, 1, t, right, 0, flat, SPACE, MPI_INT, left, 0, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_INT, &n);
    CHECK_EQUAL(n, count);
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(flat[i], places[i]);
    MPI_Sendrecv(flat, count, MPI_INT, left, 0, in, 1, t, right, 0, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, t, &n);
    CHECK_EQUAL(n, count ? 1 : 0);
    for (int i = 0; i < SPACE; i++) {
        bool touched = false;
        for (int k = 0; k < count; k++)
            touched = touched || places[k] == i;
        CHECK_EQUAL(in[i], touched ? i : -1);
    }
    MPI_Type_free(&t);
    CHECK(t == MPI_DATATYPE_NULL);
}

static void constructors(void)
{
    MPI_Datatype t, u;
    MPI_Type_contiguous(3, MPI_INT, &t);
    check_type(t, 12, 0, 12, 0, 12);
    check_moves(t, 3, (int[]){0, 1, 2});

    MPI_Type_vector(3, 2, 5, MPI_INT, &t);
    check_type(t, 24, 0, 48, 0, 48);
    check_moves(t, 6, (int[]){0, 1, 5, 6, 10, 11});

    MPI_Type_create_hvector(2, 1, 12, MPI_INT, &t);
    check_type(t, 8, 0, 16, 0, 16);
    check_moves(t, 2, (int[]){0, 3});

    MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){7, 9, 1}, MPI_INT, &t);
    check_type(t, 12, 4, 32, 4, 32);
    check_moves(t, 3, (int[]){7, 8, 1});

    MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){8, 20}, MPI_INT, &t);
    check_type(t, 12, 8, 20, 8, 20);
    check_moves(t, 3, (int[]){2, 5, 6});

    MPI_Type_create_indexed_block(2, 2, (int[]){4, 0}, MPI_INT, &t);
    check_type(t, 16, 0, 24, 0, 24);
    check_moves(t, 4, (int[]){4, 5, 0, 1});

    MPI_Type_vector(2, 1, 2, MPI_INT, &u);
    MPI_Type_create_resized(u, 0, 20, &t);
    check_type(t, 8, 0, 20, 0, 12);
    MPI_Type_free(&u);
    MPI_Type_contiguous(3, t, &u);
    MPI_Type_free(&t);
    check_type(u, 24, 0, 60, 0, 52);
    check_moves(u, 6, (int[]){0, 2, 5, 7, 10, 12});

    int sizes[] = {3, 4}, subsizes[] = {2, 2}, starts[] = {1, 1};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &t);
    check_type(t, 16, 0, 48, 20, 24);
    check_moves(t, 4, (int[]){5, 6, 9, 10});
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
    check_type(t, 16, 0, 48, 16, 20);
    check_moves(t, 4, (int[]){4, 5, 7, 8});

    MPI_Type_contiguous(0, MPI_INT, &t);
    check_type(t, 0, 0, 0, 0, 0);
    check_moves(t, 0, NULL);
    MPI_Type_dup(MPI_INT, &t);
    check_type(t, 4, 0, 4, 0, 4);
    check_moves(t, 1, (int[]){0});
}

struct record {
    char name[3];
    double x;
    int n;
};

static void structures(void)
{
    MPI_Datatype t, u;
    struct record out[2] = {{"ab", 1.5, 7}, {"cd", 2.5, 8}}, in[2];
    MPI_Aint base, places[3];
    MPI_Get_address(&out[0], &base);
    MPI_Get_address(&out[0].name, &places[0]);
    MPI_Get_address(&out[0].x, &places[1]);
    MPI_Get_address(&out[0].n, &places[2]);
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    int lengths[] = {3, 1, 1};

    /* Absolute addresses, from MPI_BOTTOM. */
    MPI_Type_create_struct(3, lengths, places, types, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < 3; i++)
        places[i] = MPI_Aint_diff(places[i], base);
    CHECK_EQUAL(MPI_Aint_add(base, places[1]), (MPI_Aint)&out[0].x);
    MPI_Type_create_struct(3, lengths, places, types, &u);
    MPI_Type_commit(&u);
    check_type(u, 15, 0, sizeof(struct record), 0, 20);
    memset(in, 0, sizeof in);
    MPI_Sendrecv(MPI_BOTTOM, 1, t, rank, 0, &in[1], 1, u, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(strcmp(in[1].name, "ab") == 0 && in[1].x == 1.5 && in[1].n == 7);

    /* Two of them, over the net as one message. */
    MPI_Request r;
    MPI_Status s;
    int n;
    MPI_Irecv(in, 2, u, rank, 1, MPI_COMM_WORLD, &r);
    MPI_Send(out, 2, u, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&r, &s);
    MPI_Get_count(&s, u, &n);
    CHECK_EQUAL(n, 2);
    MPI_Get_elements(&s, u, &n);
    CHECK_EQUAL(n, 10);
    CHECK(strcmp(in[1].name, "cd") == 0 && in[1].x == 2.5 && in[1].n == 8);

    /* Part of one: three characters and a double. */
    char part[11] = "xy";
    double x = 9;
    memcpy(part + 3, &x, sizeof x);
    MPI_Send(part, 11, MPI_BYTE, rank, 2, MPI_COMM_WORLD);
    MPI_Recv(in, 2, u, rank, 2, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, u, &n);
    CHECK_EQUAL(n, MPI_UNDEFINED);
    MPI_Get_elements(&s, u, &n);
    CHECK_EQUAL(n, 4);
    CHECK(strcmp(in[0].name, "xy") == 0 && in[0].x == 9 && in[0].n == 7);

    /* A type may be freed while it is in use. */
    MPI_Irecv(in, 1, u, rank, 3, MPI_COMM_WORLD, &r);
    MPI_Type_free(&u);
    MPI_Send(MPI_BOTTOM, 1, t, rank, 3, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(strcmp(in[0].name, "ab") == 0 && in[0].n == 7);
    MPI_Type_free(&t);
}

static void packing(void)
{
    char buffer[100];
    int position = 0, n, x = 42, y[4] = {0, 1, 2, 3}, z[4] = {-1, -1, -1, -1};
    double d = 2.5;
    MPI_Datatype t;
    MPI_Type_vector(2, 1, 2, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_Pack_size(3, t, MPI_COMM_WORLD, &n);
    CHECK_EQUAL(n, 24);
    MPI_Pack(&x, 1, MPI_INT, buffer, 100, &position, MPI_COMM_WORLD);
    MPI_Pack(y, 1, t, buffer, 100, &position, MPI_COMM_WORLD);
    MPI_Pack(&d, 1, MPI_DOUBLE, buffer, 100, &position, MPI_COMM_WORLD);
    CHECK_EQUAL(position, 20);
    MPI_Bcast(buffer, position, MPI_PACKED, 0, MPI_COMM_WORLD);
    position = x = 0, d = 0;
    MPI_Unpack(buffer, 20, &position, &x, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buffer, 20, &position, z, 1, t, MPI_COMM_WORLD);
    MPI_Unpack(buffer, 20, &position, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(position == 20 && x == 42 && d == 2.5);
    CHECK(z[0] == 0 && z[1] == -1 && z[2] == 2 && z[3] == -1);
    MPI_Type_free(&t);
}

/* The transpose of a matrix by an alltoall of columns. */
static void columns(void)
{
    MPI_Datatype column, resized;
    int *a = malloc((size_t)(size * size) * sizeof *a), *b = calloc((size_t)size, sizeof *b);
    for (int i = 0; i < size * size; i++)
        a[i] = i;
    MPI_Type_vector(size, 1, size, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Scatter(a, 1, resized, b, size, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(b[i], i * size + rank);
    memset(a, 0, (size_t)(size * size) * sizeof *a);
    MPI_Allgather(b, size, MPI_INT, a, 1, resized, MPI_COMM_WORLD);
    for (int i = 0; i < size * size; i++)
        CHECK_EQUAL(a[i], i);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    free(a), free(b);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    predefined();
    constructors();
    structures();
    packing();
    columns();
    MPI_Finalize();
    return 0;
}
