/*
 * Errors that reach MPI_ERRORS_ARE_FATAL. The library then ends the job from within the call, and all that is left of the
 * processes is what they have left in files: so the report is made when the library turns to its launcher, and before that
 * hears of it.
 *
 *  - Open MPI has one function for that, which it calls by its name.
 *  - The family of MPICH writes a line of PMI's protocol to the descriptor that its launcher has given it, PMI_FD.
 *  - Others leave through exit, which cshim/ending.c sees.
 */
#include "lifecycle.h"
#include "stacked.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Says which error it was, in the library's words for its class. */
static void fails(int code)
{
    static _Atomic bool asked; /* what asks the library about a code that is none may get here again */
    char text[8192] = "";      /* MPI_MAX_ERROR_STRING is 1024 at most */
    int class = 0, length = 0;
    if (!mrl.started || mrl.stopped || atomic_exchange(&asked, true))
        return;
    if (!mrl_pmpi.Error_class || mrl_pmpi.Error_class(code, &class))
        class = 0;
    if (class && (!mrl_pmpi.Error_string || mrl_pmpi.Error_string(class, text, &length)))
        text[0] = 0;
    mrl_fails(class, text);
}

MRL_EXPORT int ompi_mpi_abort(mrl_word comm, mrl_word code, mrl_word kill)
{
    int (*next)(mrl_word, mrl_word, mrl_word);
    *(void **)&next = mrl_find("ompi_mpi_abort");
    fails((int)code);
    return next ? next(comm, code, kill) : 0;
}

static int launcher = -1; /* the descriptor */

static ssize_t write_watched(int fd, const void *data, size_t size)
{
    static const char abort[] = "cmd=abort exitcode=";
    char line[64] = "";
    if (unlikely(fd == launcher && size >= sizeof abort && !memcmp(data, abort, sizeof abort - 1))) {
        memcpy(line, data, size < sizeof line ? size : sizeof line - 1);
        fails(atoi(line + sizeof abort - 1));
    }
    return write(fd, data, size);
}

void mrl_fatal_begin(void)
{
    const char *given = getenv("PMI_FD");
    struct link_map *library = NULL;
    Dl_info info;
    void *init = mrl_find("PMPI_Init");
    if (launcher >= 0 || !given || !init || !dladdr1(init, &info, (void **)&library, RTLD_DL_LINKMAP))
        return;
    if (mrl_redirect(library, "write", write_watched))
        launcher = atoi(given);
}
