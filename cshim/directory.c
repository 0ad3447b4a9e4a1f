/*
 * The run directory: its name, making it, and opening files in it.
 *
 * It may lie where others can write, too, who may have made it first, or swap it for another one or a link at any time.
 * So it is one that we have made, or an empty one of ours; raw/ in it can be changed by nobody else, whatever the umask;
 * and files are opened there only while it is the directory that it was at first, by device and inode, because a
 * descriptor kept open would be among the application's.
 */
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OURS 0755 /* of which the umask may take away */

/* Closes it for this reason, or for the one in errno. */
static int closed(int fd, int error)
{
    int saved = error ? error : errno;
    close(fd);
    errno = saved;
    return -1;
}

/* A directory of ours that nobody may write to who has one of these bits. -1: errno says why it is none. */
static int open_own(int at, const char *name, mode_t others)
{
    struct stat s;
    int fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &s))
        return closed(fd, 0);
    return s.st_uid == geteuid() && !(s.st_mode & others) ? fd : closed(fd, EPERM);
}

int mrl_open_run(const char *path)
{
    return open_own(AT_FDCWD, path, S_IWOTH);
}

static int open_raw(int run)
{
    return open_own(run, "raw", S_IWGRP | S_IWOTH);
}

static bool is_empty(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    int entries = 0;
    while (entries < 3 && readdir(list))
        entries++;
    closedir(list);
    return entries <= 2; /* itself and the one above */
}

static bool has(int directory, const char *name)
{
    struct stat s;
    return !fstatat(directory, name, &s, AT_SYMLINK_NOFOLLOW);
}

/* False, with EEXIST: what is there is not ours, or has files in it already. */
static bool make_directory(const char *path, bool *made)
{
    *made = !mkdir(path, OURS);
    if (!*made && errno != EEXIST)
        return false;
    int run = mrl_open_run(path);
    if (run < 0 || !(*made || is_empty(run))) {
        if (!*made)
            errno = EEXIST;
        if (run >= 0)
            closed(run, 0);
        return false;
    }
    bool whole = !mkdirat(run, "raw", OURS);
    closed(run, 0);
    return whole;
}

/* The same for processes that come one after the other: one that another process of the job has made is taken, too. */
bool mrl_share_directory(const char *path, int rank)
{
    char name[MRL_FILE];
    bool made = !mkdir(path, OURS);
    int run = mrl_open_run(path);
    if (run < 0)
        return false;
    if (made || is_empty(run))
        mkdirat(run, "raw", OURS); /* or another process has */
    int raw = open_raw(run);
    mrl_store_name(name, rank);
    bool taken = raw < 0 || has(raw, name);
    if (raw >= 0)
        close(raw);
    close(run);
    return !taken;
}

static void note(struct mrl_place *place, int fd)
{
    struct stat s = {0};
    fstat(fd, &s);
    place->device = s.st_dev;
    place->inode = s.st_ino;
}

/* From here on, files are opened in this run directory. False: errno says why they cannot be. */
bool mrl_enter_directory(const char *path)
{
    snprintf(mrl.directory, sizeof mrl.directory, "%s", path);
    snprintf(mrl.raw, sizeof mrl.raw, "%s/raw", mrl.directory);
    mrl.run_place.path = mrl.directory;
    mrl.raw_place.path = mrl.raw;
    int run = mrl_open_run(path), raw = run < 0 ? -1 : open_raw(run);
    if (raw >= 0) {
        note(&mrl.run_place, run);
        note(&mrl.raw_place, raw);
        close(raw);
    } else {
        mrl.directory[0] = mrl.raw[0] = 0;
    }
    if (run >= 0)
        closed(run, 0);
    return raw >= 0;
}

/* A directory, if it still is what it was. */
static int reopen(const struct mrl_place *place)
{
    struct stat s;
    int fd = open(place->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &s))
        return closed(fd, 0);
    return s.st_dev == place->device && s.st_ino == place->inode ? fd : closed(fd, ESTALE);
}

bool mrl_directory_there(void)
{
    int saved = errno, run = reopen(&mrl.run_place);
    if (run >= 0)
        close(run);
    errno = saved;
    return run >= 0;
}

/* Makes the run directory this process's own one. */
bool mrl_change_directory(void)
{
    int run = reopen(&mrl.run_place);
    if (run < 0)
        return false;
    bool there = !fchdir(run);
    close(run);
    return there;
}

