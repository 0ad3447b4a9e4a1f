#include "shield.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

int mrl_defer(void)
{
    int cancel = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    return cancel;
}

void mrl_undefer(int cancel)
{
    pthread_setcancelstate(cancel, NULL);
}

void mrl_shield(struct mrl_shield *s)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}; /* blocked, they kill */
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    s->cancel = mrl_defer();
    pthread_sigmask(SIG_SETMASK, &all, &s->mask);
    sigpending(&s->pending);
}

void mrl_unshield(const struct mrl_shield *s)
{
    static const int raised[] = {SIGPIPE, SIGXFSZ};
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++)
        if (!sigismember(&s->pending, raised[i]))
            sigaddset(&ours, raised[i]);
    while (sigtimedwait(&ours, NULL, &(struct timespec){0, 0}) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
    mrl_undefer(s->cancel);
}
