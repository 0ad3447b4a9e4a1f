/* The published values that a tool for the standard ABI relies on most. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLE(name, value) _Static_assert((uintptr_t)name == (value), #name)
#define VALUE(name, value) _Static_assert(name == (value), #name)

_Static_assert(sizeof(MPI_Status) == 32, "status");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0, "source");
_Static_assert(offsetof(MPI_Status, MPI_TAG) == 4, "tag");
_Static_assert(offsetof(MPI_Status, MPI_ERROR) == 8, "error");
_Static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8, "int");
_Static_assert(sizeof(MPI_Comm) == sizeof(void *), "handle");

HANDLE(MPI_COMM_NULL, 0x100);
HANDLE(MPI_COMM_WORLD, 0x101);
HANDLE(MPI_COMM_SELF, 0x102);
HANDLE(MPI_GROUP_NULL, 0x108);
HANDLE(MPI_GROUP_EMPTY, 0x109);
HANDLE(MPI_WIN_NULL, 0x110);
HANDLE(MPI_MESSAGE_NULL, 0x128);
HANDLE(MPI_MESSAGE_NO_PROC, 0x129);
HANDLE(MPI_INFO_NULL, 0x130);
HANDLE(MPI_ERRHANDLER_NULL, 0x140);
HANDLE(MPI_ERRORS_ARE_FATAL, 0x141);
HANDLE(MPI_ERRORS_RETURN, 0x142);
HANDLE(MPI_REQUEST_NULL, 0x180);
HANDLE(MPI_DATATYPE_NULL, 0x200);
HANDLE(MPI_INT, 0x209);
HANDLE(MPI_DOUBLE, 0x214);
HANDLE(MPI_CHAR, 0x243);
HANDLE(MPI_BYTE, 0x247);
HANDLE(MPI_OP_NULL, 0x20);
HANDLE(MPI_SUM, 0x21);
HANDLE(MPI_MAXLOC, 0x39);
HANDLE(MPI_STATUS_IGNORE, 0);
HANDLE(MPI_STATUSES_IGNORE, 0);
HANDLE(MPI_BOTTOM, 0);
HANDLE(MPI_IN_PLACE, 1);
VALUE(MPI_ANY_SOURCE, -1);
VALUE(MPI_ANY_TAG, -2);
VALUE(MPI_PROC_NULL, -3);
VALUE(MPI_ROOT, -4);
VALUE(MPI_UNDEFINED, -32766);
VALUE(MPI_THREAD_SINGLE, 0);
VALUE(MPI_THREAD_FUNNELED, 1024);
VALUE(MPI_THREAD_SERIALIZED, 2048);
VALUE(MPI_THREAD_MULTIPLE, 4096);
VALUE(MPI_ERR_TRUNCATE, 15);
VALUE(MPI_ERR_IN_STATUS, 19);
VALUE(MPI_TAG_UB, 501);
VALUE(MPI_COMM_TYPE_SHARED, 221);
VALUE(MPI_IDENT, 201);
VALUE(MPI_KEYVAL_INVALID, 0);

int main(void)
{
    return 0;
}
