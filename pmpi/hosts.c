/*
 * Which hosts there are, and which ranks' records are on hosts that do not see the run directory: told along a tree to rank 0, once.
 * Of ranks that follow one another and have theirs at the same place there is one entry.
 */
#include "transport.h"
#include "../cshim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct away {
    uint64_t place; /* in the lines */
    int32_t first, last;
};

/* What one rank tells another: these, and the three rows behind one another. */
struct counts {
    uint32_t hosts, away;
    uint64_t bytes;
};
_Static_assert(sizeof(struct counts) % 8 == 0 && sizeof(struct mrl_host) % 8 == 0 && sizeof(struct away) % 8 == 0, "rows are aligned");

static struct counts known;
static struct mrl_host *list; /* by leader, in the end */
static struct away *away;     /* by rank */
static char *lines;           /* of mrl_home_tell, one for each place */

static bool grow(void *row, uint64_t members)
{
    void *longer = realloc(*(void **)row, members);
    if (longer)
        *(void **)row = longer;
    return longer;
}

static bool add(struct counts more, const struct mrl_host *hosts, const struct away *ranks, const char *text)
{
    if (!grow(&list, (known.hosts + more.hosts + 1) * sizeof *list) || !grow(&away, (known.away + more.away + 1) * sizeof *away) ||
        !grow(&lines, known.bytes + more.bytes + 1))
        return false;
    for (uint32_t i = 0; i < more.hosts; i++) {
        uint32_t at = 0;
        while (at < known.hosts && list[at].id != hosts[i].id)
            at++;
        if (at == known.hosts)
            list[known.hosts++] = hosts[i];
        else if (hosts[i].leader < list[at].leader)
            list[at].leader = hosts[i].leader;
    }
    for (uint32_t i = 0; i < more.away; i++) {
        struct away *last = known.away ? &away[known.away - 1] : NULL;
        if (last && last->place == ranks[i].place && last->last + 1 == ranks[i].first)
            last->last = ranks[i].last;
        else
            away[known.away++] = ranks[i];
    }
    memcpy(lines + known.bytes, text, more.bytes);
    known.bytes += more.bytes;
    return true;
}

static uint64_t length(struct counts of)
{
    return sizeof of + of.hosts * sizeof *list + of.away * sizeof *away + of.bytes;
}

static bool tell(const struct mrl_transport *t, int32_t whom)
{
    char *message = malloc(length(known)), *at = message;
    if (!message)
        return false;
    at = mempcpy(at, &known, sizeof known);
    at = mempcpy(at, list, known.hosts * sizeof *list);
    at = mempcpy(at, away, known.away * sizeof *away);
    memcpy(at, lines, known.bytes);
    bool told = !t->send(whom, message, length(known));
    free(message);
    return told;
}

static bool hear(const struct mrl_transport *t, int32_t from)
{
    uint64_t size;
    struct counts more;
    if (t->receive_size(from, &size) || size < sizeof more ||
        size > sizeof more + (uint64_t)t->ranks * (sizeof *list + sizeof *away + MRL_WORDS))
        return false;
    char *message = malloc(size);
    bool ok = message && !mrl_transport_receive(from, message, size);
    if (ok) {
        memcpy(&more, message, sizeof more);
        const struct mrl_host *hosts = (const void *)(message + sizeof more);
        const struct away *ranks = (const void *)(hosts + more.hosts);
        ok = length(more) == size && add(more, hosts, ranks, (const char *)(ranks + more.away));
    }
    free(message);
    return ok;
}

static int by_leader(const void *a, const void *b)
{
    uint64_t x = ((const struct mrl_host *)a)->leader, y = ((const struct mrl_host *)b)->leader;
    return (x > y) - (x < y);
}

/* Rank 0 keeps what it has heard with the records that are there. */
static void keep(void)
{
    char line[64];
    if (!mrl.in_file || !known.away) {
        mrl_unmark();
        return;
    }
    mrl_home_add(lines, known.bytes);
    for (uint32_t i = 0; i < known.away; i++)
        mrl_home_add(line, (size_t)snprintf(line, sizeof line, "ranks %016llx %d %d\n", (unsigned long long)away[i].place, away[i].first, away[i].last));
}

static bool meet(const struct mrl_transport *t)
{
    static char line[MRL_WORDS];
    struct mrl_host own = {mrl.header->host, (uint64_t)t->rank};
    struct away here = {mrl_home_place(), t->rank, t->rank};
    mrl_home_tell(line);
    if (!add((struct counts){1, mrl.in_file && here.place, strlen(line)}, &own, &here, line))
        return false;
    for (int32_t bit = 1; bit < t->ranks; bit <<= 1) {
        if (t->rank & bit) {
            if (!tell(t, t->rank - bit))
                return false;
            break;
        }
        if (t->rank + bit < t->ranks && !hear(t, t->rank + bit))
            return false;
    }
    if (t->rank == 0)
        keep();
    if (!mrl_transport_broadcast(&known.hosts, sizeof known.hosts))
        return false;
    if (known.hosts < 2)
        return true;
    if (!grow(&list, known.hosts * sizeof *list))
        return false;
    if (t->rank == 0)
        qsort(list, known.hosts, sizeof *list, by_leader);
    return mrl_transport_broadcast(list, known.hosts * (uint32_t)sizeof *list);
}

uint32_t mrl_hosts(const struct mrl_transport *t, const struct mrl_host **out)
{
    static bool asked, all;
    if (!asked) {
        asked = true;
        all = meet(t);
    }
    *out = list;
    return all ? known.hosts : 0;
}
