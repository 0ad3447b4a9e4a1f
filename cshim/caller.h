/*
 * Who has called a function that stands before another one: where a walk of the stack begins.
 *
 * May use: nothing.
 */
#ifndef MRL_CALLER_H
#define MRL_CALLER_H

#include <stdint.h>

/* Where a function that called us goes on, and what its stack and frame pointers are then. */
struct mrl_caller {
    uintptr_t pc, sp, fp;
};

/* For functions that are called from outside; not for what is inlined into them. */
#define MRL_CALLER                                                                               \
    ((struct mrl_caller){(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
                         (uintptr_t)__builtin_dwarf_cfa(), *(const uintptr_t *)__builtin_frame_address(0)})

#endif
