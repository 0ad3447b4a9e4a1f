/*
 * What the programs of this directory have in common: each is a host with one peculiarity that a guest in
 * its process might disturb, makes enough MPI calls for several batches of records, and checks itself that
 * nothing has changed. Each rank prints "ok" and how many calls of MPI_Sendrecv it has made, and exits with
 * 0; or says what is wrong, and exits with 1.
 */
#ifndef HOST_H
#define HOST_H

#include <mpi.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A ring holds 4,096 records, and each step takes two. */
#define MANY 10000

static int failures;
static _Atomic long made;

__attribute__((format(printf, 2, 3), unused)) static void expect(int holds, const char *format, ...)
{
    if (holds)
        return;
    char text[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stdout, "wrong: %s\n", text);
    failures++;
}

/* MPI_Sendrecv to oneself: any thread may, at any time. */
__attribute__((unused)) static void steps(int n)
{
    int out = 1, in;
    for (int i = 0; i < n; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    made += n;
}

__attribute__((unused)) static int verdict(void)
{
    if (!failures)
        printf("ok %ld\n", made);
    fflush(stdout);
    return failures != 0;
}

/* Runs the mode that the first argument names. */
struct mode {
    const char *name;
    void (*run)(void);
};
__attribute__((unused)) static int choose(const struct mode *modes, int argc, char **argv)
{
    for (; modes->name; modes++)
        if (argc > 1 && strcmp(argv[1], modes->name) == 0) {
            modes->run();
            return verdict();
        }
    fprintf(stderr, "unknown mode %s\n", argc > 1 ? argv[1] : "(none)");
    return 2;
}

#endif
