/*
 * Functions with every kind of frame that compilers make, each of which calls another one chosen at random
 * until the depth is reached. frames.c is compiled several times, with other compilers and flags; STYLE is
 * then the suffix of its names.
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdint.h>

typedef uint64_t step_function(uint64_t *random, int depth);

enum { KINDS = 12 };

/* Calls some function of some style, or `reached` at depth 0. */
uint64_t next(uint64_t *random, int depth);
void reached(void);

static inline uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

#endif
