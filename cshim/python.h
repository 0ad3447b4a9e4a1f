/*
 * Python's functions: which of them a thread is in, from the interpreter's own structures, for call paths and samples.
 *
 * May use: libc. Nothing of the interpreter is called but what gives this thread's state, which asks pthread_getspecific
 * for it, and what tells whether the interpreter ends, which reads a word: a thread in MPI seldom has the interpreter's
 * lock, and a signal finds it anywhere.
 *
 * Invariant: takes no lock, allocates nothing, keeps errno. Walks read through the kernel (process_vm_readv), which
 * says where there is no memory instead of faulting, and check the type of whatever they find. mrl_python_mark reads
 * directly, once a walk has found everything in its place, and only in calls of MPI, when this thread's frames, and
 * all that they hold references to, stay where they are.
 */
#ifndef MRL_PYTHON_H
#define MRL_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of names, a zero included; of a longer function's its beginning is kept, of a longer file's its end. */
#define MRL_PYTHON_NAME 128u
#define MRL_PYTHON_FILE 256u
#define MRL_PYTHON_CODES 256u

/* A code object, copied while it lived: its address may be another's later. */
struct mrl_python_code {
    uintptr_t at, table_at;
    uint64_t mark;  /* of name and file */
    uint32_t first; /* line */
    bool frozen;    /* a part of the interpreter */
    char name[MRL_PYTHON_NAME], file[MRL_PYTHON_FILE];
};

struct mrl_python_codes {
    uint32_t count;
    struct mrl_python_code list[MRL_PYTHON_CODES];
    unsigned char window[4 * MRL_PYTHON_FILE]; /* what is being read: signal stacks are small */
};

/* A call of a Python function that has not returned. */
struct mrl_python_frame {
    uintptr_t frame;     /* its address */
    uintptr_t loop;      /* an address in the frame, on the stack, of the C function that runs it; 0: not known */
    uintptr_t next;      /* the instruction, in bytes from the first one */
    uint32_t code, line; /* index in a table of codes */
};

enum mrl_python_end { MRL_PYTHON_WHOLE, MRL_PYTHON_MORE, MRL_PYTHON_BROKEN, MRL_PYTHON_FULL };

struct mrl_python_stack {
    uint32_t count, room;
    enum mrl_python_end end; /* no more there, more than there was room for, not understood, table of codes full */
    struct mrl_python_frame *frames; /* the innermost first */
};

/* Looks for an interpreter among what is loaded. What is not known of it goes to the run's metadata. */
void mrl_python_find(void);

/* The name of those metadata: analysis/record. */
#define MRL_PYTHON_UNREAD "Python functions are not named"

/* This thread's functions, without their lines. False: it runs none, or there is no interpreter that is known. */
bool mrl_python_walk(struct mrl_python_stack *s, struct mrl_python_codes *codes);

/* The lines that they are at: what walks need but samples of a known place do not. */
void mrl_python_lines(struct mrl_python_stack *s, struct mrl_python_codes *codes);

/* The same in a call of MPI, where nothing may be out of place: if something is, it is refused from then on. */
bool mrl_python_trust(struct mrl_python_stack *s, struct mrl_python_codes *codes);

/* The C function that runs Python's; 0: there is none. */
uintptr_t mrl_python_loop(void);

/*
 * Changes with the functions and lines that this thread is in, as far as `most` of them tell; `places`: with the frames'
 * addresses, too. 0: none. Only if mrl.python.
 */
uint64_t mrl_python_mark(uint32_t most, bool places);

#endif
