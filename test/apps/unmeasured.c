/* Is linked with an MPI library, and uses it in no way that could be measured, but where told to: in itself or in a child. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As scripting languages find MPI's functions: in the library itself. */
static void by_address(void)
{
    Dl_info info;
    int (*init)(int *, char ***), (*finalize)(void);
    if (!dladdr(dlsym(RTLD_DEFAULT, "PMPI_Init"), &info))
        exit(8);
    void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL);
    *(void **)&init = dlsym(library, "MPI_Init");
    *(void **)&finalize = dlsym(library, "MPI_Finalize");
    init(NULL, NULL);
    finalize();
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int code = atoi(argv[1]);
    if (!strcmp(how, "child")) {
        pid_t child = fork();
        if (child) {
            waitpid(child, NULL, 0);
            return code;
        }
    }
    if (!strcmp(how, "child") || !strcmp(how, "MPI_Init")) {
        MPI_Init(NULL, NULL);
        MPI_Finalize();
    }
    if (!strcmp(how, "dlsym"))
        by_address();
    printf("ended: %s\n", how);
    fflush(stdout);
    if (!strcmp(how, "_exit"))
        _exit(code);
    return code;
}
