#include "transport.h"
#include "../cshim/shim.h"
#include "next.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define TAG 0x4d61 /* on a communicator of our own, any tag will do */
#define CHUNK (1 << 30)

static struct {
    mrl_word comm;
    int rank, ranks;
    uint64_t patience_ns; /* 0: endless */
    bool broken;
} link;

/* Waits politely: other ranks may need this core to get here. */
static bool complete(mrl_word *request)
{
    uint64_t status[4];
    uint64_t begin = mrl_raw_ns();
    for (unsigned spins = 0;; spins++) {
        int done = 0;
        if (mrl_pmpi.Test(request, &done, status))
            break;
        if (done)
            return true;
        if (spins < 64) {
            sched_yield();
            continue;
        }
        struct timespec nap = {0, spins < 256 ? 20000 : 1000000};
        nanosleep(&nap, NULL);
        if (link.patience_ns && mrl_raw_ns() - begin > link.patience_ns)
            break;
    }
    link.broken = true;
    return false;
}

static int transfer(bool out, int32_t peer, char *data, uint64_t size)
{
    do {
        int part = size < CHUNK ? (int)size : CHUNK;
        mrl_word request = 0;
        if (link.broken)
            return 1;
        if (out ? mrl_pmpi.Isend(data, part, mrl_abi.byte, peer, TAG, link.comm, &request)
                : mrl_pmpi.Irecv(data, part, mrl_abi.byte, peer, TAG, link.comm, &request))
            return link.broken = true;
        if (!complete(&request))
            return 1;
        data += part;
        size -= (uint64_t)part;
    } while (size);
    return 0;
}

static int send_bytes(int32_t to, const void *data, uint64_t size)
{
    int failed = transfer(true, to, (char *)&size, sizeof size);
    return failed || !size ? failed : transfer(true, to, (char *)(uintptr_t)data, size);
}

static int receive_size(int32_t from, uint64_t *size)
{
    return transfer(false, from, (char *)size, sizeof *size);
}

static int receive(int32_t from, void *data, uint64_t size)
{
    return size ? transfer(false, from, data, size) : 0;
}

bool mrl_transport_open(int rank, int ranks, int64_t seconds)
{
    mrl_word request = 0;
    link.rank = rank;
    link.ranks = ranks;
    mrl_transport_patience(seconds);
    link.comm = 0;
    /* Non-blocking, so that a rank which is not measured costs us a deadline and not the run. */
    if (mrl_pmpi.Comm_idup(mrl_abi.comm_world, &link.comm, &request))
        return false;
    return complete(&request);
}

const struct mrl_transport *mrl_transport(void)
{
    static struct mrl_transport transport = {.send = send_bytes, .receive_size = receive_size, .receive = receive};
    transport.rank = link.rank;
    transport.ranks = link.ranks;
    return link.broken ? NULL : &transport;
}

void mrl_transport_patience(int64_t seconds)
{
    link.patience_ns = (uint64_t)seconds * 1000000000u;
}

void mrl_transport_close(void)
{
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

bool mrl_transport_barrier(void)
{
    char token = 0;
    int top = lowest_bit(link.rank, link.ranks);
    for (int bit = 1; bit < top; bit <<= 1)
        if (link.rank + bit < link.ranks && transfer(false, link.rank + bit, &token, 1))
            return false;
    if (link.rank && transfer(true, link.rank - top, &token, 1))
        return false;
    return mrl_transport_broadcast(&token, 1);
}

/* Without a core this rank has nothing to say, but passes on what its children send. */
bool mrl_transport_relay(void)
{
    char *data = NULL;
    uint64_t size = 0;
    int top = lowest_bit(link.rank, link.ranks);
    for (int bit = 1; bit < top; bit <<= 1) {
        uint64_t more;
        if (link.rank + bit >= link.ranks)
            continue;
        char *longer = NULL;
        bool failed = receive_size(link.rank + bit, &more) || !(longer = realloc(data, size + more + 1)) ||
                      receive(link.rank + bit, longer + size, more);
        if (longer)
            data = longer;
        if (failed) {
            free(data);
            link.broken = true;
            return false;
        }
        size += more;
    }
    bool ok = !link.rank || !send_bytes(link.rank - top, data, size);
    free(data);
    return ok;
}
