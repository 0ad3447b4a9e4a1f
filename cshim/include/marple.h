/*
 * Marple's annotations for C and C++ programs.
 *
 *     #include <marple.h>
 *     marple_region_begin("assemble matrix");
 *     ...
 *     marple_region_end("assemble matrix");
 *
 * Nothing needs to be linked but libdl where that is separate. When the program runs without Marple a
 * call costs one look-up, once, and then a test. Regions nest; they may be used from any thread, from
 * MPI_Init to MPI_Finalize. Names are read up to 255 bytes, and need not outlive the call.
 */
#ifndef MARPLE_H
#define MARPLE_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libmarple.so offers. Later versions only append; check `size` before using what was appended. */
struct marple_hooks {
    uint32_t size; /* bytes of this structure in the library that is loaded */
    void (*region_begin)(const char *name);
    void (*region_end)(const char *name);
};

#define MARPLE_HOOKS "marple_hooks_1"

/* No frames of their own: a region belongs to the function that begins it. */
#define MARPLE_INLINE static inline __attribute__((always_inline, no_instrument_function))

MARPLE_INLINE const struct marple_hooks *marple_find_hooks(void)
{
    static const struct marple_hooks none = {sizeof(struct marple_hooks), 0, 0};
    static const struct marple_hooks *found;
    const struct marple_hooks *table = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!table) {
        table = (const struct marple_hooks *)dlsym(RTLD_DEFAULT, MARPLE_HOOKS);
        table = table ? table : &none;
        __atomic_store_n(&found, table, __ATOMIC_RELAXED);
    }
    return table;
}

/* Time from here on belongs to region `name`, inside whatever region is open in this thread. */
MARPLE_INLINE void marple_region_begin(const char *name)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (hooks->region_begin)
        hooks->region_begin(name);
}

/* Ends region `name`, and any still open inside it. One that is not open is counted and ignored. */
MARPLE_INLINE void marple_region_end(const char *name)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (hooks->region_end)
        hooks->region_end(name);
}

#ifdef __cplusplus
}
#endif
#endif
