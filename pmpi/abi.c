#include "abi.h"
#include "next.h"

#include <dlfcn.h>
#include <string.h>

/* Open MPI's handles are addresses of objects it exports; they are filled in when it is recognised. */
static const struct mrl_abi open_mpi = {
    .name = "Open MPI",
    .mask = ~UINT64_C(0),
    .handle_bytes = 8,
    .status_bytes = 24, .source_at = 0, .tag_at = 4, .error_at = 8,
    .count_at = MRL_COUNT_OMPI,
    .any_source = -1, .any_tag = -1, .proc_null = -2, .root = -4, .undefined = -32766, .err_truncate = 15,
    .status_ignore = 0, .in_place = 1,
    .request_done_mask = ~UINT64_C(0),
    .cart = 1, .graph = 2, .dist_graph = 3,
    .threads = {0, 1, 2, 3},
};

/* MPICH 3.1 and later and its descendants: Intel MPI, Cray MPICH, MVAPICH, ParaStation. */
static const struct mrl_abi mpich = {
    .name = "MPICH",
    .mask = UINT32_MAX,
    .handle_bytes = 4,
    .status_bytes = 20, .source_at = 8, .tag_at = 12, .error_at = 16,
    .count_at = MRL_COUNT_MPICH,
    .any_source = -2, .any_tag = -1, .proc_null = -1, .root = -3, .undefined = -32766, .err_truncate = 14,
    .status_ignore = 1, .in_place = -1,
    .comm_world = 0x44000000, .comm_self = 0x44000001, .comm_null = 0x04000000,
    .request_null = 0x2c000000, .type_null = 0x0c000000, .no_op = 0x5800000e, .byte = 0x4c00010d, .errors_return = 0x54000001,
    .request_done_mask = 0xc0000000, .request_done = 0x40000000, /* "built-in" handles */
    .cart = 2, .graph = 1, .dist_graph = 3,
    .threads = {0, 1, 2, 3},
};

/* MPI-5.0 chapter 20. */
static const struct mrl_abi standard = {
    .name = "MPI-5 standard ABI",
    .mask = ~UINT64_C(0),
    .handle_bytes = 8,
    .status_bytes = 32, .source_at = 0, .tag_at = 4, .error_at = 8,
    .count_at = MRL_COUNT_ASK,
    .any_source = -1, .any_tag = -2, .proc_null = -3, .root = -4, .undefined = -32766, .err_truncate = 15,
    .status_ignore = 0, .in_place = 1,
    .comm_world = 0x101, .comm_self = 0x102, .comm_null = 0x100,
    .request_null = 0x180, .type_null = 0x200, .no_op = 0x3d, .byte = 0x247, .errors_return = 0x142,
    .request_done_mask = 0, .request_done = 1, /* not public */
    .cart = 211, .graph = 212, .dist_graph = 213,
    .threads = {0, 1024, 2048, 4096},
};

struct mrl_abi mrl_abi;

static bool file_begins(void *function, const char *prefix)
{
    Dl_info info;
    if (!dladdr(function, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, prefix, strlen(prefix)) == 0;
}

/*
 * The application's own idea of where an object is: an executable may hold a copy of it (a copy
 * relocation), and then that one is used by everybody, including the library.
 */
static mrl_word address(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    return (mrl_word)(uintptr_t)(found ? found : mrl_find(symbol));
}

static bool is_open_mpi(void)
{
    if (!address("ompi_mpi_comm_world"))
        return false;
    mrl_abi = open_mpi;
    mrl_abi.comm_world = address("ompi_mpi_comm_world");
    mrl_abi.comm_self = address("ompi_mpi_comm_self");
    mrl_abi.comm_null = address("ompi_mpi_comm_null");
    mrl_abi.request_null = address("ompi_request_null");
    mrl_abi.request_done = address("ompi_request_empty");
    mrl_abi.type_null = address("ompi_mpi_datatype_null");
    mrl_abi.no_op = address("ompi_mpi_op_no_op");
    mrl_abi.byte = address("ompi_mpi_byte");
    mrl_abi.errors_return = address("ompi_mpi_errors_return");
    return mrl_abi.request_null && mrl_abi.byte && mrl_abi.errors_return;
}

/* The family shares its binary interface but not its name. */
static bool is_mpich(const char *version)
{
    static const char *const names[] = {"MPICH", "Intel(R) MPI", "CRAY", "MVAPICH", "ParaStation", "psmpi"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(version, names[i]))
            return mrl_abi = mpich, true;
    return false;
}

/* Files of MPI libraries and of their bindings for C++ and Fortran, which call their way through each other. */
const char *const mrl_abi_layers[] = {
    "libmpi", "libmpi_mpifh", "libmpi_usempi", "libmpi_usempi_ignore_tkr", "libmpi_usempif08", "libmpi_cxx", "libmpi_abi", "libmpi_ibm*",
    "libmpich*", "libmpifort*", "libmpicxx", "libmpichcxx", "libpmpi", "libfmpich", "libmpi_gnu*", "libmpi_cray*", "libmpi_intel*",
    "libmpi_nvidia*", "libmpi_amd*", "libmpi_aocc*", NULL,
};

bool mrl_abi_recognise(char *description, int size)
{
    static char version[8192]; /* MPI_MAX_LIBRARY_VERSION_STRING is 8192 at most */
    int length = 0;
    void *send = mrl_find("PMPI_Send");
    int (*get_version)(char *, int *);
    *(void **)&get_version = mrl_find("PMPI_Get_library_version");
    if (get_version)
        get_version(version, &length); /* may be called before MPI_Init (MPI-4.0 section 9.1.1) */
    version[strcspn(version, "\n")] = 0;
    for (char *c = version; *c; c++)
        if (*c == '\t')
            *c = ' ';
    strncpy(description, *version ? version : "no PMPI_Get_library_version", (size_t)size - 1);
    description[size - 1] = 0;
    if (!send)
        return false;
    if (file_begins(send, "libmpi_abi")) {
        mrl_abi = standard;
        return true;
    }
    return is_open_mpi() || is_mpich(version);
}
