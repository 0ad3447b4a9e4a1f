/*
 * The facts of struct mrl_abi, one per line: name, what mpi.h and the library say, what the table says.
 * Linked with pmpi/abi.c and pmpi/next.c, so that the table is the one Marple would choose here.
 */
#include "abi.h"

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FACT(name, header, table) printf("%s\t%lld\t%lld\n", name, (long long)(header), (long long)(table))
#define SIZE(type) FACT("sizeof(" #type ")", sizeof(type), mrl_abi.handle_bytes)
#define HANDLE(name, field) FACT(#name, mrl_handle(word_of((const void *)&(type_of_##field){name}, sizeof(type_of_##field))), mrl_abi.field)

typedef MPI_Comm type_of_comm_world, type_of_comm_self, type_of_comm_null;
typedef MPI_Request type_of_request_null;
typedef MPI_Datatype type_of_byte, type_of_type_null;
typedef MPI_Op type_of_no_op;
typedef MPI_Errhandler type_of_errors_return;

/* A handle as it arrives in a wrapper: in a register whose upper half may be anything. */
static mrl_word word_of(const void *handle, size_t size)
{
    mrl_word word = mrl_abi.mask == UINT32_MAX ? UINT64_C(0xdeadbeef00000000) : 0;
    memcpy(&word, handle, size);
    return word;
}

#ifdef MOCK_MPI_H
static void statuses(void)
{
    FACT("count_at", MRL_COUNT_ASK, mrl_abi.count_at); /* the standard ABI keeps it to itself */
}
#else
/* What a status says, read the way enum mrl_count_at describes. */
static int64_t status_bytes(const MPI_Status *status)
{
    const char *at = (const char *)status;
    int64_t bytes = 0;
    uint32_t low = 0, high = 0;
    switch (mrl_abi.count_at) {
    case MRL_COUNT_OMPI:
        memcpy(&bytes, at + 16, 8);
        return bytes;
    case MRL_COUNT_MPICH:
        memcpy(&low, at, 4);
        memcpy(&high, at + 4, 4);
        return (int64_t)low | (int64_t)(high >> 1) << 32;
    case MRL_COUNT_ASK:
        break;
    }
    return -1;
}

static int status_cancelled(const MPI_Status *status)
{
    const char *at = (const char *)status;
    int word = 0;
    memcpy(&word, at + (mrl_abi.count_at == MRL_COUNT_OMPI ? 12 : 4), 4);
    return mrl_abi.count_at == MRL_COUNT_OMPI ? word != 0 : word & 1;
}

static void statuses(void)
{
    static const long long sizes[] = {0, 1, 0x12345678, 0xfedcba98ll, 5ll << 30, (1ll << 40) + 3};
    MPI_Status status;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int cancelled = 0; cancelled < 2; cancelled++) {
            memset(&status, 0, sizeof status);
            PMPI_Status_set_elements_x(&status, MPI_BYTE, sizes[i]);
            PMPI_Status_set_cancelled(&status, cancelled);
            FACT("bytes in a status", sizes[i], status_bytes(&status));
            FACT("cancelled in a status", cancelled, status_cancelled(&status));
        }
    }
    int out = 1, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &status);
    FACT("bytes in a received status", sizeof in, status_bytes(&status));
    FACT("cancelled in a received status", 0, status_cancelled(&status));
}
#endif

/* Handles of operations that are complete at once mean nothing, those of others do. */
static void requests(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0, received;
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    mrl_word handle = mrl_handle(word_of(&request, sizeof request));
    FACT("a pending request is done", 0,
         (handle & mrl_abi.request_done_mask) == mrl_abi.request_done);
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifndef MOCK_MPI_H
    MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    handle = mrl_handle(word_of(&request, sizeof request));
    FACT("a request to nobody is done", 1,
         (handle & mrl_abi.request_done_mask) == mrl_abi.request_done);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

int main(int argc, char **argv)
{
    char description[256];
    MPI_Init(&argc, &argv);
    FACT("recognised", 1, mrl_abi_recognise(description, sizeof description));
#if defined OPEN_MPI
    FACT("family", 0, strcmp(mrl_abi.name, "Open MPI"));
#elif defined MPICH_VERSION
    FACT("family", 0, strcmp(mrl_abi.name, "MPICH"));
#else
    FACT("family", 0, strcmp(mrl_abi.name, "MPI-5 standard ABI"));
#endif
    SIZE(MPI_Comm);
    SIZE(MPI_Request);
    SIZE(MPI_Datatype);
    SIZE(MPI_Message);
    SIZE(MPI_Win);
    SIZE(MPI_Group);
    FACT("sizeof(MPI_File)", sizeof(MPI_File), 8);
    FACT("sizeof(MPI_Count)", sizeof(MPI_Count), 8);
    FACT("sizeof(MPI_Aint)", sizeof(MPI_Aint), 8);
    FACT("handle mask", sizeof(MPI_Comm) == 4 ? (long long)UINT32_MAX : -1ll, mrl_abi.mask);
    FACT("sizeof(MPI_Status)", sizeof(MPI_Status), mrl_abi.status_bytes);
    FACT("offsetof(MPI_SOURCE)", offsetof(MPI_Status, MPI_SOURCE), mrl_abi.source_at);
    FACT("offsetof(MPI_TAG)", offsetof(MPI_Status, MPI_TAG), mrl_abi.tag_at);
    FACT("offsetof(MPI_ERROR)", offsetof(MPI_Status, MPI_ERROR), mrl_abi.error_at);
    FACT("MPI_ANY_SOURCE", MPI_ANY_SOURCE, mrl_abi.any_source);
    FACT("MPI_ANY_TAG", MPI_ANY_TAG, mrl_abi.any_tag);
    FACT("MPI_PROC_NULL", MPI_PROC_NULL, mrl_abi.proc_null);
    FACT("MPI_ROOT", MPI_ROOT, mrl_abi.root);
    FACT("MPI_UNDEFINED", MPI_UNDEFINED, mrl_abi.undefined);
    FACT("MPI_ERR_TRUNCATE", MPI_ERR_TRUNCATE, mrl_abi.err_truncate);
    FACT("MPI_STATUS_IGNORE", (intptr_t)MPI_STATUS_IGNORE, mrl_abi.status_ignore);
    FACT("MPI_STATUSES_IGNORE", (intptr_t)MPI_STATUSES_IGNORE, mrl_abi.status_ignore);
    FACT("MPI_IN_PLACE", (intptr_t)MPI_IN_PLACE, mrl_abi.in_place);
    HANDLE(MPI_COMM_WORLD, comm_world);
    HANDLE(MPI_COMM_SELF, comm_self);
    HANDLE(MPI_COMM_NULL, comm_null);
    HANDLE(MPI_DATATYPE_NULL, type_null);
    HANDLE(MPI_NO_OP, no_op);
    HANDLE(MPI_REQUEST_NULL, request_null);
    HANDLE(MPI_ERRORS_RETURN, errors_return);
    HANDLE(MPI_BYTE, byte);
    FACT("MPI_CART", MPI_CART, mrl_abi.cart);
    FACT("MPI_GRAPH", MPI_GRAPH, mrl_abi.graph);
    FACT("MPI_DIST_GRAPH", MPI_DIST_GRAPH, mrl_abi.dist_graph);
    FACT("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE, mrl_abi.threads[0]);
    FACT("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED, mrl_abi.threads[1]);
    FACT("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED, mrl_abi.threads[2]);
    FACT("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE, mrl_abi.threads[3]);
    statuses();
    requests();
    MPI_Finalize();
    return 0;
}
