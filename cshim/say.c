/*
 * Speaking to the user: one line on stderr, written with one system call so that ranks do not
 * interleave. A message is repeated by no rank that can know another one says it too.
 *
 * A program that closes stdout or stderr may get its number again for a file of its own, which we must not
 * write to: so nothing is said where something else is open than before.
 */
#include "core.h"
#include "shield.h"
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Launchers tell a process its rank before MPI_Init does. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK", "MPI_LOCALRANKID",
};

int mrl_told_rank(void)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *rank = getenv(rank_variables[i]);
        if (rank)
            return atoi(rank);
    }
    return -1;
}

/* The one that is nearest to the process comes first: Slurm may have started the launcher. */
const char *mrl_launcher(int *processes)
{
    static const struct {
        const char *variable, *launcher;
    } sizes[] = {{"OMPI_COMM_WORLD_SIZE", "Open MPI"}, {"MV2_COMM_WORLD_SIZE", "MVAPICH"}, {"PMI_SIZE", "MPICH"}, {"SLURM_STEP_NUM_TASKS", "Slurm"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = getenv(sizes[i].variable), *task = getenv("SLURM_TASK_PID");
        if (size && strncmp(sizes[i].variable, "SLURM", 5) == 0 && (!task || atoi(task) != getpid()))
            size = NULL; /* started by a task, or by its shell: whatever else the step does is not known */
        if (size) {
            *processes = atoi(size);
            return sizes[i].launcher;
        }
    }
    *processes = 0;
    return "";
}

bool mrl_speaks(void)
{
    return (mrl.header ? mrl.header->rank : mrl_told_rank()) <= 0;
}

static struct {
    bool open;
    dev_t device;
    ino_t file;
} streams[3];

void mrl_say_begin(void)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat s;
        streams[fd].open = fstat(fd, &s) == 0;
        streams[fd].device = s.st_dev;
        streams[fd].file = s.st_ino;
    }
}

bool mrl_may_write(int fd)
{
    struct stat s;
    return streams[fd].open && !fstat(fd, &s) && s.st_dev == streams[fd].device && s.st_ino == streams[fd].file;
}

#define PATIENCE_MS 1000 /* with a reader who has made the descriptor non-blocking */

static void write_to(int fd, const char *text, size_t size)
{
    struct mrl_shield shield;
    if (!mrl_may_write(fd))
        return;
    mrl_shield(&shield);
    while (size) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EAGAIN && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE_MS) > 0)
            continue;
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    mrl_unshield(&shield);
}

void mrl_print(const char *text, uint64_t size)
{
    if (mrl.settings.report != MRL_REPORT_NONE)
        write_to(mrl.settings.report == MRL_REPORT_STDOUT ? STDOUT_FILENO : STDERR_FILENO, text, size);
}

static void write_line(const char *format, va_list arguments)
{
    char line[1024] = "marple: ";
    if (mrl.quiet)
        return;
    size_t used = strlen(line);
    int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    if (more < 0)
        return;
    used = used + (size_t)more < sizeof line - 1 ? used + (size_t)more : sizeof line - 2;
    line[used++] = '\n';
    write_to(STDERR_FILENO, line, used);
}

void mrl_say(const char *format, ...)
{
    mrl_answered();
    if (!mrl_speaks())
        return;
    va_list arguments;
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}

/* For what only this rank can know. */
void mrl_say_here(const char *format, ...)
{
    va_list arguments;
    mrl_answered();
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}
