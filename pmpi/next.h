/*
 * The functions behind ours. The application's calls go on to the next MPI_X, which may be another
 * tool's; Marple's own traffic uses PMPI_X.
 */
#ifndef MRL_NEXT_H
#define MRL_NEXT_H

#include "abi.h"
#include "functions.gen.h"

/* A symbol of the MPI library, however it was loaded; NULL if there is none. Ours are never found. */
void *mrl_find(const char *symbol);

/* The definition of a Fortran name in an object that is neither an MPI library nor a tool's; it stays loaded. NULL if there is none. */
void *mrl_find_stranger(const char *name);

/* The next definition of function f after ours; resolved at first use. */
typedef void mrl_function(void);
extern MRL_HIDDEN mrl_function *mrl_next_table[MRL_FUNCTIONS];
mrl_function *mrl_resolve(enum mrl_function_id f);

static inline mrl_function *mrl_next(enum mrl_function_id f)
{
    mrl_function *function = __atomic_load_n(&mrl_next_table[f], __ATOMIC_RELAXED); /* threads may resolve it at once */
    return __builtin_expect(function != 0, 1) ? function : mrl_resolve(f);
}

#if defined(__x86_64__)
/*
 * The body of a function that goes on to where `call` says, in %rax, with all arguments as they came, whatever they are:
 * registers that may hold some are kept, and the stack is aligned as a call finds it.
 */
#define MRL_GO_ON(call)                                                                                       \
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\nsub $128, %rsp\n"            \
    "movaps %xmm0, (%rsp)\nmovaps %xmm1, 16(%rsp)\nmovaps %xmm2, 32(%rsp)\nmovaps %xmm3, 48(%rsp)\n"           \
    "movaps %xmm4, 64(%rsp)\nmovaps %xmm5, 80(%rsp)\nmovaps %xmm6, 96(%rsp)\nmovaps %xmm7, 112(%rsp)\n" call   \
    "mov %rax, %r11\n"                                                                                        \
    "movaps (%rsp), %xmm0\nmovaps 16(%rsp), %xmm1\nmovaps 32(%rsp), %xmm2\nmovaps 48(%rsp), %xmm3\n"           \
    "movaps 64(%rsp), %xmm4\nmovaps 80(%rsp), %xmm5\nmovaps 96(%rsp), %xmm6\nmovaps 112(%rsp), %xmm7\n"        \
    "add $128, %rsp\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *%r11\n"
#endif

/* The few functions Marple calls itself. X(name, parameters) */
#define MRL_PMPI_USED(X)                                                                            \
    X(Comm_rank, (mrl_word comm, int *rank))                                                        \
    X(Comm_size, (mrl_word comm, int *size))                                                        \
    X(Comm_remote_size, (mrl_word comm, int *size))                                                 \
    X(Comm_test_inter, (mrl_word comm, int *flag))                                                  \
    X(Comm_compare, (mrl_word a, mrl_word b, int *result))                                          \
    X(Comm_idup, (mrl_word comm, mrl_word *newcomm, mrl_word *request))                             \
    X(Comm_free, (mrl_word *comm))                                                                  \
    X(Comm_group, (mrl_word comm, mrl_word *group))                                                 \
    X(Comm_remote_group, (mrl_word comm, mrl_word *group))                                          \
    X(Comm_set_errhandler, (mrl_word comm, mrl_word handler))                                       \
    X(Group_free, (mrl_word *group))                                                                \
    X(Group_translate_ranks, (mrl_word a, int n, const int *ranks, mrl_word b, int *translated))    \
    X(Type_size, (mrl_word type, int *size))                                                        \
    X(Get_count, (const void *status, mrl_word type, int *count))                                   \
    X(Test_cancelled, (const void *status, int *flag))                                              \
    X(Query_thread, (int *provided))                                                                \
    X(Isend, (const void *data, int count, mrl_word type, int to, int tag, mrl_word comm, mrl_word *request)) \
    X(Issend, (const void *data, int count, mrl_word type, int to, int tag, mrl_word comm, mrl_word *request)) \
    X(Irecv, (void *data, int count, mrl_word type, int from, int tag, mrl_word comm, mrl_word *request))     \
    X(Iprobe, (int from, int tag, mrl_word comm, int *flag, void *status))                          \
    X(Test, (mrl_word *request, int *flag, void *status))                                           \
    X(Barrier, (mrl_word comm))                                                                     \
    X(Cancel, (mrl_word *request))                                                                  \
    X(Request_free, (mrl_word *request))

/* Those that not every library has; NULL where missing. */
#define MRL_PMPI_OPTIONAL(X)                                                         \
    X(Initialized, (int *flag))                                                      \
    X(Group_from_session_pset, (mrl_word session, const char *name, mrl_word *group)) \
    X(Group_rank, (mrl_word group, int *rank))                                       \
    X(Group_size, (mrl_word group, int *size))                                       \
    X(Topo_test, (mrl_word comm, int *kind))                                         \
    X(Error_class, (int code, int *found))                                           \
    X(Error_string, (int code, char *text, int *length))                             \
    X(Cartdim_get, (mrl_word comm, int *dims))                                       \
    X(Graph_neighbors_count, (mrl_word comm, int rank, int *count))                  \
    X(Dist_graph_neighbors_count, (mrl_word comm, int *in, int *out, int *weighted)) \
    X(Type_size_x, (mrl_word type, int64_t *size))                                   \
    X(Type_size_c, (mrl_word type, int64_t *size))                                   \
    X(Get_count_c, (const void *status, mrl_word type, int64_t *count))

struct mrl_pmpi {
#define MRL_FIELD(name, parameters) int(*name) parameters;
    MRL_PMPI_USED(MRL_FIELD)
    MRL_PMPI_OPTIONAL(MRL_FIELD)
#undef MRL_FIELD
};
extern MRL_HIDDEN struct mrl_pmpi mrl_pmpi;

/* Fills mrl_pmpi. Returns the name of a function that is missing and not optional, or NULL. */
const char *mrl_pmpi_resolve(void);

#endif
