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

#include <stdlib.h>
#include <string.h>

#define ROUND_TRIPS 32

struct host {
    uint64_t id;
    uint64_t leader; /* its lowest rank */
};

static struct {
    struct host *list; /* by leader */
    uint32_t count;
} hosts;

/* What MRL_CLOCK_... ticks are converted to, which all processes of the host share. */
static int64_t now(void)
{
    return (int64_t)(mrl.tsc ? mrl_raw_ns() : mrl.clock());
}

static bool add(const struct host *more, uint64_t count)
{
    struct host *list = realloc(hosts.list, (hosts.count + count) * sizeof *list);
    if (!list)
        return false;
    hosts.list = list;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t at = 0;
        while (at < hosts.count && list[at].id != more[i].id)
            at++;
        if (at == hosts.count)
            list[hosts.count++] = more[i];
        else if (more[i].leader < list[at].leader)
            list[at].leader = more[i].leader;
    }
    return true;
}

static bool take(const struct mrl_transport *t, int32_t from)
{
    uint64_t size;
    if (t->receive_size(from, &size) || size > (uint64_t)t->ranks * sizeof(struct host))
        return false;
    struct host *more = malloc(size + 1);
    bool ok = more && !mrl_transport_receive(from, more, size) && add(more, size / sizeof *more);
    free(more);
    return ok;
}

static int by_leader(const void *a, const void *b)
{
    uint64_t x = ((const struct host *)a)->leader, y = ((const struct host *)b)->leader;
    return (x > y) - (x < y);
}

/* All ranks get to know the hosts and their leaders. */
static bool meet_hosts(const struct mrl_transport *t)
{
    struct host own = {mrl.header->host, (uint64_t)t->rank};
    if (!add(&own, 1))
        return false;
    for (int32_t bit = 1; bit < t->ranks; bit <<= 1) {
        if (t->rank & bit) {
            if (t->send(t->rank - bit, hosts.list, hosts.count * sizeof own))
                return false;
            break;
        }
        if (t->rank + bit < t->ranks && !take(t, t->rank + bit))
            return false;
    }
    if (!mrl_transport_broadcast(&hosts.count, sizeof hosts.count))
        return false;
    if (hosts.count < 2)
        return true;
    struct host *list = realloc(hosts.list, hosts.count * sizeof own);
    if (!list)
        return false;
    hosts.list = list;
    if (t->rank == 0)
        qsort(list, hosts.count, sizeof *list, by_leader);
    return mrl_transport_broadcast(list, hosts.count * (uint32_t)sizeof own);
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

/* Measures now. Of ranks that are not their host's lowest nothing is asked, and nothing is known. */
void mrl_clocks_compare(struct mrl_offset *out)
{
    const struct mrl_transport *t = mrl_transport();
    uint32_t me = 0;
    if (!t || (!hosts.list && !meet_hosts(t)))
        return;
    while (me < hosts.count && hosts.list[me].leader != (uint64_t)t->rank)
        me++;
    if (hosts.count < 2 || me == hosts.count)
        return;
    struct mrl_offset own = {.at = (uint64_t)now(), .known = 1};
    uint32_t bit = 1;
    for (; !(me & bit) && bit < hosts.count; bit <<= 1)
        if (me + bit < hosts.count && !answer((int32_t)hosts.list[me + bit].leader))
            return;
    if (me) {
        struct mrl_offset parent;
        int32_t whom = (int32_t)hosts.list[me - bit].leader;
        if (!ask(whom, &own) || mrl_transport_receive(whom, &parent, sizeof parent))
            return;
        own.ns += parent.ns;
        own.error_ns += parent.error_ns;
        own.known = parent.known;
    }
    for (bit >>= 1; bit; bit >>= 1)
        if (me + bit < hosts.count && mrl_transport_send((int32_t)hosts.list[me + bit].leader, &own, sizeof own))
            return;
    *out = own;
}
