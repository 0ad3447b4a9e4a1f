/* Datatypes, and packing with them.
 *
 * A datatype is kept flat: the runs of its basic elements, in the order in which
 * MPI packs them, with neighbours of one kind merged. It never changes after it
 * was made except that it is committed, so it is shared by counting references;
 * the data of a message is always packed. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "internal.h"

const size_t basic_size[BASICS] = {
    [BASIC_BYTE] = 1,     [BASIC_I8] = 1,       [BASIC_U8] = 1,       [BASIC_I16] = 2,
    [BASIC_U16] = 2,      [BASIC_I32] = 4,      [BASIC_U32] = 4,      [BASIC_I64] = 8,
    [BASIC_U64] = 8,      [BASIC_F32] = 4,      [BASIC_F64] = 8,      [BASIC_F80] = 16,
    [BASIC_C32] = 8,      [BASIC_C64] = 16,     [BASIC_C80] = 32,     [BASIC_BOOL] = 1,
    [BASIC_OPAQUE2] = 2,  [BASIC_OPAQUE4] = 4,  [BASIC_OPAQUE16] = 16,
    [BASIC_OPAQUE32] = 32,
};

static size_t basic_align(enum basic b)
{
    switch (b) {
    case BASIC_C32:
        return 4;
    case BASIC_C64:
        return 8;
    case BASIC_C80:
    case BASIC_OPAQUE32:
        return 16;
    case BASIC_OPAQUE4:
        return 2;
    default:
        return basic_size[b];
    }
}

/* An element of a datatype that is being made: count old types in a row. */
struct part {
    ptrdiff_t displacement;
    MPI_Count count;
    const struct type *type;
};

struct type *type_get(MPI_Datatype handle)
{
    return handle_object(KIND_TYPE, handle);
}

struct type *type_hold(struct type *t)
{
    t->refs++;
    return t;
}

/* The handle stays good for as long as operations use the type, because they
 * pass it to the program's reduction functions. */
void type_release(struct type *t)
{
    if (--t->refs > 0)
        return;
    if (t->handle)
        handle_free(KIND_TYPE, t->handle);
    free(t->runs);
    free(t);
}

static void append(struct type *t, size_t *room, struct run r)
{
    struct run *last = t->nruns ? &t->runs[t->nruns - 1] : NULL;
    if (last && last->basic == r.basic && last->offset + (ptrdiff_t)last->size == r.offset) {
        last->size += r.size;
        return;
    }
    if (t->nruns == *room) {
        *room = 2 * *room + 1;
        t->runs = reallocate(t->runs, *room * sizeof *t->runs);
    }
    t->runs[t->nruns++] = r;
}

static struct type *build(const struct part *parts, size_t n)
{
    struct type *t = allocate(sizeof *t);
    t->refs = 1;
    t->align = 1;
    size_t room = 0;
    ptrdiff_t lb = PTRDIFF_MAX, ub = PTRDIFF_MIN;
    for (size_t i = 0; i < n; i++) {
        const struct type *old = parts[i].type;
        if (parts[i].count == 0)
            continue;
        for (MPI_Count k = 0; k < parts[i].count; k++)
            for (size_t j = 0; j < old->nruns; j++) {
                struct run r = old->runs[j];
                r.offset += parts[i].displacement + k * old->extent;
                append(t, &room, r);
            }
        ptrdiff_t first = parts[i].displacement + old->lb;
        ptrdiff_t last = first + (parts[i].count - 1) * old->extent;
        ptrdiff_t low = first < last ? first : last, high = first < last ? last : first;
        lb = low < lb ? low : lb;
        ub = high + old->extent > ub ? high + old->extent : ub;
        t->size += (size_t)parts[i].count * old->size;
        t->align = old->align > t->align ? old->align : t->align;
        t->bounded = t->bounded || old->bounded;
    }
    if (lb <= ub) {
        t->lb = lb;
        t->extent = ub - lb;
    }
    ptrdiff_t align = (ptrdiff_t)t->align;
    if (!t->bounded)
        t->extent = (t->extent + align - 1) / align * align;
    return t;
}

