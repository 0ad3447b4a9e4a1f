/* A tool that listens to MPI_Pcontrol. */
#include <stdarg.h>
#include <stdio.h>

int MPI_Pcontrol(const int level, ...)
{
    va_list more;
    va_start(more, level);
    const char *text = level > 1 ? va_arg(more, const char *) : "nothing";
    double number = level > 1 ? va_arg(more, double) : 0;
    va_end(more);
    printf("says MPI_Pcontrol %d %s %g\n", level, text, number);
    fflush(stdout);
    return 0;
}
