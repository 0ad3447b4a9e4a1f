/*
 * NVTX 3: what programs have compiled into them from NVIDIA's header (and what PyTorch, CuPy and others do) opens the library
 * that NVTX_INJECTION64_PATH names at the first call, and gives it the pointers through which further calls go. No GPU and no
 * library of NVIDIA's is needed.
 *
 * A range that is pushed and popped is a region; one of a domain is in the domain's group. A range that is started and ended
 * may overlap others and end in another thread, so it is a reported value: the seconds that it took. A mark is a region of no
 * length. A number that comes with any of them is a reported value of the same name.
 */
#include "adapter.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* The interface's own, by number: tables, modules, and the places of functions in these. */
enum { CALLBACKS = 1 };
enum { CORE = 1, CORE2 = 5 };
enum { MARK_EX = 1, MARK_A, MARK_W, START_EX, START_A, START_W, END, PUSH_EX, PUSH_A, PUSH_W, POP };
enum { DOMAIN_MARK_EX = 1, DOMAIN_START_EX, DOMAIN_END, DOMAIN_PUSH_EX, DOMAIN_POP, REGISTER_A = 10, REGISTER_W, CREATE_A, CREATE_W };
enum { ASCII = 1, WIDE, REGISTERED };                                 /* messages */
enum { UNSIGNED_64 = 1, SIGNED_64, DOUBLE, UNSIGNED_32, SIGNED_32, FLOAT }; /* payloads */
enum { NO_TRACKING = -2 }; /* what pushing and popping return without a tool, and with this one */

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double real;
        uint32_t u32;
        int32_t i32;
        float single;
    } payload;
    int32_t message_type;
    const void *message;
};

struct callbacks {
    size_t size;
    int (*functions)(int module, void (****table)(void), unsigned *size);
};

static const struct mrl_adapter ranges = {"nvtx", "NVTX"};

/* Strings that were registered, and domains; of more than these, strings are names no more, and domains are the common one. */
#define STRINGS 4096u
#define NEARBY 64u /* places that a string is looked for in */
#define DOMAINS 64u
static const char *_Atomic strings[STRINGS];
static struct mrl_adapter domains[DOMAINS];
static _Atomic uint32_t domains_made;

/* Where the string is kept for all that are equal; NULL: there is no room nearby. A copy that another thread was quicker with stays behind. */
static const char *_Atomic *keep(const char *text)
{
    uint32_t at = 2166136261u; /* FNV-1a */
    for (const char *c = text; *c; c++)
        at = (at ^ (unsigned char)*c) * 16777619u;
    const char *mine = NULL;
    for (uint32_t i = 0; i < NEARBY && !mrl.confined; i++) {
        const char *_Atomic *slot = &strings[(at + i) % STRINGS], *there = atomic_load(slot);
        if (!there && !mine && !(mine = mrl_adapter_keep(text)))
            return NULL;
        if (!there && atomic_compare_exchange_strong(slot, &there, mine))
            return slot;
        if (strcmp(there, text) == 0)
            return slot;
    }
    return NULL;
}

/* Handles are the program's: what is none of ours is taken for none. */
static const char *registered(const void *handle)
{
    const char *_Atomic *slot = (const char *_Atomic *)(uintptr_t)handle;
    return slot >= strings && slot < strings + STRINGS ? atomic_load(slot) : NULL;
}

static const struct mrl_adapter *in(const void *domain)
{
    const struct mrl_adapter *d = domain;
    return d && d >= domains && d < domains + DOMAINS && d->group ? d : &ranges;
}

#define LONGEST 256
static const char *narrow(const wchar_t *wide, char text[LONGEST])
{
    size_t n = 0;
    for (; wide && *wide && n < LONGEST - 1; wide++)
        text[n++] = *wide >= ' ' && *wide < 127 ? (char)*wide : '?';
    text[n] = 0;
    return text;
}

/* What attributes say: the name, and the number that comes with it. An older version has what a newer one has, as far as it goes. */
static const char *name_of(const struct attributes *a, char text[LONGEST])
{
    if (!a || a->size < sizeof *a || !a->message)
        return NULL;
    switch (a->message_type) {
    case ASCII:
        return a->message;
    case REGISTERED:
        return registered(a->message);
    case WIDE:
        return narrow(a->message, text);
    default:
        return NULL;
    }
}

