/* Predefined operations on the predefined types, pairs, and operations of the
 * program's own. */
#include <complex.h>
#include <limits.h>
#include <stdint.h>

#include "check.h"

/* Every rank contributes rank + 1, so sums and products are those of 1..size. */
static long long sum, product, bits_and, bits_or, bits_xor;

#define REDUCE(type, mpi_type, op, want)                                 \
    do {                                                                 \
        type in_[3] = {(type)(rank + 1), 1, 0}, out_[3] = {0};           \
        MPI_Allreduce(in_, out_, 3, mpi_type, op, MPI_COMM_WORLD);       \
        CHECK(out_[0] == (type)(want));                                  \
    } while (0)

#define NUMBERS(type, mpi_type)                    \
    do {                                           \
        REDUCE(type, mpi_type, MPI_SUM, sum);      \
        REDUCE(type, mpi_type, MPI_PROD, product); \
        REDUCE(type, mpi_type, MPI_MIN, 1);        \
        REDUCE(type, mpi_type, MPI_MAX, size);     \
    } while (0)

#define INTEGERS(type, mpi_type)                     \
    do {                                             \
        NUMBERS(type, mpi_type);                     \
        REDUCE(type, mpi_type, MPI_BAND, bits_and);  \
        REDUCE(type, mpi_type, MPI_BOR, bits_or);    \
        REDUCE(type, mpi_type, MPI_BXOR, bits_xor);  \
        REDUCE(type, mpi_type, MPI_LAND, 1);         \
        REDUCE(type, mpi_type, MPI_LOR, 1);          \
        REDUCE(type, mpi_type, MPI_LXOR, size % 2);  \
    } while (0)

static void predefined(void)
{
    sum = size * (size + 1) / 2, product = 1, bits_and = -1;
    for (int i = 1; i <= size; i++) {
        product *= i;
        bits_and &= i;
        bits_or |= i;
        bits_xor ^= i;
    }
    INTEGERS(signed char, MPI_SIGNED_CHAR);
    INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGERS(short, MPI_SHORT);
    INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGERS(int, MPI_INT);
    INTEGERS(unsigned, MPI_UNSIGNED);
    INTEGERS(long, MPI_LONG);
    INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
    INTEGERS(long long, MPI_LONG_LONG);
    INTEGERS(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    INTEGERS(int8_t, MPI_INT8_T);
    INTEGERS(uint8_t, MPI_UINT8_T);
    INTEGERS(int16_t, MPI_INT16_T);
    INTEGERS(uint16_t, MPI_UINT16_T);
    INTEGERS(int32_t, MPI_INT32_T);
    INTEGERS(uint32_t, MPI_UINT32_T);
    INTEGERS(int64_t, MPI_INT64_T);
    INTEGERS(uint64_t, MPI_UINT64_T);
    INTEGERS(MPI_Aint, MPI_AINT);
    INTEGERS(MPI_Count, MPI_COUNT);
    INTEGERS(MPI_Offset, MPI_OFFSET);
    INTEGERS(int, MPI_INTEGER);
    INTEGERS(int, MPI_LOGICAL);
    NUMBERS(float, MPI_FLOAT);
    NUMBERS(double, MPI_DOUBLE);
    NUMBERS(long double, MPI_LONG_DOUBLE);
    NUMBERS(float, MPI_REAL);
    NUMBERS(double, MPI_DOUBLE_PRECISION);
    REDUCE(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, sum);
    REDUCE(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD, product);
    REDUCE(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, sum);
    REDUCE(double complex, MPI_DOUBLE_COMPLEX, MPI_SUM, sum);
    REDUCE(unsigned char, MPI_BYTE, MPI_BXOR, bits_xor);

    bool in = rank == 0, out;
    MPI_Allreduce(&in, &out, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    CHECK(out);
    MPI_Allreduce(&in, &out, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
    CHECK(out == (size == 1));
}

/* Values tie between the first and the last rank. */
#define PAIRS(type, index_type, mpi_type)                                       \
    do {                                                                        \
        struct {                                                                \
            type v;                                                             \
            index_type i;                                                       \
        } in_ = {(type)(rank % (size > 1 ? size - 1 : 1)), (index_type)rank}, out_; \
        MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_MINLOC, MPI_COMM_WORLD);    \
        CHECK(out_.v == 0 && out_.i == 0);                                      \
        MPI_Allreduce(&in_, &out_, 1, mpi_type, MPI_MAXLOC, MPI_COMM_WORLD);    \
        CHECK(out_.i == (size > 2 ? size - 2 : 0) && out_.v == out_.i);         \
    } while (0)

static void pairs(void)
{
    PAIRS(float, int, MPI_FLOAT_INT);
    PAIRS(double, int, MPI_DOUBLE_INT);
    PAIRS(long, int, MPI_LONG_INT);
    PAIRS(int, int, MPI_2INT);
    PAIRS(short, int, MPI_SHORT_INT);
    PAIRS(long double, int, MPI_LONG_DOUBLE_INT);
    PAIRS(float, float, MPI_2REAL);
    PAIRS(double, double, MPI_2DOUBLE_PRECISION);
    PAIRS(int, int, MPI_2INTEGER);
}

/* Composition of maps x -> a x + b is associative and does not commute. */
struct map {
    double a;
    int b;
};

static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    struct map *f = in, *g = inout;
    int size_of_type;
    MPI_Type_size(*type, &size_of_type);
    CHECK_EQUAL(size_of_type, 12);
    for (int i = 0; i < *len; i++, f++, g++) {
        g->b = (int)(f->a * g->b + f->b);
        g->a = f->a * g->a;
    }
}

static struct map composed(int first, int end)
{
    struct map m = {1, 0};
    for (int i = end - 1; i >= first; i--)
        m = (struct map){(i % 2 + 1) * m.a, (i % 2 + 1) * m.b + i};
    return m;
}

static void own(void)
{
    MPI_Datatype type;
    MPI_Op op;
    int commutes;
    struct map in[2], out[2] = {{0}};
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                           (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(compose, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(!commutes);
    in[0] = in[1] = (struct map){rank % 2 + 1, rank};
    MPI_Reduce(in, out, 2, type, op, size - 1, MPI_COMM_WORLD);
    struct map want = composed(0, size);
    CHECK(rank < size - 1 || (out[1].a == want.a && out[1].b == want.b));
    MPI_Scan(in, out, 2, type, op, MPI_COMM_WORLD);
    want = composed(0, rank + 1);
    CHECK(out[0].a == want.a && out[0].b == want.b);

    /* The operation lives until its last use is complete. */
    MPI_Request r;
    MPI_Iallreduce(MPI_IN_PLACE, in, 2, type, op, MPI_COMM_WORLD, &r);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    CHECK(op == MPI_OP_NULL && type == MPI_DATATYPE_NULL);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    want = composed(0, size);
    CHECK(in[1].a == want.a && in[1].b == want.b);
}

static void local(void)
{
    int a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
    MPI_Reduce_local(a, b, 3, MPI_INT, MPI_SUM);
    CHECK(b[0] == 11 && b[2] == 33);
    MPI_Op_commutative(MPI_SUM, b);
    CHECK_EQUAL(b[0], 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    double x = 1, y = 2;
    CHECK_EQUAL(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP);
    CHECK_EQUAL(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_MINLOC), MPI_ERR_OP);
    CHECK_EQUAL(MPI_Reduce_local(&x, &y, 1, MPI_DOUBLE, MPI_OP_NULL), MPI_ERR_OP);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    predefined();
    pairs();
    own();
    local();
    MPI_Finalize();
    return 0;
}
