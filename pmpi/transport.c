#include "transport.h"
#include "../cshim/shim.h"
#include "next.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG 0x4d61
#define MAIL 0x4d62 /* tag of letters */
#define SECOND UINT64_C(1000000000)
#define SPIN 30000u     /* ns, of looking again and again */
#define AWAKE 10000000u /* the same, while clocks are compared */
#define SHORTEST_NAP 20000u
#define LONGEST_NAP 1000000u
#define LOOK_EVERY SECOND /* between two looks at whether a peer lives */
#define LOOK_AT 16        /* ranks at once, where any may be the one that is waited for */

static struct {
    mrl_word comm;
    int rank, ranks;
    uint64_t patience_ns; /* 0: endless */
    bool awake;
    bool broken;
    int silent; /* a rank that was waited for in vain, though it is not known to be gone, or -1 */
    int next;   /* bit of the first child in the tree that has not been heard */
    bool told;  /* the parent has been */
} link = {.silent = -1};

/* A receive that was waited for in vain must not write to its buffer later. */
static void withdraw(mrl_word *request)
{
    uint64_t status[4], begin = mrl_raw_ns();
    int done = 0;
    if (mrl_pmpi.Cancel(request))
        return;
    while (!done && mrl_raw_ns() - begin < SECOND)
        if (mrl_pmpi.Test(request, &done, status))
            return;
}

/*
 * Waits politely: other ranks may need this core to get here. A nap lasts a quarter of what has been waited already, so that looking
 * again costs little however long it takes, and adds little. False: not long enough to look at the clock.
 */
static bool rest(uint64_t waited_ns)
{
    bool awake = link.awake && waited_ns < SECOND; /* whoever is later than that is not on the way */
    if (mrl.confined)
        return false;
    if (waited_ns < (awake ? AWAKE : SPIN)) {
        sched_yield();
        return false;
    }
    uint64_t ns = waited_ns / 4;
    struct timespec nap = {0, (long)(awake || ns < SHORTEST_NAP ? SHORTEST_NAP : ns > LONGEST_NAP ? LONGEST_NAP : ns)};
    nanosleep(&nap, NULL);
    return true;
}

/* False when patience is at an end, or the peer is known to be. */
static bool complete(mrl_word *request, bool out, int peer, uint64_t status[4])
{
    uint64_t begin = mrl_raw_ns(), looked = begin;
    for (;;) {
        int done = 0;
        if (mrl_pmpi.Test(request, &done, status))
            return false;
        if (done)
            return true;
        uint64_t now = mrl_raw_ns();
        if (!rest(now - begin))
            continue;
        bool impatient = link.patience_ns && now - begin > link.patience_ns, look = impatient || now - looked > LOOK_EVERY;
        bool gone = look && mrl_rank_gone(peer);
        looked = look ? now : looked;
        if (impatient && !gone)
            link.silent = peer;
        if (impatient || gone)
            break;
    }
    if (!out)
        withdraw(request);
    return false;
}

/*
 * Pieces are so small that libraries copy them at once. For larger ones they take ways that a program which has got along without
 * them may have closed, and end it then: from the other process's memory (not after setuid), or from memory that is locked. So
 * that not more than a window of pieces lies at a receiver that has other things to do, its last one waits until it is received.
 */
#define PIECE 2048
#define WINDOW 64

static int transfer(bool out, int32_t peer, char *data, uint64_t size)
{
    uint64_t status[4];
    unsigned sent = 0;
    do {
        int part = size < PIECE ? (int)size : PIECE;
        mrl_word request = 0;
        if (link.broken)
            return 1;
        int failed;
        if (!out)
            failed = mrl_pmpi.Irecv(data, part, mrl_abi.byte, peer, TAG, link.comm, &request);
        else if (++sent % WINDOW)
            failed = mrl_pmpi.Isend(data, part, mrl_abi.byte, peer, TAG, link.comm, &request);
        else
            failed = mrl_pmpi.Issend(data, part, mrl_abi.byte, peer, TAG, link.comm, &request);
        if (failed)
            return link.broken = true;
        if (!complete(&request, out, peer, status))
            return link.broken = true;
        data += part;
        size -= (uint64_t)part;
    } while (size);
    return 0;
}

