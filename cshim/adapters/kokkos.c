/*
 * Kokkos Tools: what Kokkos calls in the library that KOKKOS_TOOLS_LIBS names (KOKKOS_PROFILE_LIBRARY, before Kokkos 4), as
 * its wiki describes it. Kernels, the program's regions and sections, copies and fences are regions; memory is a reported
 * value per memory space, whose greatest is the high-water mark.
 *
 * Times are the host's: Kokkos is told not to wait for a device after each kernel. What waits for it is a fence or a copy.
 */
#include "adapter.h"

#include <stdio.h>
#include <string.h>

static const struct mrl_adapter loops = {"kokkos", "Kokkos::parallel_for"}, reductions = {"kokkos", "Kokkos::parallel_reduce"},
                                scans = {"kokkos", "Kokkos::parallel_scan"}, regions = {"kokkos", "Kokkos region"},
                                sections = {"kokkos", "Kokkos section"}, copies = {"kokkos", "Kokkos::deep_copy"},
                                fences = {"kokkos", "Kokkos::fence"};

struct space { /* passed by value */
    char name[64];
};

struct tool_settings {
    bool requires_global_fencing;
    bool padding[255];
};

MRL_ENTRY void kokkosp_request_tool_settings(uint32_t known, struct tool_settings *settings)
{
    if (known > 0)
        settings->requires_global_fencing = false;
}

/* So that a tool is known to be there, and loaded, before anything else is called. */
MRL_ENTRY void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *device)
{
    (void)sequence, (void)version, (void)devices, (void)device;
}

MRL_ENTRY void kokkosp_finalize_library(void)
{
}

MRL_ENTRY void kokkosp_begin_parallel_for(const char *name, uint32_t device, uint64_t *kernel)
{
    (void)device;
    *kernel = mrl_adapter_begin(&loops, name, MRL_CALLER);
}

MRL_ENTRY void kokkosp_begin_parallel_reduce(const char *name, uint32_t device, uint64_t *kernel)
{
    (void)device;
    *kernel = mrl_adapter_begin(&reductions, name, MRL_CALLER);
}

MRL_ENTRY void kokkosp_begin_parallel_scan(const char *name, uint32_t device, uint64_t *kernel)
{
    (void)device;
    *kernel = mrl_adapter_begin(&scans, name, MRL_CALLER);
}

MRL_ENTRY void kokkosp_begin_fence(const char *name, uint32_t device, uint64_t *fence)
{
    (void)device;
    *fence = mrl_adapter_begin(&fences, name, MRL_CALLER);
}

MRL_ENTRY void kokkosp_end_parallel_for(uint64_t kernel)
{
    mrl_adapter_end(kernel);
}

MRL_ENTRY void kokkosp_end_parallel_reduce(uint64_t kernel)
{
    mrl_adapter_end(kernel);
}

MRL_ENTRY void kokkosp_end_parallel_scan(uint64_t kernel)
{
    mrl_adapter_end(kernel);
}

MRL_ENTRY void kokkosp_end_fence(uint64_t fence)
{
    mrl_adapter_end(fence);
}

MRL_ENTRY void kokkosp_push_profile_region(const char *name)
{
    mrl_adapter_begin(&regions, name, MRL_CALLER);
}

MRL_ENTRY void kokkosp_pop_profile_region(void)
{
    mrl_adapter_end_innermost(&regions, NULL);
}

/* Sections have numbers; of more than these the further ones are not recorded. */
#define SECTIONS 1024u
static const char *_Atomic names[SECTIONS];
static _Atomic uint32_t named;

MRL_ENTRY void kokkosp_create_profile_section(const char *name, uint32_t *section)
{
    *section = atomic_fetch_add(&named, 1);
    if (*section < SECTIONS)
        atomic_store(&names[*section], mrl_adapter_keep(name));
}

MRL_ENTRY void kokkosp_destroy_profile_section(uint32_t section)
{
    (void)section;
}

MRL_ENTRY void kokkosp_start_profile_section(uint32_t section)
{
    if (section < SECTIONS)
        mrl_adapter_begin(&sections, names[section], MRL_CALLER);
}

MRL_ENTRY void kokkosp_stop_profile_section(uint32_t section)
{
    if (section < SECTIONS)
        mrl_adapter_end_innermost(&sections, names[section]);
}

MRL_ENTRY void kokkosp_begin_deep_copy(struct space to, const char *to_name, const void *to_data, struct space from, const char *from_name,
                                       const void *from_data, uint64_t bytes)
{
    char name[200];
    (void)to_name, (void)to_data, (void)from_name, (void)from_data;
    snprintf(name, sizeof name, "deep_copy from %.64s to %.64s", from.name, to.name);
    mrl_adapter_begin(&copies, name, MRL_CALLER);
    snprintf(name, sizeof name, "Kokkos bytes copied from %.64s to %.64s", from.name, to.name);
    mrl_adapter_value(&copies, name, (double)bytes);
}

MRL_ENTRY void kokkosp_end_deep_copy(void)
{
    mrl_adapter_end_innermost(&copies, NULL);
}

/* Bytes in use by memory space; spaces beyond these are not told. */
#define SPACES 16u
static struct {
    _Atomic int taken; /* 1: somebody is naming it; 2: named */
    char name[64];
    _Atomic int64_t bytes;
} spaces[SPACES];

static void add(const char *space, int64_t bytes)
{
    char name[100];
    for (uint32_t i = 0; i < SPACES; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&spaces[i].taken, &none, 1)) {
            snprintf(spaces[i].name, sizeof spaces[i].name, "%.63s", space);
            atomic_store(&spaces[i].taken, 2);
        }
        if (atomic_load(&spaces[i].taken) != 2 || strncmp(spaces[i].name, space, 63) != 0)
            continue;
        int64_t now = atomic_fetch_add(&spaces[i].bytes, bytes) + bytes;
        snprintf(name, sizeof name, "Kokkos bytes allocated in %s", spaces[i].name);
        if (bytes > 0)
            mrl_adapter_value(&regions, name, (double)now);
        return;
    }
}

MRL_ENTRY void kokkosp_allocate_data(struct space space, const char *label, const void *data, uint64_t bytes)
{
    (void)label, (void)data;
    add(space.name, (int64_t)bytes);
}

MRL_ENTRY void kokkosp_deallocate_data(struct space space, const char *label, const void *data, uint64_t bytes)
{
    (void)label, (void)data;
    add(space.name, -(int64_t)bytes);
}

MRL_ENTRY void kokkosp_declare_metadata(const char *name, const char *value)
{
    mrl_adapter_metadata(&regions, name, value);
}
