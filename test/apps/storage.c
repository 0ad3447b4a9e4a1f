/*
 * Known input and output, by storage DIR CASE. Results are checked, so that
 * whoever stands between must have changed nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, ranks;
static const char *place;
static char block[1 << 20];

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "storage: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 9);
}
#define MUST(x) must((x) != 0, #x)

static char *path(const char *format, ...)
{
    static char out[4096];
    va_list more;
    va_start(more, format);
    int n = snprintf(out, sizeof out, "%s/", place);
    vsnprintf(out + n, sizeof out - (size_t)n, format, more);
    va_end(more);
    return out;
}

/* Rank 0 writes 3 MiB in three calls and reads 1 MiB of it; everybody reads nothing of its own. */
static void totals(void)
{
    if (rank == 0) {
        int fd = open(path("totals"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        MUST(fd >= 0);
        for (int i = 0; i < 3; i++)
            MUST(write(fd, block, sizeof block) == sizeof block);
        MUST(pread(fd, block, sizeof block, 0) == sizeof block);
        MUST(close(fd) == 0);
    }
}

/* Rank 1 holds a lot. */
static void memory(void)
{
    if (rank == 1) {
        char *much = malloc(400u << 20);
        MUST(much);
        memset(much, 1, 400u << 20);
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(*(volatile char *)(much + (200u << 20)) == 1);
        free(much);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Every rank does the same, to a file of its own. */
static void known(void)
{
    char *name = path("known-%d", rank);
    struct stat info;
    MUST(access(name, F_OK) != 0 && errno == ENOENT);
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    MUST(fd >= 0);
    for (int i = 0; i < 3; i++)
        MUST(write(fd, block, sizeof block) == sizeof block);
    for (int i = 0; i < 100; i++)
        MUST(write(fd, block, 10) == 10); /* small, and within blocks */
    MUST(pwrite(fd, block, 4096, 8192) == 4096);
    MUST(pwrite(fd, block, 4096, 1) == 4096); /* unaligned */
    MUST(write(fd, block, 0) == 0);
    MUST(lseek(fd, 0, SEEK_END) == 3 * (off_t)sizeof block + 1000); /* and written to the right places */
    MUST(pread(fd, block, 100, 0) == 100);
    MUST(pread(fd, block, 8192, 4096) == 8192);
    MUST(fsync(fd) == 0 && fdatasync(fd) == 0);
    MUST(fstat(fd, &info) == 0 && info.st_size == 3 * (off_t)sizeof block + 1000);
    MUST(ftruncate(fd, 100) == 0);
    MUST(close(fd) == 0);
    MUST(stat(name, &info) == 0 && info.st_size == 100 && (info.st_mode & 0777) == 0600);
    MUST(unlink(name) == 0);
}

static void streams(void)
{
    FILE *stream = fopen(path("streams"), "w+");
    MUST(stream);
    for (int i = 0; i < 1000; i++)
        MUST(fwrite(block, 8, 2, stream) == 2);
    for (int i = 0; i < 10; i++)
        MUST(fprintf(stream, "%d %s\n", i, "lines") == 8);
    MUST(fputs("end", stream) >= 0);
    MUST(fflush(stream) == 0);
    MUST(ftell(stream) == 16083);
    rewind(stream);
    MUST(fread(block, 1, 10000, stream) == 10000);
    MUST(fclose(stream) == 0);
    char *text;
    size_t length;
    MUST(stream = open_memstream(&text, &length)); /* of no file */
    MUST(fprintf(stream, "memory") == 6 && fclose(stream) == 0 && length == 6);
    free(text);
}

/* What errno says, and what a descriptor that is none gives. */
static void errors(void)
{
    int fd = open(path("errors"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    errno = 77;
    MUST(write(fd, block, 10) == 10 && errno == 77);
    MUST(pread(fd, block, 10, 0) == 10 && errno == 77);
    MUST(close(fd) == 0 && errno == 77);
    MUST(write(fd, block, 10) == -1 && errno == EBADF);
    MUST(close(fd) == -1 && errno == EBADF);
    MUST(open(path("no/such/place"), O_RDONLY) == -1 && errno == ENOENT);
    MUST(fopen(path("no/such/place"), "r") == NULL && errno == ENOENT);
    MUST(write(-1, block, 10) == -1 && errno == EBADF);
    MUST(read(1 << 20, block, 10) == -1 && errno == EBADF);
}

static void many(void)
{
    for (int i = 0; i < 300; i++) {
        int fd = open(path("many-%d", i), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        MUST(fd >= 0 && write(fd, block, 10) == 10 && close(fd) == 0);
    }
}

static int shared;
static void *writes(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        MUST(pwrite(shared, block, 10, 10 * i) == 10);
    return NULL;
}

static void threads(void)
{
    MUST((shared = open(path("threads-%d", rank), O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0);
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&thread[i], NULL, writes, NULL) == 0);
    writes(NULL);
    for (int i = 0; i < 2; i++)
        MUST(pthread_join(thread[i], NULL) == 0);
    MUST(close(shared) == 0);
}

/* What children do is not this rank's; what they do to descriptors means nothing here. */
static void children(void)
{
    int fd = open(path("children-%d", rank), O_WRONLY | O_CREAT | O_TRUNC, 0600), status;
    MUST(fd >= 0 && write(fd, block, 10) == 10);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 5; i++)
            if (write(fd, block, 10) != 10)
                _exit(1);
        _exit(close(fd));
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    child = vfork();
    if (child == 0) {
        if (write(fd, block, 10) != 10 || close(fd) || dup2(1, fd) != fd)
            _exit(1);
        execl("/bin/true", "true", NULL);
        _exit(2);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    MUST(write(fd, block, 10) == 10 && close(fd) == 0);
}

static int told = -1;
static void tell(int signal)
{
    (void)signal;
    if (write(told, block, 10) != 10)
        _exit(3);
}

/* Handlers that write, on the thread's stack and on one of their own, while something else is written. */
static void handlers(void)
{
    static char stack[1 << 16];
    int fd = open(path("handlers-%d", rank), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    MUST((told = open(path("told-%d", rank), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600)) >= 0);
    MUST(sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL) == 0);
    MUST(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = tell}, NULL) == 0);
    MUST(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = tell, .sa_flags = SA_ONSTACK}, NULL) == 0);
    MUST(sigaction(SIGALRM, &(struct sigaction){.sa_handler = tell, .sa_flags = SA_ONSTACK | SA_RESTART}, NULL) == 0);
    for (int i = 0; i < 100; i++)
        MUST(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0);
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 20000; i++)
        MUST(write(fd, block, 100) == 100);
    MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
    struct stat info;
    MUST(fstat(told, &info) == 0);
    if (rank == 0)
        printf("handlers %ld\n", (long)info.st_size / 10);
    MUST(close(fd) == 0 && close(told) == 0);
}

static int before = -1; /* opened before MPI_Init */

/* Descriptors that come about in other ways, and what is no file. */
static void descriptors(void)
{
    int fd = open(path("descriptors"), O_WRONLY | O_CREAT | O_TRUNC, 0600), ends[2];
    MUST(fd >= 0 && write(before, block, 11) == 11);
    int copy = dup(fd), free = fcntl(fd, F_DUPFD, 300), other = dup2(fd, free), third = fcntl(fd, F_DUPFD, 200);
    MUST(copy >= 0 && free >= 300 && other == free && third >= 200);
    MUST(write(copy, block, 12) == 12 && write(other, block, 13) == 13 && write(third, block, 14) == 14);
    MUST(dup2(before, other) == other && write(other, block, 15) == 15); /* another file by the same number */
    MUST(close(copy) == 0 && close(other) == 0 && close(third) == 0 && close(fd) == 0);
    MUST(pipe(ends) == 0 && write(ends[1], block, 16) == 16 && read(ends[0], block, 16) == 16);
    MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
    MUST((fd = open("/dev/null", O_WRONLY)) >= 0 && write(fd, block, 17) == 17 && close(fd) == 0);
}

static void killed(void)
{
    int fd = open(path("killed-%d", rank), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0);
    for (int i = 0; i < 100; i++)
        MUST(write(fd, block, 10) == 10);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
}

static void mpi(void)
{
#ifdef MPI_MODE_CREATE /* the mock has no files */
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    const int n = 8192;
    MUST(!MPI_File_open(MPI_COMM_WORLD, path("mpi"), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    for (int i = 0; i < 3; i++)
        MUST(!MPI_File_write_at(file, rank * n, block, 10, MPI_BYTE, &status));
    MUST(!MPI_File_write_at_all(file, rank * n, block, n, MPI_BYTE, &status));
    MUST(!MPI_File_iwrite_at(file, rank * n, block, n, MPI_BYTE, &request));
    MUST(!MPI_Wait(&request, &status));
    MUST(!MPI_File_read_at(file, rank * n, block, 100, MPI_BYTE, &status));
    MUST(!MPI_File_read_at_all(file, rank * n, block, n, MPI_BYTE, &status));
    MUST(!MPI_File_close(&file));
#endif
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"totals", totals},     {"memory", memory},     {"known", known},       {"streams", streams}, {"errors", errors},
                 {"many", many},         {"threads", threads},   {"children", children}, {"handlers", handlers},
                 {"descriptors", descriptors}, {"killed", killed}, {"mpi", mpi}};
    MUST(argc > 2);
    place = argv[1];
    if (strcmp(argv[2], "descriptors") == 0)
        before = open(path("before"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[2]) == 0)
            cases[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