static int send_bytes(int32_t to, const void *data, uint64_t size)
{
    link.told = true;
    int failed = transfer(true, to, (char *)&size, sizeof size);
    return failed || !size ? failed : transfer(true, to, (char *)(uintptr_t)data, size);
}

static int heard(int32_t from, int failed)
{
    if (!failed && from > link.rank)
        link.next = (from - link.rank) << 1;
    return failed;
}

static int receive_size(int32_t from, uint64_t *size)
{
    int failed = transfer(false, from, (char *)size, sizeof *size);
    return *size ? failed : heard(from, failed);
}

static int receive_bytes(int32_t from, void *data, uint64_t size)
{
    return heard(from, mrl_transport_receive(from, data, size));
}

int mrl_transport_receive(int32_t from, void *data, uint64_t size)
{
    return size ? transfer(false, from, data, size) : 0;
}

int mrl_transport_send(int32_t to, const void *data, uint64_t size)
{
    return size ? transfer(true, to, (char *)(uintptr_t)data, size) : 0;
}

/*
 * Letters of this rank that are under way. Every so manieth waits until it is received, so that not more than MRL_LETTERS times as
 * many of a rank lie at others. On a simulated clock none does: there a rank that naps takes nothing.
 */
#define LETTER_WINDOW 16
static struct {
    struct letter {
        char data[MRL_LETTER];
        mrl_word request;
        bool under_way;
    } letters[MRL_LETTERS];
    unsigned at; /* the place that was taken last */
    unsigned sent;
    uint64_t heard_ns;  /* when the last one came or left */
    unsigned looked;    /* the rank that was looked at last, */
    uint64_t looked_ns; /* and when */
} mail;

/* Frees the place of a letter that has left; false: it has not yet. */
static bool taken(struct letter *l)
{
    uint64_t status[4];
    int done = 1;
    if (l->under_way && mrl_pmpi.Test(&l->request, &done, status))
        link.broken = true;
    l->under_way = !done;
    return done;
}

static int post(int32_t to, const void *data, uint64_t size)
{
    struct letter *l = NULL;
    if (link.broken || !size || size > MRL_LETTER)
        return link.broken = true;
    for (unsigned i = 0; i < MRL_LETTERS && !l; i++) {
        unsigned at = ++mail.at % MRL_LETTERS;
        if (taken(&mail.letters[at]))
            l = &mail.letters[at];
    }
    if (link.broken)
        return true;
    if (!l)
        return MRL_FULL;
    memcpy(l->data, data, size);
    bool waits = !mrl.external && ++mail.sent % LETTER_WINDOW == 0;
    if ((waits ? mrl_pmpi.Issend : mrl_pmpi.Isend)(l->data, (int)size, mrl_abi.byte, to, MAIL, link.comm, &l->request))
        return link.broken = true;
    l->under_way = true;
    mail.heard_ns = mrl_raw_ns();
    return 0;
}

/* Whether no letter will come any more, by all that is known. Any rank may be the one that does not send it. */
static bool deserted(uint64_t now)
{
    bool gone = link.patience_ns && now - mail.heard_ns > link.patience_ns;
    if (now - (mail.looked_ns > mail.heard_ns ? mail.looked_ns : mail.heard_ns) < LOOK_EVERY)
        return gone;
    mail.looked_ns = now;
    for (int i = 0; i < LOOK_AT && i < link.ranks && !gone; i++)
        gone = mrl_rank_gone((int)(mail.looked++ % (unsigned)link.ranks));
    return gone;
}