/* A file in it, with the flags of open. What is no file is not opened, nor waited for. */
static int open_in(const struct mrl_place *place, const char *name, int flags)
{
    struct stat s;
    int at = reopen(place);
    if (at < 0)
        return -1;
    int fd = openat(at, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    closed(at, 0); /* errno is openat's */
    return fd < 0 || (!fstat(fd, &s) && S_ISREG(s.st_mode)) ? fd : closed(fd, EINVAL);
}

int mrl_run_open(const char *name, int flags)
{
    return open_in(&mrl.run_place, name, flags);
}

int mrl_raw_open(const char *name, int flags)
{
    return open_in(&mrl.raw_place, name, flags);
}

void mrl_raw_remove(const char *name)
{
    int raw = reopen(&mrl.raw_place);
    if (raw < 0)
        return;
    unlinkat(raw, name, 0);
    close(raw);
}

void mrl_unmark(void)
{
    int run = reopen(&mrl.run_place);
    if (run < 0)
        return;
    unlinkat(run, MRL_HOSTS, 0);
    close(run);
}

/* Whoever is killed may have removed what was in raw/, and not yet raw/ itself. A host's own run directory goes with it. */
void mrl_raw_finish(void)
{
    int raw = reopen(&mrl.raw_place);
    if (raw < 0)
        return;
    close(raw);
    if (rmdir(mrl.raw)) /* if it is empty */
        return;
    mrl_unmark();
    if (mrl.apart)
        rmdir(mrl.directory);
}

static const char *variable(const char *const *names)
{
    for (; *names; names++)
        if (getenv(*names))
            return getenv(*names);
    return NULL;
}

const char *mrl_job_id(void)
{
    return variable((const char *const[]){"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID", "COBALT_JOBID", NULL});
}

/* What the scheduler charges. */
const char *mrl_account(void)
{
    return variable((const char *const[]){"SLURM_JOB_ACCOUNT", "PBS_ACCOUNT", "LSB_PROJECT_NAME", NULL});
}

size_t mrl_directory_name(char *out, size_t size, const char *job)
{
    char cwd[4096], program[64];
    if (!getcwd(cwd, sizeof cwd))
        strcpy(cwd, ".");
    mrl_program_name(program, sizeof program);
    const char *set = mrl.settings.out;
    int length = *set ? snprintf(out, size, "%s%s%s", *set == '/' ? "" : cwd, *set == '/' ? "" : "/", set)
                      : snprintf(out, size, "%s/marple-%s-%.64s", cwd, program, job);
    while (length > 1 && length < (int)size && out[length - 1] == '/') /* behind a slash, a link would be followed */
        out[--length] = 0;
    return length > 0 ? (size_t)length : 0;
}

/* Whether another run is being measured there: the reader of a job with several knows that they are numbered. */
static bool holds_run(const char *path)
{
    int run = mrl_open_run(path);
    if (run < 0)
        return false;
    bool holds = has(run, "raw");
    close(run);
    return holds;
}

/* Makes the run directory, which rank 0 does for all; empty when it cannot. Whether it was not there before. */
bool mrl_choose_directory(char *out, size_t size)
{
    bool made = false;
    char pid[16], wanted[MRL_DIRECTORY + 1100];
    const char *job = mrl_job_id();
    out[0] = 0;
    if (mrl.settings.site) /* memory only: users did not ask for a directory */
        return false;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    size_t length = mrl_directory_name(wanted, sizeof wanted, job ? job : pid);
    /* Several runs in one job, or in one place, get a number, and so does one whose place is taken. */
    for (int i = 2; i < 1000 && length < size - 5; i++) {
        strcpy(out, wanted);
        if (make_directory(out, &made)) {
            if (i > 2 && *mrl.settings.out && !holds_run(mrl.settings.out))
                mrl_say("%s is not empty, or not yours: this run is kept in %s", mrl.settings.out, out);
            return made;
        }
        if (errno != EEXIST)
            break;
        snprintf(wanted + length, sizeof wanted - length, "-%d", i);
    }
    mrl_say("cannot make the run directory %s: %s; the report will be printed but not kept", wanted, strerror(errno));
    out[0] = 0;
    return false;
}
