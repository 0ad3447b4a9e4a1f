/* Reduction operations.
 *
 * Operands are always combined as MPI orders them, a[0] op (a[1] op (...)), so
 * the result does not depend on timing and an operation need not commute. */
#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static struct op predefined[0x40];

void ops_start(void)
{
    static const MPI_Op all[] = {MPI_SUM, MPI_MIN,  MPI_MAX,    MPI_PROD,   MPI_BAND,
                                 MPI_BOR, MPI_BXOR, MPI_LAND,   MPI_LOR,    MPI_LXOR,
                                 MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct op *op = &predefined[(uintptr_t)all[i]];
        op->refs = 1;
        op->handle = all[i];
        op->commutes = all[i] != MPI_REPLACE && all[i] != MPI_NO_OP;
        handle_predefine(KIND_OP, all[i], op);
    }
}

struct op *op_get(MPI_Op handle)
{
    return handle_object(KIND_OP, handle);
}

struct op *op_hold(struct op *op)
{
    op->refs++;
    return op;
}

void op_release(struct op *op)
{
    if (--op->refs == 0)
        free(op);
}

#define CASE(name, expression)        \
    case (uintptr_t)MPI_##name:       \
        for (; n > 0; n--, a++, b++)  \
            *b = (expression);        \
        return true;
#define SUMS CASE(SUM, *a + *b) CASE(PROD, *a * *b)
#define ORDERS CASE(MIN, *a < *b ? *a : *b) CASE(MAX, *a > *b ? *a : *b)
#define LOGIC CASE(LAND, *a && *b) CASE(LOR, *a || *b) CASE(LXOR, !*a != !*b)
#define BITS CASE(BAND, *a & *b) CASE(BOR, *a | *b) CASE(BXOR, *a ^ *b)

#define KERNEL(basic, type, cases)  \
    case basic: {                   \
        const type *a = in;         \
        type *b = inout;            \
        switch ((uintptr_t)op) {    \
            cases                   \
        }                           \
        return false;               \
    }

/* Combines n elements and says whether the operation is defined on them. */
static bool combine(MPI_Op op, enum basic basic, const void *in, void *inout, size_t n)
{
    switch (basic) {
        KERNEL(BASIC_I8, int8_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_U8, uint8_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_I16, int16_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_U16, uint16_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_I32, int32_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_U32, uint32_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_I64, int64_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_U64, uint64_t, SUMS ORDERS LOGIC BITS)
        KERNEL(BASIC_F32, float, SUMS ORDERS)
        KERNEL(BASIC_F64, double, SUMS ORDERS)
        KERNEL(BASIC_F80, long double, SUMS ORDERS)
        KERNEL(BASIC_C32, float complex, SUMS)
        KERNEL(BASIC_C64, double complex, SUMS)
        KERNEL(BASIC_C80, long double complex, SUMS)
        KERNEL(BASIC_BOOL, bool, LOGIC)
        KERNEL(BASIC_BYTE, uint8_t, BITS)
    default:
        return false;
    }
}

#define PAIR(value_basic, index_basic, value_type, index_type)                        \
    if (value == value_basic && index == index_basic) {                               \
        const struct {                                                                \
            value_type v;                                                             \
            index_type i;                                                             \
        } *a = in;                                                                    \
        struct {                                                                      \
            value_type v;                                                             \
            index_type i;                                                             \
        } *b = inout;                                                                 \
        for (; n > 0; n--, a++, b++) {                                                \
            bool wins = op == MPI_MINLOC ? a->v < b->v : a->v > b->v;                 \
            if (wins || (a->v == b->v && a->i < b->i))                                \
                b->v = a->v, b->i = a->i;                                             \
        }                                                                             \
        return true;                                                                  \
    }

static bool combine_pairs(MPI_Op op, const struct type *t, const void *in, void *inout, size_t n)
{
    enum basic value = t->runs[0].basic, index = t->runs[t->nruns - 1].basic;
    if (op != MPI_MINLOC && op != MPI_MAXLOC)
        return false;
    PAIR(BASIC_F32, BASIC_I32, float, int)
    PAIR(BASIC_F64, BASIC_I32, double, int)
    PAIR(BASIC_I64, BASIC_I32, long, int)
    PAIR(BASIC_I32, BASIC_I32, int, int)
    PAIR(BASIC_I16, BASIC_I32, short, int)
    PAIR(BASIC_F80, BASIC_I32, long double, int)
    PAIR(BASIC_F32, BASIC_F32, float, float)
    PAIR(BASIC_F64, BASIC_F64, double, double)
    return false;
}

