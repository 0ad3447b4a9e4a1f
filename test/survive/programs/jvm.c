/*
 * MPI beside a Java virtual machine in the same process, which has threads, signals and faults of its own: jvm LIBJVM. The
 * declarations are those of the JNI specification that are needed, so that no JDK is.
 */
#include "counted.h"

#include <dlfcn.h>
#include <stdint.h>

struct arguments {
    int32_t version, count;
    void *options;
    unsigned char ignore;
};
enum { VERSION_10 = 0x000a0000, FIND_CLASS = 6, EXCEPTION_CHECK = 228, GET_STATIC_METHOD = 113, CALL_STATIC_VOID = 141 };

int main(int argc, char **argv)
{
    enum { STEPS = 20 };
    int token = 0;
    void *machine, **table, **environment;
    struct arguments arguments = {.version = VERSION_10};
    MPI_Init(&argc, &argv);
    void *library = dlopen(argv[1], RTLD_NOW);
    int32_t (*create)(void **, void **, void *) = library ? (int32_t (*)(void **, void **, void *))dlsym(library, "JNI_CreateJavaVM") : NULL;
    if (!create || create(&machine, (void **)&environment, &arguments)) {
        printf("says there is no Java: %s\n", library ? "" : dlerror());
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    table = *environment;
    void *system = ((void *(*)(void *, const char *))table[FIND_CLASS])(environment, "java/lang/System");
    void *gc = ((void *(*)(void *, void *, const char *, const char *))table[GET_STATIC_METHOD])(environment, system, "gc", "()V");
    for (int i = 0; i < STEPS; i++) {
        ((void (*)(void *, void *, void *, ...))table[CALL_STATIC_VOID])(environment, system, gc);
        MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("says %d exceptions\n", ((unsigned char (*)(void *))table[EXCEPTION_CHECK])(environment));
    counted("MPI_Bcast", STEPS);
    MPI_Finalize();
    return 0;
}
