/* What surrounds communication: attributes, info, errors, conversions, and the
 * questions about the environment. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int copies, deletes, last_deleted;

static int copy_fn(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int r;
    (void)keyval;
    MPI_Comm_rank(comm, &r);
    CHECK(extra == &copies);
    deletes++;
    last_deleted = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

static int to_finalize = 2;

static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    int flag;
    MPI_Finalized(&flag);
    CHECK(comm == MPI_COMM_SELF && !flag);
    CHECK_EQUAL((intptr_t)value, to_finalize);
    to_finalize--;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int counting, plain, lost, flag, *number;
    void *value;
    MPI_Comm a, b;
    MPI_Comm_create_keyval(copy_fn, delete_fn, &counting, &copies);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &lost, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_get_attr(a, counting, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(a, counting, (void *)10);
    MPI_Comm_set_attr(a, plain, (void *)20);
    MPI_Comm_set_attr(a, lost, (void *)30);
    MPI_Comm_set_attr(a, counting, (void *)11);
    CHECK(deletes == 1 && last_deleted == 10);
    MPI_Comm_dup(a, &b);
    CHECK_EQUAL(copies, 1);
    MPI_Comm_get_attr(b, counting, &value, &flag);
    CHECK(flag && value == (void *)12);
    MPI_Comm_get_attr(b, plain, &value, &flag);
    CHECK(flag && value == (void *)20);
    MPI_Comm_get_attr(b, lost, &value, &flag);
    CHECK(!flag);
    MPI_Comm_delete_attr(b, counting);
    CHECK(deletes == 2 && last_deleted == 12);
    MPI_Comm_free(&b);
    CHECK_EQUAL(deletes, 2);
    MPI_Comm_free_keyval(&counting);
    CHECK_EQUAL(counting, MPI_KEYVAL_INVALID);
    MPI_Comm_free(&a);
    CHECK(deletes == 3 && last_deleted == 11);

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
    CHECK(flag && *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &number, &flag);
    CHECK(flag && *number == 1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &number, &flag);
    CHECK(flag && *number == size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    CHECK(flag && *number == 0);

    int last;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &last, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, (void *)1);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &last, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, (void *)2);
}

static void info(void)
{
    MPI_Info a, b;
    char value[20], key[MPI_MAX_INFO_KEY];
    int n, flag;
    MPI_Info_create(&a);
    MPI_Info_set(a, "one", "1");
    MPI_Info_set(a, "two", "2");
    MPI_Info_set(a, "one", "eins");
    MPI_Info_get(a, "one", 19, value, &flag);
    CHECK(flag && strcmp(value, "eins") == 0);
    MPI_Info_get(a, "one", 2, value, &flag);
    CHECK(flag && strcmp(value, "ei") == 0);
    MPI_Info_get(a, "three", 19, value, &flag);
    CHECK(!flag);
    n = sizeof value;
    MPI_Info_get_string(a, "two", &n, value, &flag);
    CHECK(flag && n == 2 && strcmp(value, "2") == 0);
    MPI_Info_get_valuelen(a, "one", &n, &flag);
    CHECK(flag && n == 4);
    MPI_Info_dup(a, &b);
    MPI_Info_delete(a, "one");
    MPI_Info_get_nkeys(a, &n);
    CHECK_EQUAL(n, 1);
    MPI_Info_get_nthkey(a, 0, key);
    CHECK(strcmp(key, "two") == 0);
    MPI_Info_get_nkeys(b, &n);
    CHECK_EQUAL(n, 2);
    MPI_Info_free(&a);
    MPI_Info_free(&b);
    CHECK(a == MPI_INFO_NULL);
}

static int handled;
static void handler(MPI_Comm *comm, int *error, ...)
{
    CHECK(*comm == MPI_COMM_WORLD && *error == MPI_ERR_TAG);
    handled++;
}

static void errors(void)
{
    static const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Errhandler mine, old;
    MPI_Comm c;
    MPI_Request r;
    MPI_Datatype uncommitted;
    int x = 0, y[2] = {0}, n, class;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_get_errhandler(world, &old);
    CHECK(old == MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    CHECK_EQUAL(MPI_Init(NULL, NULL), MPI_ERR_OTHER);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, size, 0, world), MPI_ERR_RANK);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK);
    CHECK_EQUAL(MPI_Irecv(&x, 1, MPI_INT, -7, 0, world, &r), MPI_ERR_RANK);
    CHECK_EQUAL(MPI_Send(&x, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_EQUAL(MPI_Comm_rank((MPI_Comm)12345, &x), MPI_ERR_COMM);
    CHECK_EQUAL(MPI_Comm_size((MPI_Comm)MPI_INT, &x), MPI_ERR_COMM);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    CHECK_EQUAL(MPI_Send(&x, 1, uncommitted, 0, 0, world), MPI_ERR_TYPE);
    MPI_Type_free(&uncommitted);
    CHECK_EQUAL(MPI_Type_free(&(MPI_Datatype){MPI_INT}), MPI_ERR_TYPE);
    CHECK_EQUAL(MPI_Bcast(&x, 1, MPI_INT, size, world), MPI_ERR_ROOT);
    CHECK_EQUAL(MPI_Allreduce(&x, y, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
    CHECK_EQUAL(MPI_Comm_free(&(MPI_Comm){world}), MPI_ERR_COMM);
    CHECK_EQUAL(MPI_Comm_remote_size(world, &n), MPI_ERR_COMM);
    r = MPI_REQUEST_NULL;
    CHECK_EQUAL(MPI_Request_free(&r), MPI_ERR_REQUEST);
    CHECK_EQUAL(MPI_Start(&r), MPI_ERR_REQUEST);

    /* Truncation, alone and among others. */
    MPI_Status s[2];
    MPI_Send(y, 2, MPI_INT, rank, 1, world);
    x = 9;
    CHECK_EQUAL(MPI_Recv(&x, 1, MPI_INT, rank, 1, world, s), MPI_ERR_TRUNCATE);
    CHECK_EQUAL(x, 0);
    MPI_Request two[2];
    MPI_Irecv(&x, 1, MPI_INT, rank, 2, world, &two[0]);
    MPI_Irecv(y, 2, MPI_INT, rank, 3, world, &two[1]);
    MPI_Send(y, 2, MPI_INT, rank, 2, world);
    MPI_Send(y, 2, MPI_INT, rank, 3, world);
    CHECK_EQUAL(MPI_Waitall(2, two, s), MPI_ERR_IN_STATUS);
    CHECK(s[0].MPI_ERROR == MPI_ERR_TRUNCATE && s[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(two[0] == MPI_REQUEST_NULL && two[1] == MPI_REQUEST_NULL);

    /* Handlers are inherited; a handler may be freed while it is set. */
    MPI_Comm_dup(world, &c);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, size, 0, c), MPI_ERR_RANK);
    MPI_Comm_free(&c);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(world, mine);
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL);
    CHECK_EQUAL(MPI_Send(&x, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG);
    MPI_Comm_call_errhandler(world, MPI_ERR_TAG);
    CHECK_EQUAL(handled, 2);
    MPI_Comm_set_errhandler(world, old);
    MPI_Error_string(MPI_ERR_RANK, text, &n);
    CHECK(strcmp(text, "MPI_ERR_RANK: invalid rank") == 0 && n == (int)strlen(text));
    MPI_Error_class(MPI_ERR_RANK, &class);
    CHECK_EQUAL(class, MPI_ERR_RANK);
}

