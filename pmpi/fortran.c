#include "fortran.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

mrl_function *mrl_fortran_table[MRL_FUNCTIONS][MRL_BINDINGS];
struct mrl_special mrl_fortran_ignored, mrl_fortran_in_place;

#define MRL_DEFINE(kind) mrl_word (*mrl_##kind##_f2c)(int handle);
MRL_FORTRAN_HANDLES(MRL_DEFINE)
#undef MRL_DEFINE

static void missing(void)
{
}

/* A library has one of the spellings at least; they are the same function. */
MRL_COLD mrl_function *mrl_fortran_resolve(enum mrl_function_id f, enum mrl_binding binding)
{
    static const char *const spellings[2][MRL_BINDINGS][4] = {
        {[MRL_F77] = {"%s_", "%s", "%s__", "%S"}, [MRL_F08] = {"%s_f08_"}, [MRL_F08TS] = {"%s_f08ts_"}, [MRL_CPTR] = {"%s_cptr_", "%s_cptr"}},
        {[MRL_F08] = {"%s_f08_large_", "%s_c_f08_"}, [MRL_F08TS] = {"%s_f08ts_large_", "%s_c_f08ts_"}}}; /* MPICH 4.0's, and later ones' */
    const char *name = mrl_function_facts[f].name;
    size_t length = strlen(name);
    bool large = length > 2 && strcmp(name + length - 2, "_c") == 0;
    char base[64], symbol[96];
    snprintf(base, sizeof base, "%.*s", (int)(large ? length - 2 : length), name);
    mrl_function *function = NULL;
    for (int i = 0; !function && i < 4 && spellings[large][binding][i]; i++) {
        const char *spelling = spellings[large][binding][i];
        char cased[64];
        for (size_t k = 0; k < sizeof cased; k++)
            cased[k] = (char)(strcmp(spelling, "%S") == 0 ? toupper(base[k]) : tolower(base[k]));
        snprintf(symbol, sizeof symbol, "%s%s", cased, spelling + 2);
        *(void **)&function = mrl_find(symbol);
    }
    function = function ? function : missing;
    __atomic_store_n(&mrl_fortran_table[f][binding], function, __ATOMIC_RELAXED);
    return function;
}

#if defined(__x86_64__)
/* %r11 is the entry. */
__asm__(".pushsection .text\n.globl mrl_plain_first\n.hidden mrl_plain_first\n.type mrl_plain_first, @function\nmrl_plain_first:\n"
        MRL_GO_ON("mov %r11, %rdi\ncall mrl_plain_choose\n")
        ".size mrl_plain_first, . - mrl_plain_first\n.popsection");

__attribute__((used)) MRL_COLD void *mrl_plain_choose(struct mrl_plain *entry)
{
    void *stranger = mrl_find_stranger(entry->name), *to = stranger ? stranger : entry->ours;
    __atomic_store_n(&entry->to, to, __ATOMIC_RELAXED);
    return to;
}
#endif

static void add(struct mrl_special *s, const void *address)
{
    if (address && s->count < MRL_SPECIAL_MAX && !mrl_is_special(s, (mrl_word)(uintptr_t)address))
        s->addresses[s->count++] = (mrl_word)(uintptr_t)address;
}

/* An object by itself, as the application sees it: Fortran's common blocks are shared by name. */
static void add_object(struct mrl_special *s, const char *symbol)
{
    void *object = dlsym(RTLD_DEFAULT, symbol);
    add(s, object ? object : mrl_find(symbol));
}

/* The address that a variable of the library holds. */
static void add_held(struct mrl_special *s, const char *symbol)
{
    void *const *variable = mrl_find(symbol);
    if (variable)
        add(s, *variable);
}

/* Called when MPI is initialised, since MPICH learns some of the addresses only then. */
void mrl_fortran_begin(void)
{
    static const char *const ignored[] = {
        /* Open MPI, in every spelling of a common block's name */
        "mpi_fortran_status_ignore_", "mpi_fortran_status_ignore", "mpi_fortran_status_ignore__", "MPI_FORTRAN_STATUS_IGNORE",
        "mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore", "mpi_fortran_statuses_ignore__", "MPI_FORTRAN_STATUSES_IGNORE",
    };
    static const char *const in_place[] = {
        "mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE",
        "MPIR_F08_MPI_IN_PLACE", /* MPICH */
    };
    mrl_fortran_ignored.count = mrl_fortran_in_place.count = 0;
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        add_object(&mrl_fortran_ignored, ignored[i]);
    for (size_t i = 0; i < sizeof in_place / sizeof *in_place; i++)
        add_object(&mrl_fortran_in_place, in_place[i]);
    add_held(&mrl_fortran_ignored, "MPI_F_STATUS_IGNORE");
    add_held(&mrl_fortran_ignored, "MPI_F_STATUSES_IGNORE");
    add_held(&mrl_fortran_ignored, "MPI_F08_STATUS_IGNORE");
    add_held(&mrl_fortran_ignored, "MPI_F08_STATUSES_IGNORE");
    add_held(&mrl_fortran_in_place, "MPIR_F_MPI_IN_PLACE");
    if (mrl_abi.handle_bytes == 4) {
        /* Only a file is more than an integer. */
        *(void **)&mrl_File_f2c = mrl_find("PMPI_File_f2c");
        return;
    }
#define MRL_RESOLVE(kind) *(void **)&mrl_##kind##_f2c = mrl_find("PMPI_" #kind "_f2c");
    MRL_FORTRAN_HANDLES(MRL_RESOLVE)
#undef MRL_RESOLVE
}

/* 0: too many to follow. */
mrl_word mrl_fortran_requests(mrl_word requests, int64_t count)
{
    if (mrl_abi.handle_bytes == 4)
        return requests;
    if (count > mrl_scratch.room && !mrl_scratch_grow(count))
        return 0;
    for (int64_t i = 0; i < count; i++)
        mrl_scratch.handles[i] = mrl_Request_f2c(((const int *)requests)[i]);
    return (mrl_word)(uintptr_t)mrl_scratch.handles;
}

int64_t mrl_sum_fortran_types(struct mrl_thread *t, mrl_word counts, mrl_word types, int64_t n, bool wide)
{
    int64_t sum = 0;
    for (int64_t i = 0; counts && types && i < n; i++) {
        int64_t count = mrl_count_at(counts, i, wide);
        if (count > 0)
            sum += count * mrl_type_size(t, mrl_fortran_Type(types + (mrl_word)i * 4));
    }
    return sum;
}
