/*
 * Speaking to the user: one line on stderr, written with one system call so that ranks do not
 * interleave. A message is repeated by no rank that can know another one says it too.
 */
#include "shim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Launchers tell a process its rank before MPI_Init does. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK", "MPI_LOCALRANKID",
};

bool mrl_speaks(void)
{
    if (mrl.header)
        return mrl.header->rank <= 0;
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *rank = getenv(rank_variables[i]);
        if (rank)
            return atoi(rank) == 0;
    }
    return true;
}

static void write_line(const char *format, va_list arguments)
{
    char line[1024] = "marple: ";
    size_t used = strlen(line);
    int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
    if (more < 0)
        return;
    used = used + (size_t)more < sizeof line - 1 ? used + (size_t)more : sizeof line - 2;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written;
}

void mrl_say(const char *format, ...)
{
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
    va_start(arguments, format);
    write_line(format, arguments);
    va_end(arguments);
}
