/*
 * Keeps account of what a measurement of this program must find: CALL makes an MPI call, demands success,
 * and notes that it was made, on which communicator, and the bytes that pmpi/functions.txt says it moves.
 * What only a completion tells is noted with `moved`, messages between ranks with `sent` and `received`.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this MPI library has. */
#ifdef MOCK_MPI_H
#define MPI3(...)
#else
#define MPI3(...) __VA_ARGS__ /* all of MPI-3.1 */
#if MPI_VERSION >= 4
#define HAS_COUNTS
#endif
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5) /* which calls itself one of 3.1 */
#define HAS_MPI4
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define HAS_MPI41
#endif
#endif
#ifdef HAS_MPI4
#define MPI4(...) __VA_ARGS__
#else
#define MPI4(...)
#endif
#ifdef HAS_COUNTS
#define COUNTS(...) __VA_ARGS__ /* large counts */
#else
#define COUNTS(...)
#endif

extern int rank, size; /* in MPI_COMM_WORLD */

_Noreturn void give_up(const char *file, int line, const char *what);
#define CHECK(condition) ((condition) ? (void)0 : give_up(__FILE__, __LINE__, #condition))

/* The communicator's name, before a call that may free it. Calls that have none are counted NOWHERE. */
const char *on(MPI_Comm comm);
#define NOWHERE "unknown"

void counted(const char *function, const char *where, long long out, long long in);
void moved(const char *function, const char *where, long long out, long long in);
void hit(const char *function);
void failed(const char *function);
void messages(const char *function, long long count);
void sent(MPI_Comm comm, int peer, long long bytes);
void received(MPI_Comm comm, int peer, long long bytes);
void put(MPI_Comm comm, int peer, long long bytes);
void got(MPI_Comm comm, int peer, long long bytes);

/* A name for a new communicator, by which the measurement is compared; its members are noted. */
void name(MPI_Comm comm, const char *text);

/* Writes everything to a file of this rank in the directory. */
void tell(const char *directory);

#define CALL(name, where, out, in, ...)                       \
    do {                                                      \
        const char *where_ = (where);                         \
        long long out_ = (out), in_ = (in);                   \
        CHECK(MPI_##name(__VA_ARGS__) == MPI_SUCCESS);        \
        counted("MPI_" #name, where_, out_, in_);             \
    } while (0)

/* A call that counts nothing but itself. */
#define DO(name, ...) CALL(name, NOWHERE, 0, 0, __VA_ARGS__)
/* ... on a communicator */
#define DO_ON(name, comm, ...) CALL(name, on(comm), 0, 0, __VA_ARGS__)

/* A call that must return an error. */
#define FAIL(name, ...)                                \
    do {                                               \
        CHECK(MPI_##name(__VA_ARGS__) != MPI_SUCCESS); \
        counted("MPI_" #name, NOWHERE, 0, 0);          \
        failed("MPI_" #name);                          \
    } while (0)

/* A message has arrived for what `function` asked for. */
void arrived(const char *function, MPI_Comm comm, int source, long long bytes);

/* The parts of the program. */
void point_to_point(void);
void completion(void);
void many_requests(void);
void collectives(void);
void intercommunicators(void);
void neighbourhoods(void);
void one_sided(void);
void files(const char *directory);
void communicators(void);
void datatypes(void);
void errors(void);
void large(void);
void local_calls(void);

#endif
