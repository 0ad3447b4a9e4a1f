/*
 * What Kokkos 4 does with a tool: it opens the library that KOKKOS_TOOLS_LIBS names, and calls what it finds there. For the
 * callbacks that the Kokkos which is installed does not have yet.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct space {
    char name[64];
};
struct settings {
    bool fence;
    bool padding[255];
};

#define EACH(X)                                                                                                                \
    X(request_tool_settings, (uint32_t, struct settings *)) X(init_library, (int, uint64_t, uint32_t, void *))                 \
    X(finalize_library, (void)) X(begin_parallel_scan, (const char *, uint32_t, uint64_t *)) X(end_parallel_scan, (uint64_t))  \
    X(begin_fence, (const char *, uint32_t, uint64_t *)) X(end_fence, (uint64_t)) X(push_profile_region, (const char *))       \
    X(pop_profile_region, (void)) X(allocate_data, (struct space, const char *, const void *, uint64_t))                       \
    X(deallocate_data, (struct space, const char *, const void *, uint64_t)) X(declare_metadata, (const char *, const char *)) \
    X(begin_deep_copy, (struct space, const char *, const void *, struct space, const char *, const void *, uint64_t))         \
    X(end_deep_copy, (void))
#define DECLARE(name, parameters) static void(*name) parameters;
EACH(DECLARE)

int main(int argc, char **argv)
{
    struct settings settings = {.fence = true};
    struct space host = {"Host"}, device = {"Cuda"};
    uint64_t scan, fence;
    MPI_Init(&argc, &argv);
    const char *file = getenv("KOKKOS_TOOLS_LIBS");
    void *tool = file ? dlopen(file, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (tool) {
#define FIND(name, parameters) *(void **)&name = dlsym(tool, "kokkosp_" #name);
        EACH(FIND)
        request_tool_settings(1, &settings);
        init_library(0, 20211015, 0, NULL);
        if (settings.fence)
            printf("a fence after each kernel was asked for\n");
        declare_metadata("GPU", "none");
        for (int i = 0; i < 3; i++) {
            push_profile_region("outer");
            push_profile_region("inner");
            begin_parallel_scan("offsets", 0, &scan);
            MPI_Barrier(MPI_COMM_WORLD);
            end_parallel_scan(scan);
            pop_profile_region();
            begin_fence("wait for offsets", 0, &fence);
            end_fence(fence);
            pop_profile_region();
            allocate_data(device, "a", NULL, 1000);
            allocate_data(host, "b", NULL, 10);
            begin_deep_copy(device, "a", NULL, host, "b", NULL, 640);
            end_deep_copy();
        }
        deallocate_data(device, "a", NULL, 1000);
        pop_profile_region(); /* one too many */
        finalize_library();
    }
    printf("done\n");
    MPI_Finalize();
    return 0;
}