static int next(int32_t *from, void *data, uint64_t *size, uint64_t wait_ns)
{
    uint64_t status[4], begin = mrl_raw_ns();
    mrl_word request = 0;
    int there = 0, bytes = 0;
    *size = 0;
    if (link.broken)
        return 1;
    if (!mail.heard_ns)
        mail.heard_ns = begin;
    for (;;) {
        if (mrl_pmpi.Iprobe(mrl_abi.any_source, MAIL, link.comm, &there, status))
            return link.broken = true;
        if (there)
            break;
        uint64_t now = mrl_raw_ns();
        if ((rest(now - mail.heard_ns) || mrl.confined) && deserted(now))
            return link.broken = true;
        if (now - begin > wait_ns)
            return 0;
    }
    int source = *(int *)((char *)status + mrl_abi.source_at);
    if (mrl_pmpi.Get_count(status, mrl_abi.byte, &bytes) || bytes <= 0 || bytes > MRL_LETTER ||
        mrl_pmpi.Irecv(data, bytes, mrl_abi.byte, source, MAIL, link.comm, &request) || !complete(&request, false, source, status))
        return link.broken = true;
    *from = source;
    *size = (uint64_t)bytes;
    mail.heard_ns = mrl_raw_ns();
    return 0;
}

/* All letters are received, mostly: the library must not be finalised before. */
static void deliver(void)
{
    uint64_t begin = mrl_raw_ns();
    for (unsigned i = 0; i < MRL_LETTERS; i++)
        while (!link.broken && !taken(&mail.letters[i])) {
            uint64_t waited = mrl_raw_ns() - begin;
            if (rest(waited) && link.patience_ns && waited > link.patience_ns)
                link.broken = true;
        }
}

const struct mrl_transport *mrl_transport(void)
{
    static struct mrl_transport transport = {
        .send = send_bytes, .receive_size = receive_size, .receive = receive_bytes, .post = post, .next = next};
    transport.rank = link.rank;
    transport.ranks = link.ranks;
    link.next = 1;
    link.told = false;
    mail.heard_ns = 0;
    return link.broken ? NULL : &transport;
}

void mrl_transport_patience(int64_t seconds)
{
    link.patience_ns = (uint64_t)seconds * SECOND;
}

void mrl_transport_awake(bool on)
{
    link.awake = on;
}

void mrl_transport_close(void)
{
    deliver();
    if (!link.broken && link.comm)
        mrl_pmpi.Comm_free(&link.comm);
}

/* The parent in a binomial tree rooted at 0 lacks the lowest bit; children add bits below it. */
static int lowest_bit(int rank, int ranks)
{
    int bit = 1;
    while (!(rank & bit) && bit < ranks)
        bit <<= 1;
    return bit;
}

bool mrl_transport_broadcast(void *data, uint32_t size)
{
    int bit = lowest_bit(link.rank, link.ranks);
    if (link.rank && transfer(false, link.rank - bit, data, size))
        return false;
    for (bit >>= 1; bit; bit >>= 1)
        if (link.rank + bit < link.ranks && transfer(true, link.rank + bit, data, size))
            return false;
    return true;
}

/*
 * Up the tree, and down again, goes a message that is empty if all are there; otherwise one has a byte, or does
 * not come. Once somebody is missing, nobody else is waited for.
 */
static void pass(bool out, int peer, bool *missing)
{
    static char byte; /* outlives a request that stays pending */
    uint64_t status[4] = {0};
    mrl_word request = 0;
    int bytes = out && *missing;
    uint64_t patience = link.patience_ns;
    if (*missing && !out)
        link.patience_ns = SECOND / 100;
    bool passed = !(out ? mrl_pmpi.Isend(&byte, bytes, mrl_abi.byte, peer, TAG, link.comm, &request)
                        : mrl_pmpi.Irecv(&byte, 1, mrl_abi.byte, peer, TAG, link.comm, &request)) &&
                  complete(&request, out, peer, status);
    link.patience_ns = patience;
    if (!out && passed)
        mrl_pmpi.Get_count(status, mrl_abi.byte, &bytes);
    *missing |= !passed || bytes;
}

