/*
 * Call paths: which node of the path table an event belongs to, from the stack at its call.
 *
 * Walking the stack takes hundreds of nanoseconds, so each thread remembers walks by what they began with,
 * together with every word of the stack that they depended on: as long as all of those hold the same values,
 * the same walk would give the same path. Where Python runs, its functions and lines take part as well: they are in
 * mrl_paths.python, and so in the mark.
 */
#ifndef MRL_PATH_H
#define MRL_PATH_H

#include "caller.h"
#include "counter.h"
#include "python.h"
#include "unwind.h"

#include <string.h>

/* What an event is, beside the numbers of MPI functions. */
enum { MRL_EVENT_ASIDE = 0xffe0 /* and its kind */, MRL_EVENT_FUNCTION = 0xfffd, MRL_EVENT_REGION = 0xfffe, MRL_EVENT_METHOD = 0xffff };

/* A frame that was there when a region began: its upper end, where its function returns to, and which it is. */
struct mrl_anchor {
    uintptr_t top, ra;
    uint64_t function;
};

/* A region may be begun by functions made for that purpose, which have returned when the next event comes. */
#define MRL_ANCHORS 4u /* such functions, inside each other, and the one that wanted the region */

#define MRL_NO_WALK UINT64_MAX /* no code is there; without call paths MPI_Send's key is 0 */

/* A walk, with what it began with and what it depended on. */
struct mrl_path {
    uint64_t key; /* pc, event in the top 16 bits; or MRL_NO_WALK */
    uintptr_t sp;
    uint64_t where;        /* innermost open region, generation of the modules in the upper half */
    uint64_t mark;         /* of that region's anchors, and of Python's functions */
    uintptr_t fp, fp_mask; /* what of the frame pointer matters: all or nothing */
    struct mrl_stacked *words;
    uint32_t count;
    uint32_t node;
};
_Static_assert(sizeof(struct mrl_path) == 64, "a cache line");

/* Of a walk for a region, function or method that begins. */
struct mrl_beginning {
    const void *name; /* or address of the function, or number of the method */
    uint64_t mark;    /* a hash of the anchors, 0 if there are none */
    struct mrl_anchor anchors[MRL_ANCHORS];
    uint64_t pad[2];
};
_Static_assert(sizeof(struct mrl_beginning) == 2 * sizeof(struct mrl_path), "which makes one's place from the other's");

#define MRL_PATHS_BITS 8 /* 2^8 pairs of places; a walk that finds both of its places taken replaces the older */
#define MRL_PATHS (1u << MRL_PATHS_BITS)

/*
 * A function that wraps MPI's is called from many places at one depth of the stack. All that begins alike competes for one
 * pair of places; so where walks have driven each other out, what they differed in, mostly a return address,
 * takes part in the choice of another pair.
 */
#define MRL_BRANCHES 4u /* such words */

struct mrl_branch {
    uint64_t key; /* the walks', and what they began with; or MRL_NO_WALK */
    uintptr_t sp;
    uint32_t at[MRL_BRANCHES]; /* bytes above the stack pointer, 0: no more */
};

struct mrl_frame;

/* What opened a region, where that is to be asked: valid as long as the token is that of what is open there. */
struct mrl_begun {
    uint64_t token;
    const void *by;
};

/* One thread's. Private memory: nothing in it is of use to a reader. */
struct mrl_paths {
    uintptr_t code_mask, stack_mask; /* what of a caller tells paths apart */
    uint64_t mark;                   /* of the innermost open region's anchors, 0 if there is none */
    uintptr_t low, high;             /* the thread's stack */
    uint64_t python;                 /* of the functions of Python's that the event is in, 0 if there are none */
    uint32_t words;                  /* that a walk may depend on, to be remembered */
    struct mrl_frame *frames, *woven;
    struct mrl_python_stack called;
    struct mrl_python_codes *codes;
    _Alignas(64) struct mrl_path paths[2 * MRL_PATHS];
    struct mrl_beginning beginnings[2 * MRL_PATHS];
    uint8_t older[MRL_PATHS]; /* of each pair: the one to replace */
    struct mrl_branch branches[MRL_PATHS];
    struct mrl_anchor anchors[MRL_DEPTH][MRL_ANCHORS]; /* of what is open */
    uint64_t marks[MRL_DEPTH];
    const void *functions[MRL_DEPTH]; /* NULL for regions and methods */
    struct mrl_begun begun[MRL_DEPTH]; /* of what an adapter has opened */
    uintptr_t beyond; /* top of the first function that found no room among these, 0 if there is none */
    struct mrl_walk walk;
    struct mrl_unwinder unwinder;
    struct mrl_sampling *_Atomic sampling; /* sample.h; NULL: the thread is not sampled */
};

