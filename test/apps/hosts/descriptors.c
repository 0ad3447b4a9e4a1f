/*
 * File descriptors, working directory and umask, and what else a guest might leave changed.
 *
 *     descriptors MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 256 };

/* What each descriptor refers to; "" where it is closed. */
struct table {
    char target[MOST][100];
};

static void read_table(struct table *t)
{
    memset(t, 0, sizeof *t);
    for (int fd = 0; fd < MOST; fd++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, t->target[fd], sizeof t->target[fd] - 1) < 0)
            t->target[fd][0] = 0;
    }
}

static void expect_table(const struct table *before, int some_may_be_closed)
{
    struct table now;
    read_table(&now);
    for (int fd = 0; fd < MOST; fd++)
        if (!some_may_be_closed || *now.target[fd])
            expect(!strcmp(before->target[fd], now.target[fd]), "descriptor %d is \"%s\", was \"%s\"", fd, now.target[fd],
                   before->target[fd]);
}

static void same(void)
{
    static struct table before;
    MPI_Init(NULL, NULL);
    steps(1);
    read_table(&before);
    steps(MANY);
    expect_table(&before, 0);
    MPI_Finalize();
    expect_table(&before, 1);
}

/* A reader that has made stderr non-blocking, as some shells and debuggers do. */
static void nonblocking(void)
{
    static struct table before;
    MPI_Init(NULL, NULL);
    steps(1);
    fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
    read_table(&before);
    steps(MANY);
    expect_table(&before, 0);
    MPI_Finalize();
    expect_table(&before, 1);
    expect(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, "stderr blocks again");
}

/* The program's data gets the number of stderr, which it has closed. */
static void stderr_is_data(void)
{
    char name[] = "data-XXXXXX", text[10] = "";
    MPI_Init(NULL, NULL);
    close(STDERR_FILENO);
    int fd = mkstemp(name);
    unlink(name);
    expect(fd == STDERR_FILENO, "descriptor %d", fd);
    steps(MANY);
    expect(write(fd, "data", 4) == 4, "write");
    MPI_Finalize();
    expect(lseek(fd, 0, SEEK_END) == 4 && pread(fd, text, 4, 0) == 4 && !strcmp(text, "data"), "the file holds something else");
}

/* The same, and the program ends without MPI_Finalize; the file stays, for others to look at. */
static void stderr_is_data_at_exit(void)
{
    MPI_Init(NULL, NULL);
    close(STDERR_FILENO);
    int fd = open("data", O_WRONLY | O_CREAT | O_EXCL, 0666);
    expect(fd == STDERR_FILENO, "descriptor %d", fd);
    steps(MANY);
    expect(write(fd, "data", 4) == 4, "write");
    exit(verdict());
}

static void stderr_closed(void)
{
    close(STDERR_FILENO);
    MPI_Init(NULL, NULL);
    steps(MANY);
    MPI_Finalize();
    expect(fcntl(STDERR_FILENO, F_GETFD) < 0 && errno == EBADF, "stderr is open");
}

/* Nobody reads stderr any more: writing there would kill. */
static void stderr_unread(void)
{
    int ends[2];
    expect(!pipe(ends) && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO, "pipe");
    close(ends[0]);
    close(ends[1]);
    MPI_Init(NULL, NULL);
    steps(MANY);
    MPI_Finalize();
    sigset_t pending;
    sigpending(&pending);
    expect(!sigismember(&pending, SIGPIPE), "SIGPIPE waits");
}

/* Programs that make sure no descriptor is inherited, or left to a child. MPI libraries need theirs. */
static void close_all_but(const struct table *kept)
{
    for (int fd = 3; fd < MOST; fd++)
        if (!*kept->target[fd])
            close(fd);
}

static void closes_all(void)
{
    static struct table before;
    MPI_Init(NULL, NULL);
    read_table(&before);
    steps(MANY);
    close_all_but(&before);
    steps(MANY);
    MPI_Finalize();
    closefrom(3);
}

static void closes_all_before(void)
{
    static struct table kept;
    const char *launcher = getenv("PMI_FD"); /* MPICH's way of talking to its launcher */
    if (launcher)
        strcpy(kept.target[atoi(launcher)], "launcher");
    close_all_but(&kept);
    MPI_Init(NULL, NULL);
    steps(MANY);
    MPI_Finalize();
    closefrom(3);
}

static void elsewhere(void)
{
    char before[PATH_MAX], after[PATH_MAX];
    MPI_Init(NULL, NULL);
    steps(1);
    umask(0027);
    expect(!chdir("/"), "chdir");
    prctl(PR_SET_NAME, "host");
    expect(getcwd(before, sizeof before) != NULL, "getcwd");
    steps(MANY);
    MPI_Finalize();
    expect(getcwd(after, sizeof after) && !strcmp(before, after), "the directory is %s", after);
    expect(umask(0) == 0027, "another umask");
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    expect(!strcmp(name, "host"), "the thread is called %s", name);
}

extern char **environ;

/* Neither the environment nor the command line are what they were: setproctitle() writes over both. */
static int count;
static char **words;
static void title(void)
{
    MPI_Init(NULL, NULL);
    steps(1);
    for (int i = 0; i < count; i++)
        memset(words[i], 't', strlen(words[i]));
    for (char **variable = environ; *variable; variable++)
        memset(*variable, 'e', strlen(*variable));
    clearenv();
    steps(MANY);
    MPI_Finalize();
    expect(!environ || !*environ, "there is an environment again");
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"same", same}, {"nonblocking", nonblocking}, {"stderr-is-data", stderr_is_data}, {"stderr-is-data-at-exit", stderr_is_data_at_exit},
        {"stderr-closed", stderr_closed},
        {"stderr-unread", stderr_unread}, {"closes-all", closes_all}, {"closes-all-before", closes_all_before},
        {"elsewhere", elsewhere}, {"title", title}, {NULL, NULL},
    };
    count = argc;
    words = argv;
    return choose(modes, argc, argv);
}
