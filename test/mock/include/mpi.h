/* The MPI-5.0 standard ABI, as far as the mock MPI provides it.
 *
 * Values and layouts are those the MPI Forum published; a program built with
 * this header runs on any library of that ABI, and the other way round.
 * MPI_Fint and the c2f/f2c conversions are here too, although the standard
 * leaves them to the Fortran side. */
#ifndef MOCK_MPI_H
#define MOCK_MPI_H

#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef MPI_Offset MPI_Count;
typedef int MPI_Fint;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

#define MPI_F_STATUS_SIZE 8

typedef struct MPI_ABI_Op *MPI_Op;
#define MPI_OP_NULL ((MPI_Op)0x00000020)
#define MPI_SUM ((MPI_Op)0x00000021)
#define MPI_MIN ((MPI_Op)0x00000022)
#define MPI_MAX ((MPI_Op)0x00000023)
#define MPI_PROD ((MPI_Op)0x00000024)
#define MPI_BAND ((MPI_Op)0x00000028)
#define MPI_BOR ((MPI_Op)0x00000029)
#define MPI_BXOR ((MPI_Op)0x0000002a)
#define MPI_LAND ((MPI_Op)0x00000030)
#define MPI_LOR ((MPI_Op)0x00000031)
#define MPI_LXOR ((MPI_Op)0x00000032)
#define MPI_MINLOC ((MPI_Op)0x00000038)
#define MPI_MAXLOC ((MPI_Op)0x00000039)
#define MPI_REPLACE ((MPI_Op)0x0000003c)
#define MPI_NO_OP ((MPI_Op)0x0000003d)

typedef struct MPI_ABI_Comm *MPI_Comm;
#define MPI_COMM_NULL ((MPI_Comm)0x00000100)
#define MPI_COMM_WORLD ((MPI_Comm)0x00000101)
#define MPI_COMM_SELF ((MPI_Comm)0x00000102)

typedef struct MPI_ABI_Group *MPI_Group;
#define MPI_GROUP_NULL ((MPI_Group)0x00000108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x00000109)

typedef struct MPI_ABI_Win *MPI_Win;
#define MPI_WIN_NULL ((MPI_Win)0x00000110)

typedef struct MPI_ABI_File *MPI_File;
#define MPI_FILE_NULL ((MPI_File)0x00000118)

typedef struct MPI_ABI_Session *MPI_Session;
#define MPI_SESSION_NULL ((MPI_Session)0x00000120)

typedef struct MPI_ABI_Message *MPI_Message;
#define MPI_MESSAGE_NULL ((MPI_Message)0x00000128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x00000129)

typedef struct MPI_ABI_Info *MPI_Info;
#define MPI_INFO_NULL ((MPI_Info)0x00000130)
#define MPI_INFO_ENV ((MPI_Info)0x00000131)

typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x00000140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x00000141)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x00000142)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x00000143)

typedef struct MPI_ABI_Request *MPI_Request;
#define MPI_REQUEST_NULL ((MPI_Request)0x00000180)

