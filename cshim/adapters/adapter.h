/*
 * What applications already contain: interfaces by which a library or a runtime tells a tool what it does. An adapter is one
 * file here. It defines the entry points of its interface, written from that interface's documentation, and says with what
 * stands below what has happened; of records it knows nothing.
 *
 * May use: libc and the shim. Invariant: an entry point does nothing where nothing is measured, changes nothing that its
 * caller can see, and passes on to another tool what it has taken from it.
 */
#ifndef MRL_ADAPTER_H
#define MRL_ADAPTER_H

#include "../path.h"

#define MRL_ENTRY __attribute__((visibility("default")))

/* Where regions come from. An interface that knows several kinds of them has one of these for each. */
struct mrl_adapter {
    const char *name;  /* in the setting `adapters` */
    const char *group; /* that its regions are in */
};

/* Whether what this one says is wanted, in a process that is measured or may be by itself. */
bool mrl_adapter_listens(const struct mrl_adapter *by);

/* A region begins, in the function that has called the entry point: MRL_CALLER. Its token; 0: it is not recorded. */
uint64_t mrl_adapter_begin(const struct mrl_adapter *by, const char *name, struct mrl_caller caller);

/* It ends, and what is still open inside it: by its token; or the innermost one of this adapter, of this name if one is given. */
void mrl_adapter_end(uint64_t token);
void mrl_adapter_end_innermost(const struct mrl_adapter *by, const char *name);

/* It ends, and has counted: three counters that stand behind one another, from mrl_counters_told. */
void mrl_adapter_end_counted(uint64_t token, uint32_t first, const uint64_t values[3]);

/*
 * An invocation of a method begins, unless one that this adapter has begun is open in the thread. Its token; 0: it is not
 * recorded. It ends with mrl_invocation_end, and the values it is remembered with.
 */
uint64_t mrl_adapter_invoke(const struct mrl_adapter *by, struct marple_method *method, struct mrl_caller caller);

/* A value was reported under a name, and a name has a value. */
void mrl_adapter_value(const struct mrl_adapter *by, const char *name, double value);
void mrl_adapter_metadata(const struct mrl_adapter *by, const char *name, const char *value);

/* The next definition of an entry point: another tool's, or that of a library that an adapter stands before. NULL: none. */
void *mrl_adapter_next(const char *function);

/* A copy of a name that lives as long as the process; NULL without memory. Not for what happens often. */
const char *mrl_adapter_keep(const char *name);

#endif
