/*
 * Around Marple's own system calls in the application's thread. They are not to be left half-way, by a
 * handler that jumps or by the thread's cancellation; and what they raise (SIGPIPE where the reader of
 * stderr has gone, SIGXFSZ where the file size is limited) must not reach the application.
 */
#ifndef MRL_SHIELD_H
#define MRL_SHIELD_H

#include <signal.h>

/* What was the application's before. */
struct mrl_shield {
    sigset_t mask, pending;
    int cancel;
};

/* Between the two no handler runs but those of faults. They nest. */
void mrl_shield(struct mrl_shield *s);
void mrl_unshield(const struct mrl_shield *s);

/* Around one that may take place at each event, or in a handler: only the thread's cancellation waits. */
int mrl_defer(void);
void mrl_undefer(int cancel);

#endif