typedef struct MPI_ABI_Datatype *MPI_Datatype;
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x00000200)
#define MPI_AINT ((MPI_Datatype)0x00000201)
#define MPI_COUNT ((MPI_Datatype)0x00000202)
#define MPI_OFFSET ((MPI_Datatype)0x00000203)
#define MPI_PACKED ((MPI_Datatype)0x00000207)
#define MPI_SHORT ((MPI_Datatype)0x00000208)
#define MPI_INT ((MPI_Datatype)0x00000209)
#define MPI_LONG ((MPI_Datatype)0x0000020a)
#define MPI_LONG_LONG ((MPI_Datatype)0x0000020b)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x0000020c)
#define MPI_UNSIGNED ((MPI_Datatype)0x0000020d)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x0000020e)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x0000020f)
#define MPI_FLOAT ((MPI_Datatype)0x00000210)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x00000212)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x00000213)
#define MPI_DOUBLE ((MPI_Datatype)0x00000214)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x00000216)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x00000217)
#define MPI_LOGICAL ((MPI_Datatype)0x00000218)
#define MPI_INTEGER ((MPI_Datatype)0x00000219)
#define MPI_REAL ((MPI_Datatype)0x0000021a)
#define MPI_COMPLEX ((MPI_Datatype)0x0000021b)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x0000021c)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x0000021d)
#define MPI_CHARACTER ((MPI_Datatype)0x0000021e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x00000220)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x00000224)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x00000225)
#define MPI_FLOAT_INT ((MPI_Datatype)0x00000228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x00000229)
#define MPI_LONG_INT ((MPI_Datatype)0x0000022a)
#define MPI_2INT ((MPI_Datatype)0x0000022b)
#define MPI_SHORT_INT ((MPI_Datatype)0x0000022c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x0000022d)
#define MPI_2REAL ((MPI_Datatype)0x00000230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x00000231)
#define MPI_2INTEGER ((MPI_Datatype)0x00000232)
#define MPI_C_BOOL ((MPI_Datatype)0x00000238)
#define MPI_CXX_BOOL ((MPI_Datatype)0x00000239)
#define MPI_WCHAR ((MPI_Datatype)0x0000023c)
#define MPI_INT8_T ((MPI_Datatype)0x00000240)
#define MPI_UINT8_T ((MPI_Datatype)0x00000241)
#define MPI_CHAR ((MPI_Datatype)0x00000243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x00000244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x00000245)
#define MPI_BYTE ((MPI_Datatype)0x00000247)
#define MPI_INT16_T ((MPI_Datatype)0x00000248)
#define MPI_UINT16_T ((MPI_Datatype)0x00000249)
#define MPI_INT32_T ((MPI_Datatype)0x00000250)
#define MPI_UINT32_T ((MPI_Datatype)0x00000251)
#define MPI_INT64_T ((MPI_Datatype)0x00000258)
#define MPI_UINT64_T ((MPI_Datatype)0x00000259)
#define MPI_LOGICAL1 ((MPI_Datatype)0x000002c0)
#define MPI_INTEGER1 ((MPI_Datatype)0x000002c1)
#define MPI_LOGICAL2 ((MPI_Datatype)0x000002c8)
#define MPI_INTEGER2 ((MPI_Datatype)0x000002c9)
#define MPI_REAL2 ((MPI_Datatype)0x000002ca)
#define MPI_LOGICAL4 ((MPI_Datatype)0x000002d0)
#define MPI_INTEGER4 ((MPI_Datatype)0x000002d1)
#define MPI_REAL4 ((MPI_Datatype)0x000002d2)
#define MPI_COMPLEX4 ((MPI_Datatype)0x000002d3)
#define MPI_LOGICAL8 ((MPI_Datatype)0x000002d8)
#define MPI_INTEGER8 ((MPI_Datatype)0x000002d9)
#define MPI_REAL8 ((MPI_Datatype)0x000002da)
#define MPI_COMPLEX8 ((MPI_Datatype)0x000002db)
#define MPI_LOGICAL16 ((MPI_Datatype)0x000002e0)
#define MPI_INTEGER16 ((MPI_Datatype)0x000002e1)
#define MPI_REAL16 ((MPI_Datatype)0x000002e2)
#define MPI_COMPLEX16 ((MPI_Datatype)0x000002e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x000002eb)

