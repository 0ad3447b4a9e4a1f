/*
 * Messages between the ranks' Marples, over PMPI on a private communicator. No wait is without end:
 * each has a deadline, after which the transport is broken and every later call fails at once.
 */
#ifndef MRL_TRANSPORT_H
#define MRL_TRANSPORT_H

#include "../cshim/core.h"
#include "../cshim/layout.h"
#include "abi.h"

/* Duplicates MPI_COMM_WORLD. Collective; false when not all ranks have joined by the deadline. */
bool mrl_transport_open(int rank, int ranks, int64_t seconds);
const struct mrl_transport *mrl_transport(void); /* NULL: broken. Who has been heard on it is counted anew */
void mrl_transport_close(void);

/* Deadline, in seconds, of each later wait; 0 waits as long as the other rank is not known to be gone. */
void mrl_transport_patience(int64_t seconds);
void mrl_transport_awake(bool on); /* where a nap would be taken for the time of a message */

/* Bytes as they are, for whoever knows how many there are; nonzero: broken. */
int mrl_transport_send(int32_t to, const void *data, uint64_t size);
int mrl_transport_receive(int32_t from, void *data, uint64_t size);

/* Bytes from rank 0 to all. */
bool mrl_transport_broadcast(void *data, uint32_t size);
/* Returns when all ranks have called it, or one is known never to. False: not all have. */
bool mrl_transport_meet(void);
/* The largest of all ranks' values, from 0 up, for all. False: broken. */
bool mrl_transport_most(int32_t *value);
/* The text of the lowest rank that has one, for all. False: broken. */
bool mrl_transport_first(char *text, uint32_t size);
/* A rank that has not answered within the deadline, though it is not known to be gone; -1: all have. */
int mrl_transport_silent(void);
/* A rank without a core, or whose core has failed, takes part in the gathering by passing on what it gets. */
void mrl_transport_relay(void);

/* hosts.c: by their lowest ranks, for all. Collective at first; 0: they are not known. */
struct mrl_host {
    uint64_t id;
    uint64_t leader; /* its lowest rank */
};
uint32_t mrl_hosts(const struct mrl_transport *transport, const struct mrl_host **out);

/* clocks.c: how far this host's clock is behind that of rank 0's host, if this rank is the one to know. */
void mrl_clocks_compare(struct mrl_offset *out);

#endif
