/*
 * How far the clocks of the hosts are apart: one rank of each host, its lowest, compares its clock with another
 * host's, at the beginning and at the end. Within a host all processes read the same clock.
 *
 * Those ranks form a binomial tree, so that it takes as many rounds of comparing as the tree is high. Of the
 * round trips between two hosts the shortest counts: the answer was given in the middle of it, but for half of it
 * (Cristian, Probabilistic clock synchronization, 1989).
 */
#include "transport.h"
#include "../cshim/shim.h"

#define ROUND_TRIPS 32

/* What MRL_CLOCK_... ticks are converted to, which all processes of the host share. */
static int64_t now(void)
{
    return (int64_t)(mrl.tsc ? mrl_raw_ns() : mrl.clock());
}

/* Answers another host's leader. */
static bool answer(int32_t who)
{
    for (int i = 0; i < ROUND_TRIPS; i++) {
        char question;
        if (mrl_transport_receive(who, &question, 1))
            return false;
        int64_t time = now();
        if (mrl_transport_send(who, &time, sizeof time))
            return false;
    }
    return true;
}

static bool ask(int32_t whom, struct mrl_offset *out)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        char question = 0;
        int64_t theirs, asked = now();
        if (mrl_transport_send(whom, &question, 1) || mrl_transport_receive(whom, &theirs, sizeof theirs))
            return false;
        int64_t trip = now() - asked;
        if (trip >= least)
            continue;
        least = trip;
        *out = (struct mrl_offset){.at = (uint64_t)(asked + trip / 2), .ns = theirs - (asked + trip / 2),
                                   .error_ns = (uint64_t)(trip / 2 + 1), .known = 1};
    }
    return true;
}

static void compare(struct mrl_offset *out)
{
    const struct mrl_transport *t = mrl_transport();
    const struct mrl_host *hosts;
    uint32_t me = 0, count = t ? mrl_hosts(t, &hosts) : 0;
    while (me < count && hosts[me].leader != (uint64_t)t->rank)
        me++;
    if (count < 2 || me == count)
        return;
    struct mrl_offset own = {.at = (uint64_t)now(), .known = 1};
    uint32_t bit = 1;
    for (; !(me & bit) && bit < count; bit <<= 1)
        if (me + bit < count && !answer((int32_t)hosts[me + bit].leader))
            return;
    if (me) {
        struct mrl_offset parent;
        int32_t whom = (int32_t)hosts[me - bit].leader;
        if (!ask(whom, &own) || mrl_transport_receive(whom, &parent, sizeof parent))
            return;
        own.ns += parent.ns;
        own.error_ns += parent.error_ns;
        own.known = parent.known;
    }
    for (bit >>= 1; bit; bit >>= 1)
        if (me + bit < count && mrl_transport_send((int32_t)hosts[me + bit].leader, &own, sizeof own))
            return;
    *out = own;
}

/* Measures now. Of ranks that are not their host's lowest nothing is asked, and nothing is known. */
void mrl_clocks_compare(struct mrl_offset *out)
{
    mrl_transport_awake(true);
    compare(out);
    mrl_transport_awake(false);
}