/* Makes what a thread needs to have call paths. False: there is no memory. */
bool mrl_paths_begin(struct mrl_thread *t);

/* Libraries between an adapter's caller and the program, whose frames belong to the call: adapters/adapter.c. */
extern const char *const mrl_adapter_layers[];

/* Walks the stack, and makes the node of an event from `leaf`: kind, key, name, op and flags. */
struct mrl_path *mrl_path_walk(struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller caller,
                               const struct mrl_node *leaf);

/*
 * A stack as a signal handler has found it, the innermost frame first: where each goes on, as if by a return, and its
 * upper end (0 if that is not known).
 */
struct mrl_trail {
    uint64_t hash;
    uint32_t samples, periods; /* how often it was found */
    uint32_t count;
    uint8_t how;               /* enum mrl_walk_end */
    uint8_t python_end;        /* enum mrl_python_end */
    uint32_t pythons;
    uintptr_t base, beyond;    /* the stack pointer; where the outermost of these frames returns to */
    struct {
        uintptr_t pc, top;
    } frames[];
};

/* Its functions of Python's, behind the frames, for which there is this much room. */
static inline struct mrl_python_frame *mrl_trail_python(const struct mrl_trail *trail, uint32_t most)
{
    return (struct mrl_python_frame *)&trail->frames[most];
}

/* How a walk ended; woven: whole as far as Python's functions are known, without what is folded. */
enum mrl_walk_end { MRL_WALK_WHOLE, MRL_WALK_ANCHORED, MRL_WALK_UNKNOWN, MRL_WALK_LIMITED, MRL_WALK_WOVEN };

/* How many frames a walk may need, the folded ones included; 0: none are wanted. */
uint32_t mrl_frames_most(void);

/* ... and how many functions of Python's. */
uint32_t mrl_pythons_most(void);

/* The node of a place in this thread, or in another one, which has no regions; MRL_ROOT_NODE: it is not known. */
uint32_t mrl_path_trail(struct mrl_thread *t, const struct mrl_trail *trail, const struct mrl_python_codes *codes, bool elsewhere);

/* The first of the two places that a walk is remembered in. */
static inline __attribute__((always_inline)) struct mrl_path *
mrl_path_place(struct mrl_paths *p, uint64_t event, const void *name, uintptr_t pc, uintptr_t sp)
{
    uint64_t x = (pc & p->code_mask) ^ event << 48 ^ (sp & p->stack_mask) << 8 ^ (uintptr_t)name << 12;
    return &p->paths[(x * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MRL_PATHS_BITS)) * 2];
}

/* Whether a place holds a walk that would go the same way again. */
static inline __attribute__((always_inline)) bool
mrl_path_holds(const struct mrl_thread *t, const struct mrl_path *path, uint64_t event, uint64_t mark, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    const struct mrl_paths *p = t->paths;
    uint64_t where = t->where | (uint64_t)atomic_load_explicit(&mrl_generation, memory_order_relaxed) << 32;
    sp &= p->stack_mask;
    if (unlikely(path->key != ((pc & p->code_mask) | event << 48) || path->sp != sp || path->where != where || path->mark != mark))
        return false;
    uintptr_t changed = (path->fp ^ fp) & path->fp_mask;
    const struct mrl_stacked *word = path->words, *end = word + path->count;
    for (; word < end; word++)
        changed |= *(const uintptr_t *)(sp + word->at) ^ word->value;
    return likely(!changed);
}

static inline uint64_t mrl_path_mark(const struct mrl_paths *p)
{
    return p->mark ^ p->python;
}

/* ... for any walk; the above alone is for where nothing of Python's matters. */
static inline struct mrl_path *mrl_path_first(struct mrl_paths *p, uint64_t event, const void *name, struct mrl_caller c)
{
    return mrl_path_place(p, event, (const void *)((uintptr_t)name ^ p->python), c.pc, c.sp);
}