enum {
    MPI_SUCCESS = 0,
    MPI_ERR_BUFFER = 1,
    MPI_ERR_COUNT = 2,
    MPI_ERR_TYPE = 3,
    MPI_ERR_TAG = 4,
    MPI_ERR_COMM = 5,
    MPI_ERR_RANK = 6,
    MPI_ERR_REQUEST = 7,
    MPI_ERR_ROOT = 8,
    MPI_ERR_GROUP = 9,
    MPI_ERR_OP = 10,
    MPI_ERR_TOPOLOGY = 11,
    MPI_ERR_DIMS = 12,
    MPI_ERR_ARG = 13,
    MPI_ERR_UNKNOWN = 14,
    MPI_ERR_TRUNCATE = 15,
    MPI_ERR_OTHER = 16,
    MPI_ERR_INTERN = 17,
    MPI_ERR_PENDING = 18,
    MPI_ERR_IN_STATUS = 19,
    MPI_ERR_ACCESS = 20,
    MPI_ERR_AMODE = 21,
    MPI_ERR_ASSERT = 22,
    MPI_ERR_BAD_FILE = 23,
    MPI_ERR_BASE = 24,
    MPI_ERR_CONVERSION = 25,
    MPI_ERR_DISP = 26,
    MPI_ERR_DUP_DATAREP = 27,
    MPI_ERR_FILE_EXISTS = 28,
    MPI_ERR_FILE_IN_USE = 29,
    MPI_ERR_FILE = 30,
    MPI_ERR_INFO_KEY = 31,
    MPI_ERR_INFO_NOKEY = 32,
    MPI_ERR_INFO_VALUE = 33,
    MPI_ERR_INFO = 34,
    MPI_ERR_IO = 35,
    MPI_ERR_KEYVAL = 36,
    MPI_ERR_LOCKTYPE = 37,
    MPI_ERR_NAME = 38,
    MPI_ERR_NO_MEM = 39,
    MPI_ERR_NOT_SAME = 40,
    MPI_ERR_NO_SPACE = 41,
    MPI_ERR_NO_SUCH_FILE = 42,
    MPI_ERR_PORT = 43,
    MPI_ERR_QUOTA = 44,
    MPI_ERR_READ_ONLY = 45,
    MPI_ERR_RMA_ATTACH = 46,
    MPI_ERR_RMA_CONFLICT = 47,
    MPI_ERR_RMA_RANGE = 48,
    MPI_ERR_RMA_SHARED = 49,
    MPI_ERR_RMA_SYNC = 50,
    MPI_ERR_SERVICE = 51,
    MPI_ERR_SIZE = 52,
    MPI_ERR_SPAWN = 53,
    MPI_ERR_UNSUPPORTED_DATAREP = 54,
    MPI_ERR_UNSUPPORTED_OPERATION = 55,
    MPI_ERR_WIN = 56,
    MPI_ERR_RMA_FLAVOR = 57,
    MPI_ERR_PROC_ABORTED = 58,
    MPI_ERR_VALUE_TOO_LARGE = 59,
    MPI_ERR_SESSION = 60,
    MPI_ERR_ERRHANDLER = 61,
    MPI_ERR_ABI = 62,
    MPI_ERR_LASTCODE = 0x3fff
};

#define MPI_BOTTOM ((void *)0)
#define MPI_IN_PLACE ((void *)1)
#define MPI_BUFFER_AUTOMATIC ((void *)2)
#define MPI_ARGV_NULL ((char **)0)
#define MPI_ARGVS_NULL ((char ***)0)
#define MPI_ERRCODES_IGNORE ((int *)0)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_UNWEIGHTED ((int *)10)
#define MPI_WEIGHTS_EMPTY ((int *)11)

#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_MAX_PSET_NAME_LEN 1024
#define MPI_BSEND_OVERHEAD 512

enum {
    MPI_MODE_NOCHECK = 1024,
    MPI_MODE_NOPRECEDE = 2048,
    MPI_MODE_NOPUT = 4096,
    MPI_MODE_NOSTORE = 8192,
    MPI_MODE_NOSUCCEED = 16384
};

enum {
    MPI_ANY_SOURCE = -1,
    MPI_ANY_TAG = -2,
    MPI_PROC_NULL = -3,
    MPI_ROOT = -4,
    MPI_UNDEFINED = -32766
};

enum {
    MPI_THREAD_SINGLE = 0,
    MPI_THREAD_FUNNELED = 1024,
    MPI_THREAD_SERIALIZED = 2048,
    MPI_THREAD_MULTIPLE = 4096,

    MPI_ORDER_C = 0xC,
    MPI_ORDER_FORTRAN = 0xF,

    MPI_IDENT = 201,
    MPI_CONGRUENT = 202,
    MPI_SIMILAR = 203,
    MPI_UNEQUAL = 204,

    MPI_CART = 211,
    MPI_GRAPH = 212,
    MPI_DIST_GRAPH = 213,

    MPI_COMM_TYPE_SHARED = 221,
    MPI_COMM_TYPE_HW_UNGUIDED = 222,
    MPI_COMM_TYPE_HW_GUIDED = 223,
    MPI_COMM_TYPE_RESOURCE_GUIDED = 224
};

