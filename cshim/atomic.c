/*
 * Atomic events, which are values that are reported at some moment under a name, and metadata, which are names with
 * one value. Both are what TAU calls so.
 */
#include "shim.h"

/* A call may be going on, whose own record comes later. */
void mrl_atomic(struct mrl_thread *t, const char *name, uint64_t value)
{
    uint32_t node = mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_ATOMIC, .name = mrl_string(name, 255)});
    uint64_t at = mrl_head(t);
    mrl_slot(t, at)->record = (struct mrl_record){.start = value, .path = node, .peer = MRL_NO_PEER, .kind = MRL_ATOMIC};
    atomic_store_explicit(&t->head, at + 1, memory_order_release);
    if (unlikely(at + 1 >= t->flush_at))
        mrl_flush(t);
}

void mrl_metadata(const char *name, const char *value)
{
    mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_METADATA, .name = mrl_string(name, 255),
                                .key = mrl_string(value, MRL_METADATA_VALUE)});
}
