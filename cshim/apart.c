/*
 * Hosts that do not see the run directory. Rank 0 marks it with a file that names the run. A rank that does not find that there
 * makes a run directory of its host's own, as a whole or not at all: so all ranks of a host come to the same one without talking to
 * each other. Rank 0 learns at the beginning which ranks' records are where (pmpi/hosts.c), and adds it to the file, from which
 * analysis/run reads it; where all ranks see the directory, the file goes away again.
 *
 * Where the host has no directory of that name yet, that is its name there too; otherwise it gets a number, as run directories
 * do, and where none can be made, it lies in $TMPDIR or /tmp. Nobody else may read it.
 */
#include "shield.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNERS 0700
#define NAMES 1000 /* tried in one place */

/* As a word of a line: blanks, control characters and % as %XX. What finds no room is cut off. */
static void add_word(char *line, size_t size, const char *text)
{
    size_t at = strlen(line);
    for (const char *separator = at ? " " : ""; at + 5 < size && (*separator || *text); line[at] = 0)
        if (*separator)
            line[at++] = *separator++;
        else if ((unsigned char)*text <= ' ' || *text == '%' || *text == 0x7f)
            at += (size_t)snprintf(line + at, size - at, "%%%02X", (unsigned char)*text++);
        else
            line[at++] = *text++;
}

/* How the file begins, in rank 0's directory and in those of hosts apart. */
#define RANK_0S "run"
#define APART "part"
static void first_words(char line[MRL_WORDS], const char *whose, const struct mrl_home *home)
{
    snprintf(line, MRL_WORDS, "%s %016llx", whose, (unsigned long long)home->run);
}

static bool write_all(int fd, const char *text, size_t size)
{
    struct mrl_shield shield;
    mrl_shield(&shield);
    bool written = write(fd, text, size) == (ssize_t)size;
    mrl_unshield(&shield);
    return written;
}

/* The file that names the run, in one of its directories. */
static bool mark(int directory, const char *whose, const struct mrl_home *home)
{
    char line[MRL_WORDS];
    int fd = openat(directory, MRL_HOSTS, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    first_words(line, whose, home);
    add_word(line, sizeof line - 1, home->host);
    add_word(line, sizeof line - 1, home->path);
    size_t length = strlen(line);
    line[length++] = '\n';
    bool marked = write_all(fd, line, length);
    int error = errno;
    if (!marked)
        unlinkat(directory, MRL_HOSTS, 0);
    close(fd);
    errno = error;
    return marked;
}

/* Whether this is such a directory of the run's. */
static bool is_marked(const char *path, const char *whose, const struct mrl_home *home)
{
    char words[MRL_WORDS], line[sizeof APART " 0123456789abcdef "];
    int run = mrl_open_run(path), fd = run < 0 ? -1 : openat(run, MRL_HOSTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (run >= 0)
        close(run);
    if (fd < 0)
        return false;
    first_words(words, whose, home);
    strcat(words, " ");
    ssize_t expected = (ssize_t)strlen(words);
    bool same = read(fd, line, (size_t)expected) == expected && !memcmp(words, line, (size_t)expected);
    close(fd);
    return same;
}

void mrl_home_mark(struct mrl_home *home)
{
    gethostname(home->host, sizeof home->host - 1);
    int run = *home->path ? mrl_open_run(home->path) : -1;
    if (run < 0)
        return;
    if (getrandom(&home->run, sizeof home->run, GRND_NONBLOCK) != (ssize_t)sizeof home->run || !mark(run, RANK_0S, home))
        home->run = 0; /* every rank takes the directory of that name, if there is one */
    close(run);
}

/* Moves a directory that is whole to where none with anything in it is. False: errno says why. */
static bool lay(const char *path, const struct mrl_home *home, int rank)
{
    char beside[MRL_DIRECTORY + 48];
    snprintf(beside, sizeof beside, "%s.%016llx-%d", path, (unsigned long long)home->run, rank);
    if (mkdir(beside, OWNERS))
        return false;
    int run = mrl_open_run(beside);
    bool laid = run >= 0 && !mkdirat(run, "raw", OWNERS) && mark(run, APART, home) && !rename(beside, path);
    int error = errno;
    if (!laid && run >= 0) {
        unlinkat(run, MRL_HOSTS, 0);
        unlinkat(run, "raw", AT_REMOVEDIR);
    }
    if (run >= 0)
        close(run);
    if (!laid)
        rmdir(beside);
    errno = error;
    return laid;
}

/* The host's own directory, below one where such a name may be tried. */
static bool find(const char *wanted, const struct mrl_home *home, int rank, char own[MRL_DIRECTORY])
{
    struct stat there;
    size_t length = strlen(wanted);
    if (length + 5 >= MRL_DIRECTORY) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(own, wanted);
    for (int i = 2; i < NAMES; i++) {
        if (is_marked(own, APART, home))
            return true;
        bool others = !lstat(own, &there) && there.st_uid != geteuid();
        if (!others && lay(own, home, rank)) {
            mrl.laid = true;
            return true;
        }
        int error = others ? EEXIST : errno;
        if (is_marked(own, APART, home)) /* by another rank meanwhile */
            return true;
        errno = error;
        if (lstat(own, &there)) {
            errno = error;
            return false;
        }
        snprintf(own + length, MRL_DIRECTORY - length, "-%d", i);
    }
    return false;
}

int mrl_home_find(const struct mrl_home *home, int rank, char directory[MRL_DIRECTORY])
{
    char wanted[MRL_DIRECTORY];
    strcpy(directory, home->path);
    if (!*home->path || !home->run || is_marked(home->path, RANK_0S, home))
        return 0;
    const char *set = getenv("TMPDIR"), *name = strrchr(home->path, '/');
    mrl.apart = true;
    if (find(home->path, home, rank, directory))
        return 0;
    snprintf(wanted, sizeof wanted, "%s%s", set && *set == '/' ? set : "/tmp", name ? name : "");
    if (name && find(wanted, home, rank, directory))
        return 0;
    mrl.apart = false;
    directory[0] = 0;
    return errno ? errno : ENOENT;
}

uint64_t mrl_home_place(void)
{
    return mrl.apart && *mrl.directory ? mrl_hash(mrl_hash(MRL_HASH, mrl.header->host_name), mrl.directory) : 0;
}

void mrl_home_tell(char line[MRL_WORDS])
{
    line[0] = 0;
    if (!mrl.laid || !*mrl.directory)
        return;
    snprintf(line, MRL_WORDS, "records %016llx", (unsigned long long)mrl_home_place());
    add_word(line, MRL_WORDS - 1, mrl.header->host_name);
    add_word(line, MRL_WORDS - 1, mrl.directory);
    strcat(line, "\n");
}

void mrl_home_add(const char *text, size_t size)
{
    int fd = mrl_run_open(MRL_HOSTS, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    write_all(fd, text, size); /* what finds no room is missing there, which whoever lacks those records is told anyway */
    close(fd);
}
