/* Every constructor of datatypes; a message of each tells that its size is known. */
#include "expect.h"

#define SELF MPI_COMM_SELF
#define INT ((long long)sizeof(int))

static char from[4096], to[4096];

/* Sends two of a new type, of so many bytes each, to oneself. */
static void use(MPI_Datatype *type, long long bytes)
{
    int size;
    DO(Type_commit, type);
    MPI_Type_size(*type, &size);
    CHECK(size == bytes);
    CALL(Sendrecv, on(SELF), 2 * bytes, 2 * bytes, from, 2, *type, 0, 0, to, 2, *type, 0, 0, SELF, MPI_STATUS_IGNORE);
    messages("MPI_Sendrecv", 1);
    sent(SELF, 0, 2 * bytes);
    received(SELF, 0, 2 * bytes);
    DO(Type_free, type);
}

#define CONSTRUCTORS(c, count_t, aint_t)                                                                                 \
    do {                                                                                                                 \
        MPI_Datatype type, types[2] = {MPI_INT, MPI_DOUBLE};                                                             \
        count_t lengths[2] = {1, 2}, sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};                           \
        aint_t bytes[2] = {0, 16};                                                                                       \
        DO(Type_contiguous##c, 3, MPI_INT, &type);                                                                       \
        use(&type, 3 * INT);                                                                                             \
        DO(Type_vector##c, 2, 2, 3, MPI_INT, &type);                                                                     \
        use(&type, 4 * INT);                                                                                             \
        DO(Type_create_hvector##c, 2, 2, 16, MPI_INT, &type);                                                            \
        use(&type, 4 * INT);                                                                                             \
        DO(Type_indexed##c, 2, lengths, sizes, MPI_INT, &type);                                                          \
        use(&type, 3 * INT);                                                                                             \
        DO(Type_create_hindexed##c, 2, lengths, bytes, MPI_INT, &type);                                                  \
        use(&type, 3 * INT);                                                                                             \
        DO(Type_create_indexed_block##c, 2, 2, parts, MPI_INT, &type);                                                   \
        use(&type, 4 * INT);                                                                                             \
        DO(Type_create_struct##c, 2, lengths, bytes, types, &type);                                                      \
        use(&type, INT + 2 * (long long)sizeof(double));                                                                 \
        DO(Type_create_resized##c, MPI_INT, 0, 64, &type);                                                               \
        use(&type, INT);                                                                                                 \
        DO(Type_create_subarray##c, 2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);                               \
        use(&type, 6 * INT);                                                                                             \
        MPI3(DO(Type_create_hindexed_block##c, 2, 2, bytes, MPI_INT, &type); use(&type, 4 * INT);                        \
             int cyclic[1] = {MPI_DISTRIBUTE_CYCLIC}, preset[1] = {MPI_DISTRIBUTE_DFLT_DARG}, all[1] = {2};              \
             count_t global[1] = {8};                                                                                    \
             DO(Type_create_darray##c, 2, 0, 1, global, cyclic, preset, all, MPI_ORDER_C, MPI_INT, &type);               \
             use(&type, 4 * INT);)                                                                                       \
    } while (0)

void datatypes(void)
{
    MPI_Datatype type;
    int place = 0;
    CONSTRUCTORS(, int, MPI_Aint);
    COUNTS(CONSTRUCTORS(_c, MPI_Count, MPI_Count);)
    DO(Type_dup, MPI_DOUBLE, &type);
    use(&type, sizeof(double));
    DO(Pack, from, 3, MPI_INT, to, sizeof to, &place, SELF);
    CHECK(place == 3 * INT);
    place = 0;
    DO(Unpack, to, sizeof to, &place, from, 3, MPI_INT, SELF);
#ifndef MOCK_MPI_H
    MPI_Aint far = 0;
    DO(Pack_external, "external32", from, 3, MPI_INT, to, sizeof to, &far);
    far = 0;
    DO(Unpack_external, "external32", to, sizeof to, &far, from, 3, MPI_INT);
    /* These are predefined: they need no commit and cannot be freed. */
    DO(Type_create_f90_integer, 5, &type);
    DO(Type_create_f90_real, 6, 30, &type);
    DO(Type_create_f90_complex, 6, 30, &type);
#endif
    COUNTS(MPI_Count at = 0;
         DO(Pack_c, from, 3, MPI_INT, to, sizeof to, &at, SELF);
         at = 0;
         DO(Unpack_c, to, sizeof to, &at, from, 3, MPI_INT, SELF);
         at = 0;
         DO(Pack_external_c, "external32", from, 3, MPI_INT, to, sizeof to, &at);
         at = 0;
         DO(Unpack_external_c, "external32", to, sizeof to, &at, from, 3, MPI_INT);)
#ifdef MPICH_VERSION /* the names of MPI-1 */
    {
        int lengths[2] = {1, 2};
        MPI_Aint places[2] = {0, 16};
        MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
        DO(Type_hvector, 2, 2, 16, MPI_INT, &type);
        use(&type, 4 * INT);
        DO(Type_hindexed, 2, lengths, places, MPI_INT, &type);
        use(&type, 3 * INT);
        DO(Type_struct, 2, lengths, places, types, &type);
        use(&type, INT + 2 * (long long)sizeof(double));
    }
#endif
}