static struct {
    MPI_Datatype handle;
    enum basic basic;
} const basics[] = {
    {MPI_AINT, BASIC_I64},
    {MPI_COUNT, BASIC_I64},
    {MPI_OFFSET, BASIC_I64},
    {MPI_PACKED, BASIC_BYTE},
    {MPI_SHORT, BASIC_I16},
    {MPI_INT, BASIC_I32},
    {MPI_LONG, BASIC_I64},
    {MPI_LONG_LONG, BASIC_I64},
    {MPI_UNSIGNED_SHORT, BASIC_U16},
    {MPI_UNSIGNED, BASIC_U32},
    {MPI_UNSIGNED_LONG, BASIC_U64},
    {MPI_UNSIGNED_LONG_LONG, BASIC_U64},
    {MPI_FLOAT, BASIC_F32},
    {MPI_C_FLOAT_COMPLEX, BASIC_C32},
    {MPI_CXX_FLOAT_COMPLEX, BASIC_C32},
    {MPI_DOUBLE, BASIC_F64},
    {MPI_C_DOUBLE_COMPLEX, BASIC_C64},
    {MPI_CXX_DOUBLE_COMPLEX, BASIC_C64},
    {MPI_LOGICAL, BASIC_I32},
    {MPI_INTEGER, BASIC_I32},
    {MPI_REAL, BASIC_F32},
    {MPI_COMPLEX, BASIC_C32},
    {MPI_DOUBLE_PRECISION, BASIC_F64},
    {MPI_DOUBLE_COMPLEX, BASIC_C64},
    {MPI_CHARACTER, BASIC_BYTE},
    {MPI_LONG_DOUBLE, BASIC_F80},
    {MPI_C_LONG_DOUBLE_COMPLEX, BASIC_C80},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, BASIC_C80},
    {MPI_C_BOOL, BASIC_BOOL},
    {MPI_CXX_BOOL, BASIC_BOOL},
    {MPI_WCHAR, sizeof(wchar_t) == 4 ? BASIC_I32 : BASIC_U16},
    {MPI_INT8_T, BASIC_I8},
    {MPI_UINT8_T, BASIC_U8},
    {MPI_CHAR, BASIC_I8},
    {MPI_SIGNED_CHAR, BASIC_I8},
    {MPI_UNSIGNED_CHAR, BASIC_U8},
    {MPI_BYTE, BASIC_BYTE},
    {MPI_INT16_T, BASIC_I16},
    {MPI_UINT16_T, BASIC_U16},
    {MPI_INT32_T, BASIC_I32},
    {MPI_UINT32_T, BASIC_U32},
    {MPI_INT64_T, BASIC_I64},
    {MPI_UINT64_T, BASIC_U64},
    {MPI_LOGICAL1, BASIC_I8},
    {MPI_INTEGER1, BASIC_I8},
    {MPI_LOGICAL2, BASIC_I16},
    {MPI_INTEGER2, BASIC_I16},
    {MPI_REAL2, BASIC_OPAQUE2},
    {MPI_LOGICAL4, BASIC_I32},
    {MPI_INTEGER4, BASIC_I32},
    {MPI_REAL4, BASIC_F32},
    {MPI_COMPLEX4, BASIC_OPAQUE4},
    {MPI_LOGICAL8, BASIC_I64},
    {MPI_INTEGER8, BASIC_I64},
    {MPI_REAL8, BASIC_F64},
    {MPI_COMPLEX8, BASIC_C32},
    {MPI_LOGICAL16, BASIC_OPAQUE16},
    {MPI_INTEGER16, BASIC_OPAQUE16},
    {MPI_REAL16, BASIC_OPAQUE16},
    {MPI_COMPLEX16, BASIC_C64},
    {MPI_COMPLEX32, BASIC_OPAQUE32},
};

