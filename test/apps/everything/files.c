/* Files: every way to read and write, each checked by what is in the file. */
#include "expect.h"

#ifdef MOCK_MPI_H /* has none */
void files(const char *directory)
{
    (void)directory;
}
#else

enum { N = 6 };
#define BYTES ((long long)(N * sizeof(int)))

static MPI_Comm comm;
static MPI_File file;
static int me, n;
static int out[N], in[N];
#define AT on(comm)

static void fill(int salt)
{
    for (int i = 0; i < N; i++) {
        out[i] = me * 1000 + salt * 10 + i;
        in[i] = -1;
    }
}

static bool same(void)
{
    return memcmp(out, in, sizeof in) == 0;
}

/* Shared pointers and ordered access: it is somebody's block, complete. */
static bool whole(int salt)
{
    for (int i = 0; i < N; i++)
        if (in[i] != in[0] + i)
            return false;
    return in[0] % 1000 == salt * 10;
}

static void rewind_file(void)
{
    DO_ON(File_sync, comm, file);
    DO_ON(Barrier, comm, comm);
    DO_ON(File_seek, comm, file, 0, MPI_SEEK_SET);
    DO_ON(File_seek_shared, comm, file, 0, MPI_SEEK_SET);
    DO_ON(Barrier, comm, comm); /* in Open MPI ranks may leave before the pointer is set */
}