static void tell_number(const struct mrl_adapter *by, const char *name, const struct attributes *a)
{
    if (!a || a->size < sizeof *a)
        return;
    switch (a->payload_type) {
    case UNSIGNED_64:
        mrl_adapter_value(by, name, (double)a->payload.u64);
        break;
    case SIGNED_64:
        mrl_adapter_value(by, name, (double)a->payload.i64);
        break;
    case DOUBLE:
        mrl_adapter_value(by, name, a->payload.real);
        break;
    case UNSIGNED_32:
        mrl_adapter_value(by, name, a->payload.u32);
        break;
    case SIGNED_32:
        mrl_adapter_value(by, name, a->payload.i32);
        break;
    case FLOAT:
        mrl_adapter_value(by, name, (double)a->payload.single);
        break;
    default:
        break;
    }
}

/* Ranges that have started and not ended; further ones are not recorded. An id is the place and how often it was taken. */
#define OPEN 1024u
static struct {
    _Atomic uint64_t id; /* 0: free; 1: somebody is writing it */
    uint64_t begin;      /* ticks */
    const struct mrl_adapter *by;
    char name[LONGEST];
} open_ranges[OPEN];
static _Atomic uint64_t started;

static uint64_t start(const struct mrl_adapter *by, const char *name)
{
    if (!mrl.started || !mrl_adapter_listens(by))
        return 0;
    uint64_t serial = atomic_fetch_add(&started, 1);
    for (uint64_t i = 0; i < 16; i++) {
        uint64_t at = (serial + i) % OPEN, none = 0;
        if (!atomic_compare_exchange_strong(&open_ranges[at].id, &none, 1))
            continue;
        uint64_t id = (serial + 1) * OPEN + at;
        open_ranges[at].by = by;
        snprintf(open_ranges[at].name, LONGEST, "%.*s (s)", LONGEST - 5, name && *name ? name : by->group);
        open_ranges[at].begin = mrl_now();
        atomic_store(&open_ranges[at].id, id);
        return id;
    }
    return 0;
}

static void end(uint64_t id)
{
    uint64_t at = id % OPEN;
    if (id < OPEN || !mrl.started) /* before there is no clock */
        return;
    uint64_t now = mrl_now();
    if (!atomic_compare_exchange_strong(&open_ranges[at].id, &id, 1))
        return;
    mrl_adapter_value(open_ranges[at].by, open_ranges[at].name, (double)mrl_ticks_to_ns(now - open_ranges[at].begin) / 1e9);
    atomic_store(&open_ranges[at].id, 0);
}

/* What happens, by whatever call. */

static int push_as(const struct mrl_adapter *by, const char *name, const struct attributes *a, struct mrl_caller caller)
{
    mrl_adapter_begin(by, name, caller);
    tell_number(by, name, a);
    return NO_TRACKING;
}

static int pop_as(const struct mrl_adapter *by)
{
    mrl_adapter_end_innermost(by, NULL);
    return NO_TRACKING;
}

static uint64_t start_as(const struct mrl_adapter *by, const char *name, const struct attributes *a)
{
    tell_number(by, name, a);
    return start(by, name);
}

static void mark_as(const struct mrl_adapter *by, const char *name, const struct attributes *a, struct mrl_caller caller)
{
    mrl_adapter_end(mrl_adapter_begin(by, name, caller));
    tell_number(by, name, a);
}

/* The calls. */

static int domain_push(const void *domain, const struct attributes *a)
{
    char text[LONGEST];
    return push_as(in(domain), name_of(a, text), a, MRL_CALLER);
}

static int push_ex(const struct attributes *a)
{
    char text[LONGEST];
    return push_as(&ranges, name_of(a, text), a, MRL_CALLER);
}

static int push(const char *name)
{
    return push_as(&ranges, name, NULL, MRL_CALLER);
}

static int push_wide(const wchar_t *wide)
{
    char text[LONGEST];
    return push_as(&ranges, narrow(wide, text), NULL, MRL_CALLER);
}

static int domain_pop(const void *domain)
{
    return pop_as(in(domain));
}

static int pop(void)
{
    return pop_as(&ranges);
}

