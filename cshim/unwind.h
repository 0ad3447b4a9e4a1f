/*
 * Who called whom: frames of the running thread's stack, found with the tables (.eh_frame) that compilers
 * leave for exceptions. Needs no frame pointers and no recompiling.
 *
 * May use: libc only. Knows nothing of records or MPI; a test compiles it alone.
 *
 * Invariant: allocates nothing, and whatever the tables say it reads nothing but this thread's stack, from
 * the stack pointer upwards, and the tables themselves, within the segments that hold them, while they are known
 * to be mapped. Every loop is bounded by the length of what it reads. Tables that make no sense end the walk.
 */
#ifndef MRL_UNWIND_H
#define MRL_UNWIND_H

#include "ours.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#define MRL_REGISTERS 17 /* DWARF's numbers; the last stands for the return address */
#define MRL_SP 7
#define MRL_FP 6
#define MRL_RA 16
#define MRL_KEPT {3, 6, 12, 13, 14, 15} /* by functions for their callers */
#define MRL_KEPT_COUNT 6
#elif defined(__aarch64__)
#define MRL_REGISTERS 32
#define MRL_SP 31
#define MRL_FP 29
#define MRL_RA 30
#define MRL_KEPT {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}
#define MRL_KEPT_COUNT 11
#else
#error "which registers are kept for the caller?"
#endif

/* A word of the stack that a walk depended on, and what it held. */
struct mrl_stacked {
    uintptr_t at; /* bytes above the stack pointer that the walk began with */
    uintptr_t value;
};

/* Where a register's value is known from, if not from a slot of the stack. */
enum { MRL_FROM_NOWHERE, MRL_FROM_START, MRL_FROM_FP, MRL_FROM_ELSEWHERE };

struct mrl_walk {
    uintptr_t pc; /* return address in the current frame */
    uintptr_t value[MRL_REGISTERS];
    uintptr_t from[MRL_REGISTERS]; /* address of a slot, or MRL_FROM_... */
    uintptr_t base;      /* the stack pointer that it began with */
    uintptr_t low, high; /* what may be read */
    struct mrl_stacked *slots;
    uint32_t count, room;
    bool interrupted; /* pc is the next instruction of a function that a signal interrupted */
    bool wanting;     /* stopped for want of a register that the start did not give */
    bool used_fp;     /* depends on the frame pointer that it began with; most functions have other uses for it */
    bool loose;       /* depends on more than pc, stack and frame pointer at the start, and the slots */
    bool scratch_known; /* registers that calls may change, of an interrupted function */
};

/* What is known of an instruction that a call returns to. */
enum mrl_rule_flag {
    MRL_RULE_LAST = 1,     /* the outermost frame */
    MRL_RULE_NONE = 2,     /* no tables, or none that make sense */
    MRL_RULE_COMPLEX = 4,  /* nothing that fits this structure: read the tables each time */
    MRL_RULE_DEREF = 8,    /* the frame's upper end stands in memory */
    MRL_RULE_AT_BASE = 16, /* registers are saved relative to that register, not to the frame's upper end */
    MRL_RULE_SIGNAL = 32,  /* of a signal's return trampoline */
};
#define MRL_SAME INT16_MIN
#define MRL_UNDEFINED (INT16_MIN + 1)

struct mrl_rule {
    uintptr_t pc;        /* 0: unused */
    uint64_t offset;     /* of pc in its module */
    uint32_t generation; /* see mrl_generation */
    uint32_t into;       /* from the function's beginning to pc */
    uint32_t module;     /* as mrl_module counts; MRL_NONE if there is none */
    uint8_t flags;
    uint8_t base;        /* register that the frame's upper end is counted from */
    int16_t ra;          /* words from there to the return address */
    int32_t top;         /* bytes */
    int16_t saved[MRL_KEPT_COUNT]; /* words */
};

#define MRL_RULES 8192u /* of which memory is only what was used */
#define MRL_NUMBERS 16u
#define MRL_REMEMBERED 8u

struct mrl_row {
    uint8_t cfa_how, cfa_register, how[MRL_REGISTERS];
    int64_t cfa, value[MRL_REGISTERS]; /* offset, register, or address of an expression */
};

/* What one thread unwinds with. */
struct mrl_unwinder {
    bool frozen; /* in a signal handler: nothing is looked up that may take a lock, so modules have no numbers ... */
    uint8_t entry[2048], common[256]; /* ... and of tables there are copies; entries that are longer are not known */
    struct mrl_number {
        uintptr_t low, bias; /* of a module; bias: address minus offset */
        uint32_t turn, number;
    } numbers[MRL_NUMBERS];  /* modules that were asked for last: asking goes through all of them */
    struct mrl_rule rules[MRL_RULES];
    struct mrl_rule fresh;
    struct mrl_row row, initial, remembered[MRL_REMEMBERED];
};

/*
 * Changes when a module was unloaded, so that an address may have another meaning than before: the dynamic
 * linker's own count. Modules that are loaded change nothing that was known.
 */
extern MRL_HIDDEN _Atomic uint32_t mrl_generation;

/* Looks whether modules were loaded or unloaded, and lists them anew. Takes the dynamic linker's lock. */
void mrl_unwind_refresh(void);

const struct mrl_rule *mrl_rule(struct mrl_unwinder *u, uintptr_t pc, bool interrupted);

/* Begins a walk at a call: pc is where it returns to, sp and fp are what they will be then. */
void mrl_walk_begin(struct mrl_walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Begins with all registers as they are now, here, and goes to the caller whose stack pointer is sp. */
bool mrl_walk_from_here(struct mrl_walk *w, struct mrl_unwinder *u, uintptr_t sp);

/* Begins where a signal handler's context says, on a stack that ends at `high`. */
void mrl_walk_interrupted(struct mrl_walk *w, const void *context, uintptr_t high);

/* Where the module with this address begins and ends. False: it is not known. */
bool mrl_unwind_module(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* From a frame, of which the rule is known, to its caller. False: there is none, or it is not known. */
bool mrl_walk_step(struct mrl_walk *w, struct mrl_unwinder *u, const struct mrl_rule *rule);

#endif
