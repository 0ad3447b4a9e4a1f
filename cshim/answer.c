/*
 * An answer for whoever has said `marple exec PROGRAM`: where nothing was measured, the process that this has become
 * says so when it ends (pmpi/unmeasured.c). Of the processes it has started, a script's say, any may have measured, or
 * said why it has not, which it leaves a mark of. MARPLE_EXEC holds the process's id, the mark, and the program's name.
 */
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int pid; /* 0: nobody waits for an answer */
    char mark[512], program[256];
    _Atomic bool given;
} answer;

/* What will be removed must be a mark, and nobody's file. */
static bool is_mark(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name, "/marple-", 8) == 0;
}

/* Nothing is read later: the program may write a title over its environment. */
__attribute__((constructor)) static void begin(void)
{
    const char *asked = getenv("MARPLE_EXEC");
    if (!asked || sscanf(asked, "%d %511s %255[^\n]", &answer.pid, answer.mark, answer.program) < 3 || !is_mark(answer.mark))
        answer.pid = 0;
    else if (answer.pid == getpid())
        mrl_say_begin();
}

/* It is being measured, or something was said, or nobody wants to know. */
void mrl_answered(void)
{
    if (!answer.pid || atomic_exchange(&answer.given, true) || answer.pid == getpid())
        return;
    int saved = errno, fd = open(answer.mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    errno = saved;
}

/* The program's name, if this process ends and owes an answer; else NULL. */
const char *mrl_owes_answer(void)
{
    if (!answer.pid || answer.pid != getpid())
        return NULL;
    answer.pid = 0;
    return unlink(answer.mark) && !atomic_load(&answer.given) ? answer.program : NULL;
}