enum {
    MPI_KEYVAL_INVALID = 0,
    MPI_TAG_UB = 501,
    MPI_IO = 502,
    MPI_HOST = 503,
    MPI_WTIME_IS_GLOBAL = 504,
    MPI_UNIVERSE_SIZE = 505,
    MPI_APPNUM = 506,
    MPI_LASTUSEDCODE = 507
};

typedef void(MPI_User_function)(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm comm, int keyval, void *extra_state,
                                         void *attribute_val_in, void *attribute_val_out,
                                         int *flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int keyval, void *attribute_val,
                                           void *extra_state);
typedef void(MPI_Comm_errhandler_function)(MPI_Comm *comm, int *error_code, ...);

#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0x0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)0x1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0x0)

/* Every function exists under both names: PMPI_X is the function, MPI_X a weak
 * alias that a tool may define itself. */
#define MOCK_MPI_RETURNS(result, name, ...) \
    result MPI_##name(__VA_ARGS__); \
    result PMPI_##name(__VA_ARGS__)
#define MOCK_MPI(name, ...) MOCK_MPI_RETURNS(int, name, __VA_ARGS__)

MOCK_MPI(Init, int *argc, char ***argv);
MOCK_MPI(Init_thread, int *argc, char ***argv, int required, int *provided);
MOCK_MPI(Initialized, int *flag);
MOCK_MPI(Finalized, int *flag);
MOCK_MPI(Finalize, void);
MOCK_MPI(Abort, MPI_Comm comm, int errorcode);
MOCK_MPI(Query_thread, int *provided);
MOCK_MPI(Is_thread_main, int *flag);
MOCK_MPI(Get_processor_name, char *name, int *resultlen);
MOCK_MPI(Get_library_version, char *version, int *resultlen);
MOCK_MPI(Get_version, int *version, int *subversion);
MOCK_MPI(Abi_get_version, int *abi_major, int *abi_minor);
MOCK_MPI(Abi_get_info, MPI_Info *info);
MOCK_MPI(Pcontrol, const int level, ...);
MOCK_MPI(Alloc_mem, MPI_Aint size, MPI_Info info, void *baseptr);
MOCK_MPI(Free_mem, void *base);
MOCK_MPI(Get_address, const void *location, MPI_Aint *address);
MOCK_MPI_RETURNS(MPI_Aint, Aint_add, MPI_Aint base, MPI_Aint disp);
MOCK_MPI_RETURNS(MPI_Aint, Aint_diff, MPI_Aint addr1, MPI_Aint addr2);
MOCK_MPI_RETURNS(double, Wtime, void);
MOCK_MPI_RETURNS(double, Wtick, void);

MOCK_MPI(Comm_create_errhandler, MPI_Comm_errhandler_function *function,
         MPI_Errhandler *errhandler);
MOCK_MPI(Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler errhandler);
MOCK_MPI(Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler *errhandler);
MOCK_MPI(Comm_call_errhandler, MPI_Comm comm, int errorcode);
MOCK_MPI(Errhandler_free, MPI_Errhandler *errhandler);
MOCK_MPI(Error_class, int errorcode, int *errorclass);
MOCK_MPI(Error_string, int errorcode, char *string, int *resultlen);

MOCK_MPI(Info_create, MPI_Info *info);
MOCK_MPI(Info_dup, MPI_Info info, MPI_Info *newinfo);
MOCK_MPI(Info_free, MPI_Info *info);
MOCK_MPI(Info_set, MPI_Info info, const char *key, const char *value);
MOCK_MPI(Info_delete, MPI_Info info, const char *key);
MOCK_MPI(Info_get, MPI_Info info, const char *key, int valuelen, char *value, int *flag);
MOCK_MPI(Info_get_string, MPI_Info info, const char *key, int *buflen, char *value, int *flag);
MOCK_MPI(Info_get_valuelen, MPI_Info info, const char *key, int *valuelen, int *flag);
MOCK_MPI(Info_get_nkeys, MPI_Info info, int *nkeys);
MOCK_MPI(Info_get_nthkey, MPI_Info info, int n, char *key);