static void wait_for(MPI_Request *request, const char *reads)
{
    MPI_Status status;
    int count;
    DO(Wait, request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    if (reads) {
        moved(reads, AT, 0, BYTES);
        messages(reads, 1);
    }
}

#define FORMS(c)                                                                                \
    do {                                                                                        \
        MPI_Request request;                                                                    \
        MPI_Status status;                                                                      \
        MPI_Offset mine = (MPI_Offset)me * N;                                                   \
        int salt = 1;                                                                           \
        /* own pointer: everybody at its own place */                                           \
        fill(salt);                                                                             \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_write##c, AT, BYTES, 0, file, out, N, MPI_INT, MPI_STATUS_IGNORE);            \
        rewind_file();                                                                          \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_read##c, AT, 0, BYTES, file, in, N, MPI_INT, &status);                        \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_write_all##c, AT, BYTES, 0, file, out, N, MPI_INT, &status);                  \
        rewind_file();                                                                          \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_read_all##c, AT, 0, BYTES, file, in, N, MPI_INT, MPI_STATUS_IGNORE);          \
        CHECK(same());                                                                          \
        /* explicit place */                                                                    \
        fill(++salt);                                                                           \
        CALL(File_write_at##c, AT, BYTES, 0, file, mine, out, N, MPI_INT, MPI_STATUS_IGNORE);   \
        CALL(File_read_at##c, AT, 0, BYTES, file, mine, in, N, MPI_INT, MPI_STATUS_IGNORE);     \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        CALL(File_write_at_all##c, AT, BYTES, 0, file, mine, out, N, MPI_INT, &status);         \
        CALL(File_read_at_all##c, AT, 0, BYTES, file, mine, in, N, MPI_INT, &status);           \
        CHECK(same());                                                                          \
        /* shared pointer */                                                                    \
        fill(++salt);                                                                           \
        rewind_file();                                                                          \
        CALL(File_write_shared##c, AT, BYTES, 0, file, out, N, MPI_INT, MPI_STATUS_IGNORE);     \
        rewind_file();                                                                          \
        CALL(File_read_shared##c, AT, 0, BYTES, file, in, N, MPI_INT, MPI_STATUS_IGNORE);       \
        CHECK(whole(salt));                                                                     \
        fill(++salt);                                                                           \
        rewind_file();                                                                          \
        CALL(File_write_ordered##c, AT, BYTES, 0, file, out, N, MPI_INT, &status);              \
        rewind_file();                                                                          \
        CALL(File_read_ordered##c, AT, 0, BYTES, file, in, N, MPI_INT, &status);                \
        CHECK(same());                                                                          \
        /* non-blocking */                                                                      \
        fill(++salt);                                                                           \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_iwrite##c, AT, BYTES, 0, file, out, N, MPI_INT, &request);                    \
        wait_for(&request, NULL);                                                               \
        rewind_file();                                                                          \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_iread##c, AT, 0, 0, file, in, N, MPI_INT, &request);                          \
        wait_for(&request, "MPI_File_iread" #c);                                                \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_iwrite_all##c, AT, BYTES, 0, file, out, N, MPI_INT, &request);                \
        wait_for(&request, NULL);                                                               \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        CALL(File_iread_all##c, AT, 0, 0, file, in, N, MPI_INT, &request);                      \
        wait_for(&request, "MPI_File_iread_all" #c);                                            \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        CALL(File_iwrite_at##c, AT, BYTES, 0, file, mine, out, N, MPI_INT, &request);           \
        wait_for(&request, NULL);                                                               \
        CALL(File_iread_at##c, AT, 0, 0, file, mine, in, N, MPI_INT, &request);                 \
        wait_for(&request, "MPI_File_iread_at" #c);                                             \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        CALL(File_iwrite_at_all##c, AT, BYTES, 0, file, mine, out, N, MPI_INT, &request);       \
        wait_for(&request, NULL);                                                               \
        CALL(File_iread_at_all##c, AT, 0, 0, file, mine, in, N, MPI_INT, &request);             \
        wait_for(&request, "MPI_File_iread_at_all" #c);                                         \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        rewind_file();                                                                          \
        CALL(File_iwrite_shared##c, AT, BYTES, 0, file, out, N, MPI_INT, &request);             \
        wait_for(&request, NULL);                                                               \
        rewind_file();                                                                          \
        CALL(File_iread_shared##c, AT, 0, 0, file, in, N, MPI_INT, &request);                   \
        wait_for(&request, "MPI_File_iread_shared" #c);                                         \
        CHECK(whole(salt));                                                                     \
        DO_ON(Barrier, comm, comm); /* it was somebody else's, who writes there next */         \
        /* in two halves: bytes are counted at the end */                                       \
        fill(++salt);                                                                           \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        DO_ON(File_write_all_begin##c, comm, file, out, N, MPI_INT);                            \
        CALL(File_write_all_end, AT, BYTES, 0, file, out, MPI_STATUS_IGNORE);                   \
        DO_ON(File_seek, comm, file, mine, MPI_SEEK_SET);                                       \
        DO_ON(File_read_all_begin##c, comm, file, in, N, MPI_INT);                              \
        CALL(File_read_all_end, AT, 0, BYTES, file, in, &status);                               \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        DO_ON(File_write_at_all_begin##c, comm, file, mine, out, N, MPI_INT);                   \
        CALL(File_write_at_all_end, AT, BYTES, 0, file, out, &status);                          \
        DO_ON(File_read_at_all_begin##c, comm, file, mine, in, N, MPI_INT);                     \
        CALL(File_read_at_all_end, AT, 0, BYTES, file, in, MPI_STATUS_IGNORE);                  \
        CHECK(same());                                                                          \
        fill(++salt);                                                                           \
        rewind_file();                                                                          \
        DO_ON(File_write_ordered_begin##c, comm, file, out, N, MPI_INT);                        \
        CALL(File_write_ordered_end, AT, BYTES, 0, file, out, &status);                         \
        rewind_file();                                                                          \
        DO_ON(File_read_ordered_begin##c, comm, file, in, N, MPI_INT);                          \
        CALL(File_read_ordered_end, AT, 0, BYTES, file, in, &status);                           \
        CHECK(same());                                                                          \
    } while (0)

/* Reading beyond the end gives less than was asked for. */
static void at_the_end(void)
{
    MPI_Status status;
    MPI_Offset length = 0, place;
    int room[2 * N];
    rewind_file();
    DO_ON(File_get_position_shared, comm, file, &place);
    CHECK(place == 0);
    DO_ON(File_get_size, comm, file, &length);
    CHECK(length == n * BYTES);
    fill(0);
    MPI_Offset last = (MPI_Offset)(n - 1) * N;
    DO_ON(File_seek, comm, file, last, MPI_SEEK_SET);
    CALL(File_read, AT, 0, BYTES, file, room, 2 * N, MPI_INT, &status);
    int count;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
}

static void everything_on(MPI_Comm one, const char *path)
{
    comm = one;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    DO_ON(File_open, comm, comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    DO_ON(File_set_view, comm, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    DO_ON(File_set_size, comm, file, n * BYTES);
    DO_ON(File_set_atomicity, comm, file, 1);
    FORMS();
    COUNTS(FORMS(_c);)
    DO_ON(File_set_atomicity, comm, file, 0);
    at_the_end();
    DO_ON(Barrier, comm, comm); /* Open MPI's preallocation lets the file grow for a moment */
    DO_ON(File_preallocate, comm, file, n * BYTES);
    DO_ON(File_close, comm, &file);
    DO_ON(Barrier, comm, comm);
    if (me == 0)
        DO(File_delete, path, MPI_INFO_NULL);
    DO_ON(Barrier, comm, comm);
}

void files(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/data", directory);
    everything_on(MPI_COMM_WORLD, path);
    snprintf(path, sizeof path, "%s/data-%d", directory, rank);
    everything_on(MPI_COMM_SELF, path);
}
#endif
