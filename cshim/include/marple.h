/*
 * Marple's annotations for C and C++ programs; C++ has more convenient ones in marple.hpp.
 *
 *     #include <marple.h>
 *     marple_region_begin("assemble matrix");
 *     ...
 *     marple_region_end("assemble matrix");
 *
 * and for components, whose invocations are recorded one by one:
 *
 *     static struct marple_method compute = MARPLE_METHOD("States", "compute");
 *     struct marple_invocation call;
 *     marple_invocation_begin(&call, &compute, NULL);
 *     marple_integer(&call, "n", n);
 *     ...
 *     marple_invocation_end(&call);
 *
 * Nothing needs to be linked but libdl where that is separate. When the program runs without Marple a
 * call costs one look-up, once, and then a test. Regions and invocations nest; they may be used from any
 * thread, from MPI_Init to MPI_Finalize, or in a program without MPI from the first one to the end.
 * Names of up to 255 bytes are told apart. Those of regions and values need not outlive the call.
 */
#ifndef MARPLE_H
#define MARPLE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RTLD_DEFAULT /* which POSIX knows and ISO C's dlfcn.h hides */
#define RTLD_DEFAULT ((void *)0)
#endif

/*
 * A method of a component, or of one instance of it; instance may be NULL. It must live, at the same place,
 * as long as it is in use, and so must its names.
 */
struct marple_method {
    const char *component, *method, *instance;
    uint32_t id; /* the library's; 0 at first */
    uint32_t off; /* not 0: its invocations are not recorded */
};

#define MARPLE_METHOD(component, method) {component, method, NULL, 0, 0}

/* What an invocation is remembered with: a parameter, or a quality of its result (an accuracy, say). */
enum marple_kind { MARPLE_INTEGER = 0, MARPLE_REAL = 1, MARPLE_QUALITY = 2 /* a real one */ };

struct marple_value {
    const char *name;
    union {
        int64_t integer;
        double real;
    } as;
    uint32_t kind; /* enum marple_kind */
};

#define MARPLE_VALUES 16u /* of one invocation; of more, the first ones are kept and the others counted */

struct marple_invocation {
    uint64_t token; /* 0: it is not recorded */
    uint32_t count; /* of values given */
    struct marple_value values[MARPLE_VALUES];
};

/* What the calling thread has spent since it was first seen. */
struct marple_totals {
    uint64_t wall; /* nanoseconds, without those of Marple itself; on a simulated clock if there is one */
    uint64_t mpi;  /* of these, in MPI */
    int32_t rank, ranks;
};

/* What libmarple.so offers. Later versions only append; check `size` before using what was appended. */
struct marple_hooks {
    uint32_t size; /* bytes of this structure in the library that is loaded */
    void (*region_begin)(const char *name);
    void (*region_end)(const char *name);
    /* Returns the token. */
    uint64_t (*invocation_begin)(struct marple_method *method, const char *context);
    void (*invocation_end)(uint64_t token, const struct marple_value *values, uint32_t count);
    void (*families)(const char *declaration);
    int (*totals)(struct marple_totals *totals);
    void (*record_mpi)(int on);
};

#define MARPLE_HOOKS "marple_hooks_1"
#define MARPLE_HAS(hooks, member) ((hooks)->size >= offsetof(struct marple_hooks, member) + sizeof((hooks)->member))

/* No frames of their own: what they begin belongs to the function that uses them. */
#define MARPLE_INLINE static inline __attribute__((always_inline, no_instrument_function))

MARPLE_INLINE const struct marple_hooks *marple_find_hooks(void)
{
    static const struct marple_hooks none = {0, 0, 0, 0, 0, 0, 0, 0};
    static const struct marple_hooks *found;
    const struct marple_hooks *table = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!table) {
        table = (const struct marple_hooks *)dlsym(RTLD_DEFAULT, MARPLE_HOOKS);
        table = table ? table : &none;
        __atomic_store_n(&found, table, __ATOMIC_RELAXED);
    }
    return table;
}

/* Time from here on belongs to region `name`, inside whatever is open in this thread. */
MARPLE_INLINE void marple_region_begin(const char *name)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (MARPLE_HAS(hooks, region_begin))
        hooks->region_begin(name);
}

/* Ends region `name`, and whatever is still open inside it. One that is not open is counted and ignored. */
MARPLE_INLINE void marple_region_end(const char *name)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (MARPLE_HAS(hooks, region_end))
        hooks->region_end(name);
}

/*
 * Begins an invocation; its end must come in the same thread. `context` is where the caller says that it is,
 * e.g. a level of the mesh; or NULL.
 */
MARPLE_INLINE void marple_invocation_begin(struct marple_invocation *call, struct marple_method *method, const char *context)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    call->token = MARPLE_HAS(hooks, invocation_end) && !method->off ? hooks->invocation_begin(method, context) : 0;
    call->count = 0;
}

/* Ends it, and whatever is still open inside it. */
MARPLE_INLINE void marple_invocation_end(struct marple_invocation *call)
{
    if (call->token)
        marple_find_hooks()->invocation_end(call->token, call->values, call->count);
}

/* The next value, which the caller fills in; NULL if nothing becomes of it. */
MARPLE_INLINE struct marple_value *marple_next_value(struct marple_invocation *call, const char *name, enum marple_kind kind)
{
    if (!call->token || call->count++ >= MARPLE_VALUES)
        return NULL;
    struct marple_value *value = &call->values[call->count - 1];
    value->name = name;
    value->kind = kind;
    return value;
}

/* Parameters of an invocation, and qualities of its result. `name` must last until the invocation ends. */
MARPLE_INLINE void marple_integer(struct marple_invocation *call, const char *name, int64_t integer)
{
    struct marple_value *value = marple_next_value(call, name, MARPLE_INTEGER);
    if (value)
        value->as.integer = integer;
}

MARPLE_INLINE void marple_real(struct marple_invocation *call, const char *name, double real)
{
    struct marple_value *value = marple_next_value(call, name, MARPLE_REAL);
    if (value)
        value->as.real = real;
}

MARPLE_INLINE void marple_quality(struct marple_invocation *call, const char *name, double real)
{
    struct marple_value *value = marple_next_value(call, name, MARPLE_QUALITY);
    if (value)
        value->as.real = real;
}

/*
 * Declares which components can take each other's place, in the form of a file of families or of a part of one (see
 * marple select --help), of at most 1023 bytes. What several say is joined. An implementation may declare itself:
 *
 *     marple_families("families: {flux: {implementations: {efm: {class: EFMFlux, fit: yes}}}}");
 *
 * and others that are known of: {godunov: {class: GodunovFlux, time: 0.315e-6*q}}. When the program ends, the report
 * says which to take. A file that is given as the setting `families` counts instead.
 */
MARPLE_INLINE void marple_families(const char *declaration)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (MARPLE_HAS(hooks, families))
        hooks->families(declaration);
}

/* 0 if nothing is measured. */
MARPLE_INLINE int marple_read_totals(struct marple_totals *totals)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    return MARPLE_HAS(hooks, totals) && hooks->totals(totals);
}

/*
 * Switches the recording of this process's MPI calls off (0) or on; regions and invocations go on. What a thread
 * spends in MPI meanwhile counts as computation. Messages are matched in order: whoever switches it off does so on
 * all ranks, where no messages are under way.
 */
MARPLE_INLINE void marple_record_mpi(int on)
{
    const struct marple_hooks *hooks = marple_find_hooks();
    if (MARPLE_HAS(hooks, record_mpi))
        hooks->record_mpi(on);
}

#ifdef __cplusplus
}
#endif
#endif
