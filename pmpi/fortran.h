/*
 * Fortran: the bindings (mpif.h and `use mpi`, mpi_f08, mpi_f08 with array descriptors, `use mpi` with a C
 * pointer for the base of a window) see the same objects as C under other forms. Here is C's view of them.
 */
#ifndef MRL_FORTRAN_H
#define MRL_FORTRAN_H

#include "calls.h"

enum mrl_binding { MRL_F77, MRL_F08, MRL_F08TS, MRL_CPTR, MRL_BINDINGS };

#define MRL_ALIAS(name, target) \
    extern __typeof__(target) name __attribute__((alias(#target), visibility("default")));

/*
 * mpi_x without an underscore is also what C programmers call functions of their own: Rmpi's mpi_recv returns a
 * pointer, and a library that refers to its own by name gets ours, which was there first. So the first call looks
 * who has such a name, and the calls of a stranger's function go on to it with all registers as they were.
 */
#if defined(__x86_64__)
struct mrl_plain {
    void *to; /* where calls go */
    const char *name;
    void *ours;
};
#define MRL_PLAIN(name, target)                                                                                 \
    extern __typeof__(target) mrl_ours_##name __attribute__((alias(#target), visibility("hidden")));             \
    __asm__(".pushsection .rodata\n0: .string \"" #name "\"\n.popsection\n"                                      \
            ".pushsection .data.rel.local, \"aw\"\n.balign 8\n1: .quad 2f, 0b, mrl_ours_" #name "\n.popsection\n" \
            ".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ": jmp *1b(%rip)\n"         \
            "2: lea 1b(%rip), %r11\njmp mrl_plain_first\n.size " #name ", . - " #name "\n.popsection");
#else
#define MRL_PLAIN(name, target) MRL_ALIAS(name, target)
#endif

/* A function written by hand, in all spellings. */
#define MRL_IN_FORTRAN(name, NAME, declared, f77, f08)               \
    MRL_EXPORT void mpi_##name##_ declared { f77; }              \
    MRL_PLAIN(mpi_##name, mpi_##name##_)                         \
    MRL_ALIAS(mpi_##name##__, mpi_##name##_)                     \
    MRL_ALIAS(MPI_##NAME, mpi_##name##_)                         \
    MRL_EXPORT void mpi_##name##_f08_ declared { f08; }

/* The next definition of a function's entry point in a binding. */
extern MRL_HIDDEN mrl_function *mrl_fortran_table[MRL_FUNCTIONS][MRL_BINDINGS];
mrl_function *mrl_fortran_resolve(enum mrl_function_id f, enum mrl_binding binding);

static inline mrl_function *mrl_fortran_next(enum mrl_function_id f, enum mrl_binding binding)
{
    mrl_function *function = __atomic_load_n(&mrl_fortran_table[f][binding], __ATOMIC_RELAXED);
    return likely(function != 0) ? function : mrl_fortran_resolve(f, binding);
}

/* The C handle of a Fortran one. MPICH's are equal; elsewhere the library is asked. */
#define MRL_FORTRAN_HANDLES(X) X(Comm) X(Type) X(Request) X(Win) X(File) X(Message) X(Op)
#define MRL_DECLARE(kind) extern mrl_word (*mrl_##kind##_f2c)(int handle);
MRL_FORTRAN_HANDLES(MRL_DECLARE)
#undef MRL_DECLARE

#define MRL_CONVERT(kind)                                                     \
    static inline mrl_word mrl_fortran_##kind(mrl_word word)                  \
    {                                                                         \
        int handle = *(const int *)word;                                      \
        return mrl_##kind##_f2c ? mrl_##kind##_f2c(handle) : (uint32_t)handle; \
    }
MRL_FORTRAN_HANDLES(MRL_CONVERT)
#undef MRL_CONVERT

/* Addresses that stand for MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE and MPI_IN_PLACE. */
#define MRL_SPECIAL_MAX 12
struct mrl_special {
    unsigned count;
    mrl_word addresses[MRL_SPECIAL_MAX];
};
extern struct mrl_special mrl_fortran_ignored, mrl_fortran_in_place;

static inline bool mrl_is_special(const struct mrl_special *s, mrl_word address)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->addresses[i] == address)
            return true;
    return false;
}

/* The status to read: C's MPI_STATUS_IGNORE if it is ignored. */
static inline mrl_word mrl_fortran_status(mrl_word status, enum mrl_binding binding)
{
    (void)binding;
    return mrl_is_special(&mrl_fortran_ignored, status) ? (mrl_word)mrl_abi.status_ignore : status;
}

/* What to pass on for a status: ours, or what came. */
static inline mrl_word mrl_fortran_passed(mrl_word status, mrl_word came)
{
    return (intptr_t)status == mrl_abi.status_ignore ? came : status;
}

/* A buffer, of which only whether it is MPI_IN_PLACE matters. A descriptor begins with the address. */
static inline mrl_word mrl_fortran_buffer(mrl_word buffer, enum mrl_binding binding)
{
    mrl_word address = binding == MRL_F08TS && buffer ? *(const mrl_word *)buffer : buffer;
    return mrl_is_special(&mrl_fortran_in_place, address) ? (mrl_word)mrl_abi.in_place : address;
}

void mrl_fortran_begin(void);

/* An array of requests as C has it: the same memory where handles are integers, else the thread's own. */
mrl_word mrl_fortran_requests(mrl_word requests, int64_t count);

#endif