static void environment(void)
{
    int a, b, flag;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_version(&a, &b);
    CHECK(a == 5 && b == 0);
    MPI_Abi_get_version(&a, &b);
    CHECK(a == 1 && b == 0);
    MPI_Info abi;
    MPI_Abi_get_info(&abi);
    MPI_Info_get(abi, "mpi_aint_size", 10, text, &flag);
    CHECK(flag && strcmp(text, "8") == 0);
    MPI_Info_free(&abi);
    MPI_Get_library_version(text, &a);
    CHECK(a == (int)strlen(text) && strstr(text, "mock"));
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    MPI_Is_thread_main(&flag);
    CHECK(flag);
    MPI_Query_thread(&a);
    CHECK_EQUAL(a, MPI_THREAD_SINGLE);
    MPI_Pcontrol(1, "ignored");
    double t = MPI_Wtime();
    CHECK(t >= 0 && MPI_Wtime() >= t && MPI_Wtick() == 1e-9);
    int *memory;
    MPI_Alloc_mem(100 * sizeof *memory, MPI_INFO_NULL, &memory);
    memory[99] = 1;
    MPI_Free_mem(memory);
    CHECK_EQUAL(fcntl(100, F_GETFD), FD_CLOEXEC);
}

static uint64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* In real time working takes processor time and sleeping takes time. */
static void passing_time(bool is_virtual)
{
    uint64_t cpu = cpu_time(), now = mock_now();
    mock_compute(2000000);
    CHECK(is_virtual ? mock_now() == now + 2000000 : cpu_time() >= cpu + 2000000);
    now = mock_now();
    struct timespec t = {0, 1000000};
    CHECK(usleep(1000) == 0 && nanosleep(&t, NULL) == 0);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0 && sleep(0) == 0);
    CHECK(is_virtual ? mock_now() == now + 3000000 : mock_now() >= now + 3000000);
    CHECK(marple_clock_external() == (is_virtual ? mock_now() : UINT64_MAX));
}

static void conversions(void)
{
    MPI_Comm c;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_SELF, &c);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(c)) == c && MPI_Comm_c2f(c) != MPI_Comm_c2f(MPI_COMM_WORLD));
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(c)) == c);
    CHECK_EQUAL(MPI_Comm_c2f(MPI_COMM_WORLD), 0x101);
    MPI_Irecv(NULL, 0, MPI_INT, 0, 0, c, &r);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(r)) == r);
    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_INT)) == MPI_INT);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    int flag;
    MPI_Initialized(&flag);
    CHECK(!flag);
    start(&argc, &argv);
    attributes();
    info();
    errors();
    environment();
    conversions();
    passing_time(strstr(getenv("MOCKMPI"), "virtual=1"));
    MPI_Finalize();
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(flag);
    CHECK_EQUAL(to_finalize, 0);
    return 0;
}
