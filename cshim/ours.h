/*
 * What lies in this object: between the marks that linkers set at its ends. dladdr tells it too, by comparing the address
 * with every symbol of the object.
 */
#ifndef MRL_OURS_H
#define MRL_OURS_H

#include <stdbool.h>
#include <stdint.h>

/* Of variables that every event reads: without it a compiler must suppose them in another object, and loads their address first. */
#define MRL_HIDDEN __attribute__((visibility("hidden")))

static inline bool mrl_is_ours(const void *address)
{
    extern const char __ehdr_start[] MRL_HIDDEN, _end[] MRL_HIDDEN;
    return (uintptr_t)address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

#endif