MOCK_MPI(Group_size, MPI_Group group, int *size);
MOCK_MPI(Group_rank, MPI_Group group, int *rank);
MOCK_MPI(Group_incl, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
MOCK_MPI(Group_excl, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
MOCK_MPI(Group_range_incl, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
MOCK_MPI(Group_range_excl, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);
MOCK_MPI(Group_union, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
MOCK_MPI(Group_intersection, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
MOCK_MPI(Group_difference, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup);
MOCK_MPI(Group_translate_ranks, MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
         int ranks2[]);
MOCK_MPI(Group_compare, MPI_Group group1, MPI_Group group2, int *result);
MOCK_MPI(Group_free, MPI_Group *group);

MOCK_MPI(Comm_rank, MPI_Comm comm, int *rank);
MOCK_MPI(Comm_size, MPI_Comm comm, int *size);
MOCK_MPI(Comm_group, MPI_Comm comm, MPI_Group *group);
MOCK_MPI(Comm_compare, MPI_Comm comm1, MPI_Comm comm2, int *result);
MOCK_MPI(Comm_test_inter, MPI_Comm comm, int *flag);
MOCK_MPI(Comm_remote_size, MPI_Comm comm, int *size);
MOCK_MPI(Comm_remote_group, MPI_Comm comm, MPI_Group *group);
MOCK_MPI(Comm_dup, MPI_Comm comm, MPI_Comm *newcomm);
MOCK_MPI(Comm_dup_with_info, MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm);
MOCK_MPI(Comm_idup, MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
MOCK_MPI(Comm_create, MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm);
MOCK_MPI(Comm_create_group, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm);
MOCK_MPI(Comm_split, MPI_Comm comm, int color, int key, MPI_Comm *newcomm);
MOCK_MPI(Comm_split_type, MPI_Comm comm, int split_type, int key, MPI_Info info,
         MPI_Comm *newcomm);
MOCK_MPI(Comm_free, MPI_Comm *comm);
MOCK_MPI(Comm_set_name, MPI_Comm comm, const char *comm_name);
MOCK_MPI(Comm_get_name, MPI_Comm comm, char *comm_name, int *resultlen);
MOCK_MPI(Comm_create_keyval, MPI_Comm_copy_attr_function *copy_fn,
         MPI_Comm_delete_attr_function *delete_fn, int *keyval, void *extra_state);
MOCK_MPI(Comm_free_keyval, int *keyval);
MOCK_MPI(Comm_set_attr, MPI_Comm comm, int keyval, void *attribute_val);
MOCK_MPI(Comm_get_attr, MPI_Comm comm, int keyval, void *attribute_val, int *flag);
MOCK_MPI(Comm_delete_attr, MPI_Comm comm, int keyval);

MOCK_MPI(Dims_create, int nnodes, int ndims, int dims[]);
MOCK_MPI(Topo_test, MPI_Comm comm, int *status);
MOCK_MPI(Cart_create, MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
         int reorder, MPI_Comm *comm_cart);
MOCK_MPI(Cartdim_get, MPI_Comm comm, int *ndims);
MOCK_MPI(Cart_get, MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]);
MOCK_MPI(Cart_rank, MPI_Comm comm, const int coords[], int *rank);
MOCK_MPI(Cart_coords, MPI_Comm comm, int rank, int maxdims, int coords[]);
MOCK_MPI(Cart_shift, MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest);
MOCK_MPI(Cart_sub, MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm);

MOCK_MPI(Type_contiguous, int count, MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_vector, int count, int blocklength, int stride, MPI_Datatype oldtype,
         MPI_Datatype *newtype);
MOCK_MPI(Type_create_hvector, int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
         MPI_Datatype *newtype);
MOCK_MPI(Type_indexed, int count, const int blocklengths[], const int displacements[],
         MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_create_hindexed, int count, const int blocklengths[],
         const MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_create_indexed_block, int count, int blocklength, const int displacements[],
         MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_create_struct, int count, const int blocklengths[], const MPI_Aint displacements[],
         const MPI_Datatype types[], MPI_Datatype *newtype);
MOCK_MPI(Type_create_subarray, int ndims, const int sizes[], const int subsizes[],
         const int starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_create_resized, MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
         MPI_Datatype *newtype);
MOCK_MPI(Type_dup, MPI_Datatype oldtype, MPI_Datatype *newtype);
MOCK_MPI(Type_commit, MPI_Datatype *datatype);
MOCK_MPI(Type_free, MPI_Datatype *datatype);
MOCK_MPI(Type_size, MPI_Datatype datatype, int *size);
MOCK_MPI(Type_size_c, MPI_Datatype datatype, MPI_Count *size);
MOCK_MPI(Type_get_extent, MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent);
MOCK_MPI(Type_get_true_extent, MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent);
MOCK_MPI(Pack, const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize,
         int *position, MPI_Comm comm);
MOCK_MPI(Unpack, const void *inbuf, int insize, int *position, void *outbuf, int outcount,
         MPI_Datatype datatype, MPI_Comm comm);
MOCK_MPI(Pack_size, int incount, MPI_Datatype datatype, MPI_Comm comm, int *size);
MOCK_MPI(Get_count, const MPI_Status *status, MPI_Datatype datatype, int *count);
MOCK_MPI(Get_count_c, const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count);
MOCK_MPI(Get_elements, const MPI_Status *status, MPI_Datatype datatype, int *count);

MOCK_MPI(Op_create, MPI_User_function *user_fn, int commute, MPI_Op *op);
MOCK_MPI(Op_commutative, MPI_Op op, int *commute);
MOCK_MPI(Op_free, MPI_Op *op);
MOCK_MPI(Reduce_local, const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype,
         MPI_Op op);

MOCK_MPI(Buffer_attach, void *buffer, int size);
MOCK_MPI(Buffer_detach, void *buffer_addr, int *size);

#define MOCK_MPI_SEND(mode) \
    MOCK_MPI(mode, const void *buf, int count, MPI_Datatype datatype, int dest, int tag, \
             MPI_Comm comm); \
    MOCK_MPI(mode##_init, const void *buf, int count, MPI_Datatype datatype, int dest, int tag, \
             MPI_Comm comm, MPI_Request *request)
#define MOCK_MPI_ISEND(mode) \
    MOCK_MPI(mode, const void *buf, int count, MPI_Datatype datatype, int dest, int tag, \
             MPI_Comm comm, MPI_Request *request)
MOCK_MPI_SEND(Send);
MOCK_MPI_SEND(Bsend);
MOCK_MPI_SEND(Ssend);
MOCK_MPI_SEND(Rsend);
MOCK_MPI_ISEND(Isend);
MOCK_MPI_ISEND(Ibsend);
MOCK_MPI_ISEND(Issend);
MOCK_MPI_ISEND(Irsend);
MOCK_MPI(Send_c, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
         MPI_Comm comm);
MOCK_MPI(Isend_c, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
         MPI_Comm comm, MPI_Request *request);

MOCK_MPI(Recv, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
         MPI_Status *status);
MOCK_MPI(Recv_c, void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
         MPI_Comm comm, MPI_Status *status);
MOCK_MPI(Irecv, void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
         MPI_Request *request);
MOCK_MPI(Irecv_c, void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
         MPI_Comm comm, MPI_Request *request);
MOCK_MPI(Recv_init, void *buf, int count, MPI_Datatype datatype, int source, int tag,
         MPI_Comm comm, MPI_Request *request);
MOCK_MPI(Sendrecv, const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
         int sendtag, void *recvbuf, int recvcount, MPI_Datatype recvtype, int source,
         int recvtag, MPI_Comm comm, MPI_Status *status);
MOCK_MPI(Sendrecv_replace, void *buf, int count, MPI_Datatype datatype, int dest, int sendtag,
         int source, int recvtag, MPI_Comm comm, MPI_Status *status);
MOCK_MPI(Probe, int source, int tag, MPI_Comm comm, MPI_Status *status);
MOCK_MPI(Iprobe, int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);
MOCK_MPI(Mprobe, int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status);
MOCK_MPI(Improbe, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
         MPI_Status *status);
MOCK_MPI(Mrecv, void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
         MPI_Status *status);
MOCK_MPI(Imrecv, void *buf, int count, MPI_Datatype datatype, MPI_Message *message,
         MPI_Request *request);

MOCK_MPI(Start, MPI_Request *request);
MOCK_MPI(Startall, int count, MPI_Request requests[]);
MOCK_MPI(Wait, MPI_Request *request, MPI_Status *status);
MOCK_MPI(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status);
MOCK_MPI(Waitsome, int incount, MPI_Request requests[], int *outcount, int indices[],
         MPI_Status statuses[]);
MOCK_MPI(Waitall, int count, MPI_Request requests[], MPI_Status statuses[]);
MOCK_MPI(Test, MPI_Request *request, int *flag, MPI_Status *status);
MOCK_MPI(Testany, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
MOCK_MPI(Testsome, int incount, MPI_Request requests[], int *outcount, int indices[],
         MPI_Status statuses[]);
MOCK_MPI(Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
MOCK_MPI(Request_get_status, MPI_Request request, int *flag, MPI_Status *status);
MOCK_MPI(Request_free, MPI_Request *request);
MOCK_MPI(Cancel, MPI_Request *request);
MOCK_MPI(Test_cancelled, const MPI_Status *status, int *flag);

/* A collective and its non-blocking twin, which takes a request more. */
#define MOCK_MPI_COLLECTIVE(name, iname, ...) \
    MOCK_MPI(name, __VA_ARGS__); \
    MOCK_MPI(iname, __VA_ARGS__, MPI_Request *request)
MOCK_MPI_COLLECTIVE(Barrier, Ibarrier, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Bcast, Ibcast, void *buffer, int count, MPI_Datatype datatype, int root,
                    MPI_Comm comm);
MOCK_MPI(Bcast_c, void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Gather, Igather, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Gatherv, Igatherv, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, const int recvcounts[], const int displs[],
                    MPI_Datatype recvtype, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Scatter, Iscatter, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Scatterv, Iscatterv, const void *sendbuf, const int sendcounts[],
                    const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount,
                    MPI_Datatype recvtype, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Allgather, Iallgather, const void *sendbuf, int sendcount,
                    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                    MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Allgatherv, Iallgatherv, const void *sendbuf, int sendcount,
                    MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                    const int displs[], MPI_Datatype recvtype, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Alltoall, Ialltoall, const void *sendbuf, int sendcount,
                    MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype,
                    MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Alltoallv, Ialltoallv, const void *sendbuf, const int sendcounts[],
                    const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Alltoallw, Ialltoallw, const void *sendbuf, const int sendcounts[],
                    const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                    const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                    MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Reduce, Ireduce, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Allreduce, Iallreduce, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
MOCK_MPI(Allreduce_c, const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
         MPI_Op op, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Reduce_scatter, Ireduce_scatter, const void *sendbuf, void *recvbuf,
                    const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, const void *sendbuf,
                    void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                    MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Scan, Iscan, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
MOCK_MPI_COLLECTIVE(Exscan, Iexscan, const void *sendbuf, void *recvbuf, int count,
                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

MOCK_MPI(Win_create, void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
         MPI_Win *win);
MOCK_MPI(Win_allocate, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
         MPI_Win *win);
MOCK_MPI(Win_free, MPI_Win *win);
MOCK_MPI(Win_fence, int assert, MPI_Win win);
MOCK_MPI(Put, const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
         MPI_Win win);
MOCK_MPI(Get, void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
         MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win);
MOCK_MPI(Accumulate, const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
         int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
         MPI_Op op, MPI_Win win);

#define MOCK_MPI_CONVERSIONS(type, name) \
    MOCK_MPI_RETURNS(MPI_Fint, name##_c2f, type handle); \
    MOCK_MPI_RETURNS(type, name##_f2c, MPI_Fint handle); \
    MOCK_MPI_RETURNS(int, name##_toint, type handle); \
    MOCK_MPI_RETURNS(type, name##_fromint, int handle)
MOCK_MPI_CONVERSIONS(MPI_Comm, Comm);
MOCK_MPI_CONVERSIONS(MPI_Datatype, Type);
MOCK_MPI_CONVERSIONS(MPI_Errhandler, Errhandler);
MOCK_MPI_CONVERSIONS(MPI_Group, Group);
MOCK_MPI_CONVERSIONS(MPI_Info, Info);
MOCK_MPI_CONVERSIONS(MPI_Message, Message);
MOCK_MPI_CONVERSIONS(MPI_Op, Op);
MOCK_MPI_CONVERSIONS(MPI_Request, Request);
MOCK_MPI_CONVERSIONS(MPI_Win, Win);

#if defined(__cplusplus)
}
#endif

#endif
