/*
 * What TAU and its plugins hand each other, as far as it is used here. The facts are those of TAU's public
 * header TauPluginTypes.h. Its structures carry no version, and have grown: only members that all versions have
 * at the same place are named, and nothing behind them is looked at. The one exception says which versions have it.
 */
#ifndef MRL_TAU_H
#define MRL_TAU_H

#include <stdint.h>

struct mrl_tau_timer { /* entry and exit */
    const char *name, *group;
};

/* Exit, where the table of callbacks has MRL_TAU_METRICS_SINCE places or more: `metrics` came when it had 42 to 44. */
#define MRL_TAU_METRICS_SINCE 45
#define MRL_TAU_METRICS 25 /* as many there are at most */
struct mrl_tau_timer_end {
    struct mrl_tau_timer timer;
    unsigned function;
    int thread;
    unsigned long timestamp;
    const double *metrics; /* since this timer began, in the order of Tau_get_counter_info */
};

struct mrl_tau_message { /* sent and received */
    unsigned long tag, peer /* rank in MPI_COMM_WORLD */, bytes;
};

struct mrl_tau_atomic {
    const char *name;
    int thread;
    unsigned long value;
};

struct mrl_tau_phase {
    const char *name;
};

/* What a call was given, as members of a JSON object: "name": "MPI_Bcast", "root": 0, "comm": "MPI_COMM_WORLD" */
struct mrl_tau_given {
    const char *text;
};

enum mrl_tau_kind {
    MRL_TAU_TEXT,
    MRL_TAU_INTEGER,
    MRL_TAU_REAL,
    MRL_TAU_OBJECT,
    MRL_TAU_ARRAY,
    MRL_TAU_TRUE,
    MRL_TAU_FALSE,
    MRL_TAU_NULL
};

struct mrl_tau_value {
    unsigned kind; /* enum mrl_tau_kind */
    union {
        const char *text;
        int integer;
        double real;
        const struct mrl_tau_object *object;
        const struct mrl_tau_array *array;
    } as;
};

struct mrl_tau_object {
    int count;
    char **names;
    struct mrl_tau_value **values;
};

struct mrl_tau_array {
    int count;
    struct mrl_tau_value **values;
};

struct mrl_tau_metadata {
    const char *name;
    const struct mrl_tau_value *value;
};

/* Whether this library is, or will be, loaded by TAU as a plugin: then TAU says what happens. */
_Bool mrl_tau_loads_us(void);

#endif