bool mrl_transport_meet(void)
{
    bool missing = false;
    int top = lowest_bit(link.rank, link.ranks);
    /* On a simulated clock all leave at once, and none has taken naps that would count as the program's time. */
    if (mrl.external && link.comm != mrl_abi.comm_world)
        return !mrl_pmpi.Barrier(link.comm);
    for (int bit = 1; bit < top; bit <<= 1)
        if (link.rank + bit < link.ranks)
            pass(false, link.rank + bit, &missing);
    if (link.rank) {
        pass(true, link.rank - top, &missing);
        link.patience_ns *= 3; /* so that whoever gives up does so after rank 0 */
        pass(false, link.rank - top, &missing);
        link.patience_ns /= 3;
    }
    for (int bit = top >> 1; bit; bit >>= 1)
        if (link.rank + bit < link.ranks)
            pass(true, link.rank + bit, &missing);
    return !(link.broken |= missing);
}

/*
 * Making a communicator is collective, and a rank that is not measured never takes part: its own next one
 * would then wait for ours without end. So all ranks meet first, with messages of no bytes.
 */
bool mrl_transport_open(int rank, int ranks, int64_t seconds)
{
    uint64_t status[4];
    mrl_word request = 0;
    link.rank = rank;
    link.ranks = ranks;
    mrl_transport_patience(seconds);
    link.comm = mrl_abi.comm_world;
    if (!mrl_transport_meet())
        return false;
    if (mrl_pmpi.Comm_idup(mrl_abi.comm_world, &link.comm, &request) || !complete(&request, true, rank, status))
        return false;
    mrl_pmpi.Comm_set_errhandler(link.comm, mrl_abi.errors_return);
    return true;
}

bool mrl_transport_first(char *text, uint32_t size)
{
    char theirs[size];
    int top = lowest_bit(link.rank, link.ranks);
    for (int bit = 1; bit < top && link.rank + bit < link.ranks; bit <<= 1) {
        if (transfer(false, link.rank + bit, theirs, size))
            return false;
        if (!*text)
            memcpy(text, theirs, size);
    }
    if (link.rank && transfer(true, link.rank - top, text, size))
        return false;
    return mrl_transport_broadcast(text, size);
}

int mrl_transport_silent(void)
{
    return link.silent;
}

bool mrl_transport_most(int32_t *value)
{
    int top = lowest_bit(link.rank, link.ranks);
    for (int bit = 1; bit < top; bit <<= 1) {
        int32_t theirs = 0;
        if (link.rank + bit < link.ranks && transfer(false, link.rank + bit, (char *)&theirs, sizeof theirs))
            return false;
        if (theirs > *value)
            *value = theirs;
    }
    if (link.rank && transfer(true, link.rank - top, (char *)value, sizeof *value))
        return false;
    return mrl_transport_broadcast(value, sizeof *value);
}

/*
 * Without a core, or where that has failed, this rank has nothing to say, but passes on what its children send; those that the
 * core has heard are lost with it.
 */
void mrl_transport_relay(void)
{
    if (link.told)
        return;
    char *data = NULL;
    uint64_t size = 0;
    int top = lowest_bit(link.rank, link.ranks);
    for (int bit = link.next; bit < top; bit <<= 1) {
        uint64_t more;
        if (link.rank + bit >= link.ranks)
            continue;
        char *longer = NULL;
        bool failed = receive_size(link.rank + bit, &more) || !(longer = realloc(data, size + more + 1)) ||
                      receive_bytes(link.rank + bit, longer + size, more);
        if (longer)
            data = longer;
        if (failed) {
            free(data);
            link.broken = true;
            return;
        }
        size += more;
    }
    if (link.rank)
        send_bytes(link.rank - top, data, size);
    free(data);
}
