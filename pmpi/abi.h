/*
 * What must be known of an MPI library's binary interface to measure programs that were compiled
 * against it. There is no mpi.h here: handles are 64-bit words forwarded untouched, and the few facts
 * needed to look into them are a table, chosen when the library is seen. A test compiles a program
 * against each installed mpi.h and compares every fact.
 */
#ifndef MRL_ABI_H
#define MRL_ABI_H

#include "../cshim/ours.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * An argument of any MPI function: integers, pointers and handles all travel in one 64-bit register or
 * stack slot. The upper half of an int is garbage, so ask for what you want: (int)word.
 */
typedef uint64_t mrl_word;

/* How a status holds the number of bytes received and whether the operation was cancelled. */
enum mrl_count_at {
    MRL_COUNT_ASK,   /* not public: ask PMPI_Get_count, PMPI_Test_cancelled */
    MRL_COUNT_OMPI,  /* int cancelled at 12, size_t bytes at 16 */
    MRL_COUNT_MPICH, /* int low at 0, int (high << 1 | cancelled) at 4 */
};

struct mrl_abi {
    const char *name;
    uint64_t mask;        /* of the bits of a handle that mean something */
    uint8_t handle_bytes; /* in an array */
    uint8_t status_bytes, source_at, tag_at, error_at;
    enum mrl_count_at count_at;
    int any_source, any_tag, proc_null, root, undefined, err_truncate;
    intptr_t status_ignore, in_place;
    mrl_word comm_world, comm_self, comm_null, request_null, type_null, no_op, byte, errors_return;
    /* What operations complete at once share: one handle, or some of its bits. */
    mrl_word request_done, request_done_mask;
    int cart, graph, dist_graph; /* what MPI_Topo_test answers */
    int threads[4];              /* MPI_THREAD_SINGLE ... MULTIPLE */
};

extern MRL_HIDDEN struct mrl_abi mrl_abi;
extern const char *const mrl_abi_layers[]; /* ends with NULL; see mrl.layers */

/* Chooses by what is loaded. False, with the library's own description, if it is not a known one. */
bool mrl_abi_recognise(char *description, int size);

/* The canonical form of a handle: what compares equal is equal. */
static inline mrl_word mrl_handle(mrl_word word)
{
    return word & mrl_abi.mask;
}

/* The element of an array of handles, or the handle a pointer argument points to. */
static inline mrl_word mrl_handle_at(mrl_word array, int64_t i)
{
    if (mrl_abi.handle_bytes == 4)
        return ((const uint32_t *)array)[i];
    return ((const uint64_t *)array)[i];
}

/* The canonical handle that an argument points to, before the library has seen whether it points anywhere. 0: it does not. */
static inline mrl_word mrl_given(mrl_word pointer)
{
    return __builtin_expect(pointer != 0, 1) ? mrl_handle(mrl_handle_at(pointer, 0)) : 0;
}

/* The same of a file, whose handles are pointers everywhere. */
static inline mrl_word mrl_given_file(mrl_word pointer)
{
    return pointer ? *(const mrl_word *)pointer : 0;
}

#endif
