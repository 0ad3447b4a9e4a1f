/*
 * Atomic events, which are values that are reported at some moment under a name, and metadata, which are names with
 * one value. Both are what TAU calls so.
 */
#include "shim.h"

#include <stdio.h>
#include <string.h>

/* A call may be going on, whose own record comes later. */
void mrl_atomic(struct mrl_thread *t, const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t node = mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_ATOMIC, .name = mrl_string(name, 255)});
    uint64_t at = mrl_head(t);
    mrl_slot(t, at)->record = (struct mrl_record){.start = bits, .path = node, .peer = MRL_NO_PEER, .kind = MRL_ATOMIC};
    atomic_store_explicit(&t->head, at + 1, memory_order_release);
    if (unlikely(at + 1 >= t->flush_at))
        mrl_flush(t);
}

/*
 * What the calling thread has reported under a name, from who knows it better than the records, where these hold whole
 * numbers only. NULL: nobody does so far.
 */
void mrl_atomic_exactly(const char *name, const struct mrl_reals *v)
{
    char text[160] = "";
    if (v)
        snprintf(text, sizeof text, "%llu %.17g %.17g %.17g %.17g", (unsigned long long)v->count, v->sum, v->squares, v->min, v->max);
    mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_EXACTLY, .name = mrl_string(name, 255), .key = mrl_string(text, sizeof text)});
}

/* Groups that a timer of this name is in: "TAU_USER|TAU_IO". */
void mrl_groups(const char *name, const char *groups)
{
    mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_GROUPS, .name = mrl_string(name, 255), .key = mrl_string(groups, 255)});
}

void mrl_metadata(const char *name, const char *value)
{
    mrl_node(&(struct mrl_node){.parent = MRL_ROOT_NODE, .kind = MRL_NODE_METADATA, .name = mrl_string(name, 255),
                                .key = mrl_string(value, MRL_METADATA_VALUE)});
}