/* The one of a pair of places that holds such a walk, or NULL. */
static inline const struct mrl_path *
mrl_path_at(const struct mrl_thread *t, const struct mrl_path *path, uint64_t event, const void *name, struct mrl_caller c)
{
    const struct mrl_paths *p = t->paths;
    for (int place = 0; place < 2; place++, path++)
        if (mrl_path_holds(t, path, event, mrl_path_mark(p), c.pc, c.sp, c.fp) &&
            (event < MRL_EVENT_FUNCTION || p->beginnings[path - p->paths].name == name))
            return path;
    return NULL;
}

/* A walk that competes with others, or NULL. */
const struct mrl_path *mrl_path_branched(const struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller caller);

/* The remembered walk of an event, or NULL. */
static inline const struct mrl_path *
mrl_path_remembered(struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller c)
{
    if (unlikely(atomic_load_explicit(&mrl.python, memory_order_relaxed)) && t->paths->stack_mask)
        t->paths->python = mrl_python_mark(mrl_pythons_most(), t->paths->mark);
    const struct mrl_path *path = mrl_path_at(t, mrl_path_first(t->paths, event, name, c), event, name, c);
    return likely(path != NULL) ? path : mrl_path_branched(t, event, name, c);
}

static inline const struct mrl_beginning *mrl_beginning_of(const struct mrl_thread *t, const struct mrl_path *path)
{
    return &t->paths->beginnings[path - t->paths->paths];
}

/* Takes the innermost of what is open off the stack. */
static inline struct mrl_open mrl_pop(struct mrl_thread *t, uint64_t now)
{
    struct mrl_open open = t->open[--t->depth];
    t->where = open.outer;
    t->paths->mark = t->depth ? t->paths->marks[t->depth - 1] : 0;
    t->unentered = 0;
    t->last_end = now;
    return open;
}

/* Tells what is open at a depth, counted from 1, from whatever else was or will be. */
static inline uint64_t mrl_token(const struct mrl_thread *t, uint32_t depth)
{
    return t->open[depth - 1].enter << 8 | depth;
}
_Static_assert(MRL_DEPTH < 256, "a token has 8 bits for the depth");

/* region.c */
const struct mrl_path *mrl_region_path(struct mrl_thread *t, const char *name, struct mrl_caller caller);
const struct mrl_path *mrl_function_path(struct mrl_thread *t, const void *function, struct mrl_caller caller);

/* A region has passed, from what mrl_start gave to what mrl_stop did, and nothing was recorded in it. */
void mrl_region_aside(struct mrl_thread *t, uint32_t node, uint64_t began, uint64_t ended);

/* mrl_invocation_begin for somebody else than its caller (component.c). */
uint64_t mrl_invocation_begin_in(struct marple_method *method, struct mrl_caller caller);

/* Opens a node, at a tick, where there is room for it. */
static inline __attribute__((always_inline)) void
mrl_open_at(struct mrl_thread *t, uint32_t node, const struct mrl_beginning *beginning, bool function, uint64_t now)
{
    struct mrl_paths *p = t->paths;
    uint32_t depth = t->depth;
    uint64_t mark = beginning ? beginning->mark : 0;
    if (unlikely(p->marks[depth] != mark)) { /* which is a hash of them, or there are none */
        if (mark)
            memcpy(p->anchors[depth], beginning->anchors, sizeof p->anchors[0]);
        else
            memset(p->anchors[depth], 0, sizeof p->anchors[0]);
        p->marks[depth] = mark;
    }
    p->functions[depth] = function ? beginning->name : NULL;
    p->mark = mark;
    struct mrl_open *open = &t->open[depth];
    open->enter = now;
    open->path = node;
    open->outer = t->where;
    t->depth = depth + 1;
    t->where = node;
    t->unentered = 1;
    t->gap_from = now;
    t->last_end = 0; /* so that the next event finds out, see mrl_start ... */
}

/* Opens a node. `beginning` says in what frames; a phase has none. False if it is nested too deeply to be recorded. */
static inline __attribute__((always_inline)) bool
mrl_open_node(struct mrl_thread *t, uint32_t node, const struct mrl_beginning *beginning, bool function)
{
    if (unlikely(t->depth == MRL_DEPTH)) {
        t->deep_regions++;
        return false;
    }
    if (unlikely(mrl.counters) && !function)
        mrl_count_from(t);
    mrl_open_at(t, node, beginning, function, mrl_start(t));
    if (unlikely(mrl.external))
        mrl_enter_late(t); /* ... which does not ask when time is not real */
    return true;
}

#endif
