/* Opens plugins in turn, lets each call MPI, and closes it again: addresses mean one thing now and another later. */
#include "counted.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    long calls = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 40; i++) {
        void *plugin = dlopen(argv[1 + i % (argc - 1)], RTLD_NOW);
        int (*work)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_work") : NULL;
        if (!work) {
            printf("%s\n", dlerror());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        calls += work();
        dlclose(plugin);
    }
    counted("MPI_Iprobe", calls);
    MPI_Finalize();
    return 0;
}