/* Whether the elements are one kind of basic element without gaps, so that
 * predefined operations apply; MPI asks for no more than predefined types. */
static bool is_plain(const struct type *t)
{
    return t->nruns == 1 && t->runs[0].size == (size_t)t->extent;
}

static bool apply(const struct op *op, struct type *t, void *in, void *inout, MPI_Count count)
{
    if (op->function) {
        int n = (int)count;
        MPI_Datatype handle = t->handle;
        op->function(in, inout, &n, &handle);
        return true;
    }
    if (t->pair)
        return combine_pairs(op->handle, t, in, inout, (size_t)count);
    const struct run *r = &t->runs[0];
    return combine(op->handle, r->basic, in, inout, (size_t)count * r->size / basic_size[r->basic]);
}

/* For accumulating into n elements of a window. */
void op_apply(MPI_Op op, enum basic basic, const void *in, void *inout, size_t n)
{
    if (op == MPI_REPLACE)
        memcpy(inout, in, n * basic_size[basic]);
    else if (op != MPI_NO_OP)
        combine(op, basic, in, inout, n);
}

bool op_applies(MPI_Op op, enum basic basic)
{
    return op == MPI_REPLACE || op == MPI_NO_OP || combine(op, basic, NULL, NULL, 0);
}

bool op_fits(const struct op *op, const struct type *t)
{
    if (op->function)
        return true;
    if (t->pair)
        return combine_pairs(op->handle, t, NULL, NULL, 0);
    return is_plain(t) && combine(op->handle, t->runs[0].basic, NULL, NULL, 0);
}

/* Memory for count elements laid out as in the program, to be freed by its
 * start; element 0 is at the address of the block. */
static struct block scratch(MPI_Count count, struct type *t, void **start)
{
    ptrdiff_t lb, ub;
    true_bounds(t, &lb, &ub);
    *start = allocate((size_t)(count * t->extent + ub - lb));
    return block_of(displace(*start, -lb), count, t);
}

/* Combines packed contributions into the block; false if one has another size. */
bool fold(const struct op *op, struct block to, const struct chunk *chunks, size_t n)
{
    if (n == 0)
        return true;
    size_t size = packed_size(to);
    void *in_start, *out_start;
    struct block in = scratch(to.count, to.type, &in_start);
    struct block out = scratch(to.count, to.type, &out_start);
    bool fits = true;
    for (size_t i = n; i-- > 0;) {
        fits = fits && chunks[i].size == size;
        struct block operand = i == n - 1 ? out : in;
        unpack(operand, chunks[i].data, chunks[i].size);
        if (i < n - 1 && to.count > 0)
            apply(op, to.type, in.address, out.address, to.count);
    }
    void *packed = allocate(size);
    pack(packed, out);
    unpack(to, packed, size);
    free(packed);
    free(in_start);
    free(out_start);
    return fits;
}

API(Op_create, MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    ENTER();
    struct op *new = allocate(sizeof *new);
    new->refs = 1;
    new->function = user_fn;
    new->commutes = commute != 0;
    *op = new->handle = handle_new(KIND_OP, new);
    return MPI_SUCCESS;
}

API(Op_commutative, MPI_Op op, int *commute)
{
    ENTER();
    struct op *o = op_get(op);
    REQUIRE(o, NULL, MPI_ERR_OP);
    *commute = o->commutes;
    return MPI_SUCCESS;
}

API(Op_free, MPI_Op *op)
{
    ENTER();
    struct op *o = op_get(*op);
    REQUIRE(o && o->function, NULL, MPI_ERR_OP);
    handle_free(KIND_OP, *op);
    op_release(o);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

API(Reduce_local, const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)
{
    ENTER();
    struct type *t = type_get(datatype);
    struct op *o = op_get(op);
    REQUIRE(t && t->committed, NULL, MPI_ERR_TYPE);
    REQUIRE(o && op_fits(o, t), NULL, MPI_ERR_OP);
    REQUIRE(count >= 0, NULL, MPI_ERR_COUNT);
    if (count > 0)
        apply(o, t, (void *)(uintptr_t)inbuf, inoutbuf, count);
    return MPI_SUCCESS;
}