/* Pairs of a value and its place, laid out as C structures. */
static struct {
    MPI_Datatype handle;
    MPI_Datatype value, index;
} const pairs[] = {
    {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
    {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
    {MPI_LONG_INT, MPI_LONG, MPI_INT},
    {MPI_2INT, MPI_INT, MPI_INT},
    {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
    {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
    {MPI_2REAL, MPI_REAL, MPI_REAL},
    {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
    {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
};

static void predefine(MPI_Datatype handle, struct type *t)
{
    t->handle = handle;
    t->committed = t->predefined = true;
    handle_predefine(KIND_TYPE, handle, t);
}

void types_start(void)
{
    for (size_t i = 0; i < sizeof basics / sizeof *basics; i++) {
        enum basic b = basics[i].basic;
        struct run run = {0, basic_size[b], b};
        struct type atom = {.size = run.size, .nruns = 1, .runs = &run, .align = basic_align(b)};
        atom.extent = (ptrdiff_t)run.size;
        predefine(basics[i].handle, build(&(struct part){0, 1, &atom}, 1));
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct type *value = type_get(pairs[i].value), *index = type_get(pairs[i].index);
        ptrdiff_t align = (ptrdiff_t)index->align;
        ptrdiff_t second = (value->extent + align - 1) / align * align;
        struct part parts[] = {{0, 1, value}, {second, 1, index}};
        struct type *t = build(parts, 2);
        t->pair = true;
        predefine(pairs[i].handle, t);
    }
}

static int publish(struct type *t, MPI_Datatype *newtype)
{
    *newtype = t->handle = handle_new(KIND_TYPE, t);
    return MPI_SUCCESS;
}

#define TYPE(name, handle_)                   \
    struct type *name = type_get(handle_);    \
    REQUIRE(name, NULL, MPI_ERR_TYPE)

static struct part *parts_new(int count)
{
    return allocate((size_t)count * sizeof(struct part));
}

static int publish_parts(struct part *parts, int count, MPI_Datatype *newtype)
{
    struct type *t = build(parts, (size_t)count);
    free(parts);
    return publish(t, newtype);
}

API(Type_contiguous, int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    REQUIRE(count >= 0, NULL, MPI_ERR_COUNT);
    return publish(build(&(struct part){0, count, old}, 1), newtype);
}

static int vector(int count, int blocklength, MPI_Aint stride, const struct type *old,
                  MPI_Datatype *newtype)
{
    REQUIRE(count >= 0, NULL, MPI_ERR_COUNT);
    REQUIRE(blocklength >= 0, NULL, MPI_ERR_ARG);
    struct part *parts = parts_new(count);
    for (int i = 0; i < count; i++)
        parts[i] = (struct part){i * stride, blocklength, old};
    return publish_parts(parts, count, newtype);
}

API(Type_vector, int count, int blocklength, int stride, MPI_Datatype oldtype,
    MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    return vector(count, blocklength, stride * old->extent, old, newtype);
}

API(Type_create_hvector, int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
    MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    return vector(count, blocklength, stride, old, newtype);
}

/* The indexed types differ in where lengths and displacements come from: null
 * lengths stand for the one length, and either kind of displacements is null. */
static int indexed(int count, const int *lengths, int length, const int *elements,
                   const MPI_Aint *bytes, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    TYPE(old, oldtype);
    REQUIRE(count >= 0, NULL, MPI_ERR_COUNT);
    struct part *parts = parts_new(count);
    for (int i = 0; i < count; i++) {
        MPI_Aint at = elements ? elements[i] * old->extent : bytes[i];
        parts[i] = (struct part){at, lengths ? lengths[i] : length, old};
    }
    return publish_parts(parts, count, newtype);
}

API(Type_indexed, int count, const int blocklengths[], const int displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    return indexed(count, blocklengths, 0, displacements, NULL, oldtype, newtype);
}

API(Type_create_hindexed, int count, const int blocklengths[], const MPI_Aint displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    return indexed(count, blocklengths, 0, NULL, displacements, oldtype, newtype);
}

API(Type_create_indexed_block, int count, int blocklength, const int displacements[],
    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    return indexed(count, NULL, blocklength, displacements, NULL, oldtype, newtype);
}

API(Type_create_struct, int count, const int blocklengths[], const MPI_Aint displacements[],
    const MPI_Datatype types[], MPI_Datatype *newtype)
{
    ENTER();
    REQUIRE(count >= 0, NULL, MPI_ERR_COUNT);
    for (int i = 0; i < count; i++)
        REQUIRE(type_get(types[i]), NULL, MPI_ERR_TYPE);
    struct part *parts = parts_new(count);
    for (int i = 0; i < count; i++)
        parts[i] = (struct part){displacements[i], blocklengths[i], type_get(types[i])};
    return publish_parts(parts, count, newtype);
}

static struct type *resized(const struct type *old, ptrdiff_t lb, ptrdiff_t extent)
{
    struct type *t = build(&(struct part){0, 1, old}, 1);
    t->lb = lb;
    t->extent = extent;
    t->bounded = true;
    return t;
}

/* Builds up from the fastest dimension: a type that has the extent of the whole
 * array in the dimensions so far. */
API(Type_create_subarray, int ndims, const int sizes[], const int subsizes[], const int starts[],
    int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    REQUIRE(ndims > 0, NULL, MPI_ERR_ARG);
    REQUIRE(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN, NULL, MPI_ERR_ARG);
    for (int d = 0; d < ndims; d++) {
        bool inside = subsizes[d] >= 1 && starts[d] >= 0 && subsizes[d] <= sizes[d] - starts[d];
        REQUIRE(inside, NULL, MPI_ERR_ARG);
    }
    struct type *t = type_hold(old);
    for (int i = 0; i < ndims; i++) {
        int d = order == MPI_ORDER_C ? ndims - 1 - i : i;
        struct part line = {starts[d] * t->extent, subsizes[d], t};
        struct type *part = build(&line, 1);
        struct type *whole = resized(part, old->lb, sizes[d] * t->extent);
        type_release(part);
        type_release(t);
        t = whole;
    }
    return publish(t, newtype);
}

API(Type_create_resized, MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
    MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    return publish(resized(old, lb, extent), newtype);
}

API(Type_dup, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    ENTER();
    TYPE(old, oldtype);
    struct type *t = resized(old, old->lb, old->extent);
    t->bounded = old->bounded;
    t->committed = old->committed;
    t->pair = old->pair;
    return publish(t, newtype);
}

API(Type_commit, MPI_Datatype *datatype)
{
    ENTER();
    TYPE(t, *datatype);
    t->committed = true;
    return MPI_SUCCESS;
}

API(Type_free, MPI_Datatype *datatype)
{
    ENTER();
    TYPE(t, *datatype);
    REQUIRE(!t->predefined && !t->freed, NULL, MPI_ERR_TYPE);
    t->freed = true;
    type_release(t);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

static int small(MPI_Count n)
{
    return n > INT32_MAX ? MPI_UNDEFINED : (int)n;
}

API(Type_size, MPI_Datatype datatype, int *size)
{
    ENTER();
    TYPE(t, datatype);
    *size = small((MPI_Count)t->size);
    return MPI_SUCCESS;
}

API(Type_size_c, MPI_Datatype datatype, MPI_Count *size)
{
    ENTER();
    TYPE(t, datatype);
    *size = (MPI_Count)t->size;
    return MPI_SUCCESS;
}

API(Type_get_extent, MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    ENTER();
    TYPE(t, datatype);
    *lb = t->lb;
    *extent = t->extent;
    return MPI_SUCCESS;
}

void true_bounds(const struct type *t, ptrdiff_t *lb, ptrdiff_t *ub)
{
    *lb = *ub = t->nruns ? t->runs[0].offset : 0;
    for (size_t i = 0; i < t->nruns; i++) {
        ptrdiff_t end = t->runs[i].offset + (ptrdiff_t)t->runs[i].size;
        *lb = t->runs[i].offset < *lb ? t->runs[i].offset : *lb;
        *ub = end > *ub ? end : *ub;
    }
}

API(Type_get_true_extent, MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
    ENTER();
    TYPE(t, datatype);
    ptrdiff_t ub;
    true_bounds(t, true_lb, &ub);
    *true_extent = ub - *true_lb;
    return MPI_SUCCESS;
}

/* An address, by way of integers because MPI_BOTTOM is null. */
void *displace(const void *base, ptrdiff_t offset)
{
    return (void *)((uintptr_t)base + (uintptr_t)offset);
}

struct block block_of(const void *address, MPI_Count count, struct type *type)
{
    return (struct block){(void *)(uintptr_t)address, count, type};
}

size_t packed_size(struct block b)
{
    return (size_t)b.count * b.type->size;
}

static bool is_dense(const struct type *t)
{
    return t->nruns == 1 && t->runs[0].size == (size_t)t->extent;
}

/* Calls move for every run of the block until it has seen size packed bytes. */
static void each_run(struct block b, size_t size, void *packed,
                     void (*move)(void *run, void *packed, size_t size))
{
    const struct type *t = b.type;
    if (is_dense(t)) {
        if (size)
            move(displace(b.address, t->runs[0].offset), packed, size);
        return;
    }
    unsigned char *at = packed;
    for (MPI_Count i = 0; i < b.count && size; i++)
        for (size_t j = 0; j < t->nruns && size; j++) {
            size_t n = t->runs[j].size < size ? t->runs[j].size : size;
            move(displace(b.address, i * t->extent + t->runs[j].offset), at, n);
            at += n;
            size -= n;
        }
}

static void move_out(void *run, void *packed, size_t size)
{
    memcpy(packed, run, size);
}

static void move_in(void *run, void *packed, size_t size)
{
    memcpy(run, packed, size);
}

void pack(void *to, struct block from)
{
    each_run(from, packed_size(from), to, move_out);
}

/* Returns whether all of the data found room. */
bool unpack(struct block to, const void *from, size_t size)
{
    size_t room = packed_size(to);
    each_run(to, size < room ? size : room, (void *)(uintptr_t)from, move_in);
    return size <= room;
}

void put_packed(struct frame *f, struct block from)
{
    size_t size = packed_size(from);
    put_u64(f, size);
    pack(put_space(f, size), from);
}

API(Pack, const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize,
    int *position, MPI_Comm comm)
{
    ENTER();
    COMM(c, comm);
    TYPE(t, datatype);
    REQUIRE(incount >= 0, c, MPI_ERR_COUNT);
    struct block b = block_of(inbuf, incount, t);
    REQUIRE((size_t)*position + packed_size(b) <= (size_t)outsize, c, MPI_ERR_TRUNCATE);
    pack(displace(outbuf, *position), b);
    *position += (int)packed_size(b);
    return MPI_SUCCESS;
}

API(Unpack, const void *inbuf, int insize, int *position, void *outbuf, int outcount,
    MPI_Datatype datatype, MPI_Comm comm)
{
    ENTER();
    COMM(c, comm);
    TYPE(t, datatype);
    REQUIRE(outcount >= 0, c, MPI_ERR_COUNT);
    struct block b = block_of(outbuf, outcount, t);
    REQUIRE((size_t)*position + packed_size(b) <= (size_t)insize, c, MPI_ERR_TRUNCATE);
    unpack(b, displace(inbuf, *position), packed_size(b));
    *position += (int)packed_size(b);
    return MPI_SUCCESS;
}

API(Pack_size, int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    ENTER();
    COMM(c, comm);
    TYPE(t, datatype);
    REQUIRE(incount >= 0, c, MPI_ERR_COUNT);
    *size = small((MPI_Count)packed_size(block_of(NULL, incount, t)));
    return MPI_SUCCESS;
}

static MPI_Count count_of(const MPI_Status *status, const struct type *t)
{
    uint64_t bytes = status_bytes(status);
    if (bytes == 0 || t->size == 0)
        return bytes ? MPI_UNDEFINED : 0;
    return bytes % t->size ? MPI_UNDEFINED : (MPI_Count)(bytes / t->size);
}

API(Get_count, const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    ENTER();
    TYPE(t, datatype);
    *count = small(count_of(status, t));
    return MPI_SUCCESS;
}

API(Get_count_c, const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    ENTER();
    TYPE(t, datatype);
    *count = count_of(status, t);
    return MPI_SUCCESS;
}

/* How many basic elements the first bytes of one t hold. */
static MPI_Count elements(const struct type *t, size_t bytes)
{
    MPI_Count n = 0;
    for (size_t i = 0; i < t->nruns && bytes; i++) {
        size_t here = t->runs[i].size < bytes ? t->runs[i].size : bytes;
        size_t element = basic_size[t->runs[i].basic];
        if (here % element)
            return MPI_UNDEFINED;
        n += (MPI_Count)(here / element);
        bytes -= here;
    }
    return n;
}

API(Get_elements, const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    ENTER();
    TYPE(t, datatype);
    size_t bytes = status_bytes(status);
    *count = 0;
    if (t->size) {
        MPI_Count rest = elements(t, bytes % t->size);
        MPI_Count whole = (MPI_Count)(bytes / t->size) * elements(t, t->size);
        *count = rest < 0 ? MPI_UNDEFINED : small(whole + rest);
    }
    return MPI_SUCCESS;
}

API(Get_address, const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

API_RETURNS(MPI_Aint, Aint_add, MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

API_RETURNS(MPI_Aint, Aint_diff, MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