static uint64_t domain_start(const void *domain, const struct attributes *a)
{
    char text[LONGEST];
    return start_as(in(domain), name_of(a, text), a);
}

static uint64_t start_ex(const struct attributes *a)
{
    return domain_start(NULL, a);
}

static uint64_t start_text(const char *name)
{
    return start(&ranges, name);
}

static uint64_t start_wide(const wchar_t *wide)
{
    char text[LONGEST];
    return start(&ranges, narrow(wide, text));
}

static void domain_end(const void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static void domain_mark(const void *domain, const struct attributes *a)
{
    char text[LONGEST];
    mark_as(in(domain), name_of(a, text), a, MRL_CALLER);
}

static void mark_ex(const struct attributes *a)
{
    char text[LONGEST];
    mark_as(&ranges, name_of(a, text), a, MRL_CALLER);
}

static void mark(const char *name)
{
    mark_as(&ranges, name, NULL, MRL_CALLER);
}

static void mark_wide(const wchar_t *wide)
{
    char text[LONGEST];
    mark_as(&ranges, narrow(wide, text), NULL, MRL_CALLER);
}

static const void *register_text(const void *domain, const char *text)
{
    (void)domain;
    return text ? (const void *)keep(text) : NULL;
}

static const void *register_wide(const void *domain, const wchar_t *wide)
{
    char text[LONGEST];
    return register_text(domain, narrow(wide, text));
}

/* A domain that is made again is the one that there is. */
static const void *create(const char *name)
{
    const char *_Atomic *slot = name && *name ? keep(name) : NULL;
    if (!slot)
        return NULL;
    uint32_t made = atomic_load(&domains_made);
    for (uint32_t i = 0; i < made && i < DOMAINS; i++)
        if (domains[i].group == *slot)
            return &domains[i];
    if (made >= DOMAINS || (made = atomic_fetch_add(&domains_made, 1)) >= DOMAINS)
        return NULL;
    domains[made] = (struct mrl_adapter){ranges.name, *slot};
    return &domains[made];
}

static const void *create_wide(const wchar_t *wide)
{
    char text[LONGEST];
    return create(narrow(wide, text));
}

/* Puts ours where a module's calls go through. A table of an older header is shorter; a place without a pointer is not used. */
struct entry {
    unsigned at;
    void (*function)(void);
};
#define ENTRY(at, function) {at, (void (*)(void))(function)}

static bool take(const struct callbacks *from, int module, const struct entry *entries, size_t count)
{
    void (***table)(void) = NULL;
    unsigned size = 0;
    if (!from->functions(module, &table, &size) || !table)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].at < size && table[entries[i].at])
            *table[entries[i].at] = entries[i].function;
    return true;
}

static const struct entry core[] = {
    ENTRY(MARK_EX, mark_ex),    ENTRY(MARK_A, mark),         ENTRY(MARK_W, mark_wide), ENTRY(START_EX, start_ex),
    ENTRY(START_A, start_text), ENTRY(START_W, start_wide), ENTRY(END, end),          ENTRY(PUSH_EX, push_ex),
    ENTRY(PUSH_A, push),        ENTRY(PUSH_W, push_wide),    ENTRY(POP, pop),
};
static const struct entry core2[] = {
    ENTRY(DOMAIN_MARK_EX, domain_mark), ENTRY(DOMAIN_START_EX, domain_start), ENTRY(DOMAIN_END, domain_end),
    ENTRY(DOMAIN_PUSH_EX, domain_push), ENTRY(DOMAIN_POP, domain_pop),        ENTRY(REGISTER_A, register_text),
    ENTRY(REGISTER_W, register_wide),   ENTRY(CREATE_A, create),              ENTRY(CREATE_W, create_wide),
};

/* Not 0: this is a tool, and it listens. Where it does not, NVTX goes on as without one. */
MRL_ENTRY int InitializeInjectionNvtx2(const void *(*table)(uint32_t))
{
    const struct callbacks *from = table ? table(CALLBACKS) : NULL;
    if (!from || from->size < sizeof *from || !from->functions)
        return 0;
    bool taken = take(from, CORE, core, sizeof core / sizeof *core);
    take(from, CORE2, core2, sizeof core2 / sizeof *core2);
    return taken;
}
