#include "unwind.h"
#include "shim.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

static const uint8_t kept[MRL_KEPT_COUNT] = MRL_KEPT;

/*
 * The modules and where their tables are, sorted by address. Two lists take turns: readers use the one of the
 * last turn while the other is written, and look afterwards whether it still is the last one.
 *
 * A module that was listed may be gone. So tables are read only inside of dl_iterate_phdr, which keeps modules
 * where they are, and only if the dynamic linker's counts are still those of the list; or, from a signal handler,
 * which must not wait for that lock, through the kernel, which reports an address that is not mapped.
 */
#define MODULES_MAX 1024u

struct module {
    uintptr_t low, high;
    const uint8_t *index;      /* pairs of offsets from `header`: beginning of a function, its entry */
    const uint8_t *header;     /* .eh_frame_hdr */
    const uint8_t *frames;     /* .eh_frame */
    const uint8_t *frames_low; /* the segment it is in */
    const uint8_t *frames_end;
    uint32_t count;            /* of pairs; 0: search `frames` itself */
};
static struct list {
    uint64_t loads, unloads; /* so far, when it was made */
    uint32_t count;
    struct module modules[MODULES_MAX];
} lists[2];
static _Atomic uint32_t turn;
static _Atomic bool listing;
_Atomic uint32_t mrl_generation;

/* Reads tables, whatever is in them: beyond the end there are zeros, and `bad` is set. */
struct cursor {
    const uint8_t *at, *end;
    ptrdiff_t moved; /* from a copy to what it is a copy of */
    bool bad;
};

static uint64_t take(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

static uint64_t uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)take(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t sleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = (uint8_t)take(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift + 7 < 64)
                value |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)value;
        }
    }
}

static void skip(struct cursor *c, uint64_t bytes)
{
    if ((uint64_t)(c->end - c->at) < bytes) {
        c->bad = true;
        bytes = (uint64_t)(c->end - c->at);
    }
    c->at += bytes;
}

/* An address in one of the encodings of the Linux Standard Base. `header` is what data are relative to. */
static uintptr_t encoded(struct cursor *c, uint8_t encoding, const uint8_t *header)
{
    enum { ABSOLUTE, ULEB, U2, U4, U8, SLEB = 9, S2, S4, S8, RELATIVE_TO_HERE = 0x10, RELATIVE_TO_DATA = 0x30 };
    uintptr_t here = (uintptr_t)(c->at + c->moved), value = 0;
    switch (encoding & 0xf) {
    case ABSOLUTE:
    case U8:
    case S8:
        value = take(c, 8);
        break;
    case ULEB:
        value = uleb(c);
        break;
    case SLEB:
        value = (uintptr_t)sleb(c);
        break;
    case U2:
        value = take(c, 2);
        break;
    case S2:
        value = (uintptr_t)(int64_t)(int16_t)take(c, 2);
        break;
    case U4:
        value = take(c, 4);
        break;
    case S4:
        value = (uintptr_t)(int64_t)(int32_t)take(c, 4);
        break;
    default:
        c->bad = true;
    }
    switch (encoding & 0xf0) {
    case 0:
        return value;
    case RELATIVE_TO_HERE:
        return value + here;
    case RELATIVE_TO_DATA:
        return value + (uintptr_t)header;
    default: /* indirect ones are not for code */
        c->bad = true;
        return 0;
    }
}

/* The readable segment that an address is in. */
static bool segment(const struct dl_phdr_info *info, uintptr_t address, const uint8_t **low, const uint8_t **end)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_flags & PF_R && address - from < p->p_filesz) {
            *low = (const uint8_t *)from;
            *end = (const uint8_t *)from + p->p_filesz;
            return true;
        }
    }
    return false;
}

static void find_tables(struct module *m, const struct dl_phdr_info *info, uintptr_t header)
{
    enum { OMITTED = 0xff, USUAL = 0x3b };
    const uint8_t *low, *end;
    if (!segment(info, header, &low, &end))
        return;
    struct cursor c = {.at = (const uint8_t *)header, .end = end};
    m->header = c.at;
    uint64_t version = take(&c, 1), frames_encoding = take(&c, 1), count_encoding = take(&c, 1), encoding = take(&c, 1);
    uintptr_t frames = encoded(&c, (uint8_t)frames_encoding, m->header);
    if (c.bad || version != 1 || !segment(info, frames, &m->frames_low, &m->frames_end))
        return;
    m->frames = (const uint8_t *)frames;
    if (count_encoding == OMITTED || encoding != USUAL)
        return;
    uintptr_t count = encoded(&c, (uint8_t)count_encoding, m->header);
    if (c.bad || count > (uintptr_t)(end - c.at) / 8)
        return;
    m->index = c.at;
    m->count = (uint32_t)count;
}

static uintptr_t find_range(struct module *m, const struct dl_phdr_info *info)
{
    uintptr_t header = 0;
    m->low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_LOAD) {
            m->low = from < m->low ? from : m->low;
            m->high = to > m->high ? to : m->high;
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            header = from;
        }
    }
    return header;
}

static void read_counts(const struct dl_phdr_info *info, size_t size, uint64_t *loads, uint64_t *unloads)
{
    if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        return;
    *loads = info->dlpi_adds;
    *unloads = info->dlpi_subs;
    if (atomic_load_explicit(&mrl_generation, memory_order_relaxed) != (uint32_t)*unloads)
        atomic_store_explicit(&mrl_generation, (uint32_t)*unloads, memory_order_relaxed);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct list *list = data;
    struct module m = {0};
    uintptr_t header = find_range(&m, info);
    read_counts(info, size, &list->loads, &list->unloads);
    if (list->count == MODULES_MAX || m.low >= m.high)
        return 0;
    if (header)
        find_tables(&m, info, header);
    uint32_t at = list->count++;
    for (; at > 0 && list->modules[at - 1].low > m.low; at--)
        list->modules[at] = list->modules[at - 1];
    list->modules[at] = m;
    return 0;
}

static void list_anew(void)
{
    bool busy = false;
    if (!atomic_compare_exchange_strong_explicit(&listing, &busy, true, memory_order_acquire, memory_order_relaxed))
        return;
    uint32_t next = atomic_load_explicit(&turn, memory_order_relaxed) + 1;
    struct list *list = &lists[next & 1];
    atomic_thread_fence(memory_order_release);
    list->count = 0;
    dl_iterate_phdr(add_module, list);
    atomic_store_explicit(&turn, next, memory_order_release);
    atomic_store_explicit(&listing, false, memory_order_release);
}

/* The last list. NULL: modules were loaded or unloaded since. */
static const struct list *current_list(const struct dl_phdr_info *info, size_t size)
{
    uint64_t loads = 0, unloads = 0;
    uint32_t now = atomic_load_explicit(&turn, memory_order_acquire);
    const struct list *list = &lists[now & 1];
    read_counts(info, size, &loads, &unloads);
    return now && list->loads == loads && list->unloads == unloads ? list : NULL;
}

static int is_current(struct dl_phdr_info *info, size_t size, void *data)
{
    *(bool *)data = current_list(info, size) != NULL;
    return 1;
}

void mrl_unwind_refresh(void)
{
    bool current = false;
    dl_iterate_phdr(is_current, &current);
    if (!current)
        list_anew();
}

/*
 * Unloading is what makes addresses mean something else, so it must be noticed at once: at a call it is too
 * late to ask. The call itself is passed on as it came.
 */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*_Atomic next)(void *);
    int (*close)(void *) = atomic_load_explicit(&next, memory_order_relaxed);
    if (!close) {
        *(void **)&close = dlsym(RTLD_NEXT, "dlclose");
        if (!close)
            return -1;
        atomic_store_explicit(&next, close, memory_order_relaxed);
    }
    int rc = close(handle);
    bool current;
    if (atomic_load_explicit(&turn, memory_order_relaxed))
        dl_iterate_phdr(is_current, &current);
    return rc;
}

static bool find_module(uintptr_t address, struct module *found)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        uint32_t now = atomic_load_explicit(&turn, memory_order_acquire);
        const struct list *list = &lists[now & 1];
        uint32_t low = 0, high = list->count < MODULES_MAX ? list->count : MODULES_MAX;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (list->modules[middle].low <= address)
                low = middle + 1;
            else
                high = middle;
        }
        if (low)
            *found = list->modules[low - 1];
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&turn, memory_order_relaxed) == now)
            return low && address - found->low < found->high - found->low;
    }
    return false;
}

bool mrl_unwind_module(uintptr_t address, uintptr_t *low, uintptr_t *high)
{
    struct module m;
    if (!find_module(address, &m))
        return false;
    *low = m.low;
    *high = m.high;
    return true;
}

/* Copies what is at an address, as far as it is mapped, and returns how much that is. */
static size_t copy(void *to, const void *from, size_t size)
{
    struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
    long n = syscall(SYS_process_vm_readv, getpid(), &here, 1ul, &there, 1ul, 0ul);
    return n > 0 ? (size_t)n : 0;
}

/* What is at a place of .eh_frame: the memory itself, or, in a signal handler, a copy of its beginning. */
static struct cursor tables_at(const struct module *m, const uint8_t *at, uint8_t *room, size_t size)
{
    if (!room)
        return (struct cursor){.at = at, .end = m->frames_end};
    size_t left = (size_t)(m->frames_end - at), n = copy(room, at, left < size ? left : size);
    return (struct cursor){.at = room, .end = room + n, .moved = at - room};
}

/* An entry of .eh_frame for one function, with what it shares with others. */
struct entry {
    uintptr_t begin, length;
    struct cursor common, own; /* instructions */
    uint64_t code_unit;
    int64_t data_unit;
    const uint8_t *header;
    uint8_t encoding;
    bool augmented, signal;
};

static bool begin_entry(struct cursor *c)
{
    uint64_t length = take(c, 4);
    if (length == 0xffffffffu)
        length = take(c, 8);
    if (c->bad || length == 0 || length > (uint64_t)(c->end - c->at))
        return false;
    c->end = c->at + length;
    return true;
}

/* What an entry of a function refers to: encodings, units and the first instructions. */
static bool read_common(const struct module *m, struct cursor c, struct entry *e)
{
    if (!begin_entry(&c) || take(&c, 4) != 0)
        return false;
    uint64_t version = take(&c, 1);
    const uint8_t *augmentation = c.at;
    while (take(&c, 1))
        ;
    if (c.bad || (version != 1 && version != 3))
        return false;
    e->code_unit = uleb(&c);
    e->data_unit = sleb(&c);
    if ((version == 1 ? take(&c, 1) : uleb(&c)) != MRL_RA)
        return false;
    e->augmented = *augmentation == 'z';
    if (*augmentation && !e->augmented)
        return false;
    if (e->augmented) {
        uint64_t length = uleb(&c);
        struct cursor data = c;
        skip(&c, length);
        for (const uint8_t *letter = augmentation + 1; *letter; letter++) {
            if (*letter == 'R') {
                e->encoding = (uint8_t)take(&data, 1);
            } else if (*letter == 'P') {
                uint8_t encoding = (uint8_t)take(&data, 1);
                encoded(&data, encoding & 0x7f, m->header);
            } else if (*letter == 'L') {
                take(&data, 1);
            } else if (*letter == 'S') {
                e->signal = true;
            } else if (*letter != 'B') {
                break; /* what follows is unknown, but not where it ends */
            }
        }
        c.bad |= data.bad;
    }
    e->common = c;
    return !c.bad;
}

static bool read_entry(struct mrl_unwinder *u, const struct module *m, const uint8_t *at, struct entry *e)
{
    *e = (struct entry){.header = m->header};
    if (at < m->frames_low || at >= m->frames_end)
        return false;
    struct cursor c = tables_at(m, at, u->frozen ? u->entry : NULL, sizeof u->entry);
    if (!begin_entry(&c))
        return false;
    const uint8_t *here = c.at + c.moved;
    uint64_t back = take(&c, 4);
    if (back == 0 || back > (uint64_t)(here - m->frames_low) ||
        !read_common(m, tables_at(m, here - back, u->frozen ? u->common : NULL, sizeof u->common), e))
        return false;
    e->begin = encoded(&c, e->encoding, m->header);
    e->length = encoded(&c, e->encoding & 0xf, m->header);
    if (e->augmented)
        skip(&c, uleb(&c));
    e->own = c;
    return !c.bad;
}

static bool covers(const struct entry *e, uintptr_t address)
{
    return address - e->begin < e->length;
}

static int32_t indexed(const struct mrl_unwinder *u, const struct module *m, uint32_t pair, uint32_t word)
{
    int32_t value = 0;
    const uint8_t *at = m->index + 8 * (size_t)pair + 4 * word;
    if (u->frozen)
        copy(&value, at, sizeof value);
    else
        memcpy(&value, at, sizeof value);
    return value;
}

static bool find_entry(struct mrl_unwinder *u, const struct module *m, uintptr_t address, struct entry *e)
{
    if (!m->frames)
        return false;
    if (m->count) {
        uint32_t low = 0, high = m->count;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if ((uintptr_t)m->header + (uintptr_t)(intptr_t)indexed(u, m, middle, 0) <= address)
                low = middle + 1;
            else
                high = middle;
        }
        return low && read_entry(u, m, m->header + indexed(u, m, low - 1, 1), e) && covers(e, address);
    }
    struct cursor c = {.at = m->frames, .end = u->frozen ? m->frames : m->frames_end};
    while (begin_entry(&c)) {
        const uint8_t *after = c.end;
        if (read_entry(u, m, c.at - 4, e) && covers(e, address))
            return true;
        c = (struct cursor){.at = after, .end = m->frames_end};
    }
    return false;
}

/* How a register of the caller, or the frame's upper end (CFA), is found. Expressions have been seen to end in their entry. */
enum { SAME, UNDEFINED, AT_OFFSET, IS_OFFSET, IN_REGISTER, AT_EXPRESSION, IS_EXPRESSION };

static const uint8_t *block(struct cursor *c)
{
    const uint8_t *at = c->at;
    skip(c, uleb(c));
    return at;
}

static struct cursor expression(int64_t at)
{
    struct cursor c = {.at = (const uint8_t *)(uintptr_t)at, .end = (const uint8_t *)UINTPTR_MAX};
    uint64_t length = uleb(&c);
    c.end = c.at + length;
    return c;
}

static void set(struct mrl_row *row, uint64_t reg, uint8_t how, int64_t value)
{
    if (reg < MRL_REGISTERS) {
        row->how[reg] = how;
        row->value[reg] = value;
    }
}

static int64_t factored(uint64_t units, const struct entry *e)
{
    return (int64_t)(units * (uint64_t)e->data_unit);
}

/* Runs instructions up to the row for `target`. False: they make no sense. */
static bool run(struct mrl_unwinder *u, const struct entry *e, struct cursor c, uintptr_t target)
{
    struct mrl_row *row = &u->row;
    uintptr_t at = e->begin;
    unsigned remembered = 0;
    while (c.at < c.end && !c.bad) {
        uint8_t byte = (uint8_t)take(&c, 1), low = byte & 0x3f;
        uint64_t reg;
        switch (byte & 0xc0) {
        case 0x40: /* advance_loc */
            at += low * e->code_unit;
            break;
        case 0x80: /* offset */
            set(row, low, AT_OFFSET, factored(uleb(&c), e));
            continue;
        case 0xc0: /* restore */
            if (low < MRL_REGISTERS)
                set(row, low, u->initial.how[low], u->initial.value[low]);
            continue;
        default:
            switch (byte) {
            case 0x00: /* nop */
                break;
            case 0x01: /* set_loc */
                at = encoded(&c, e->encoding, e->header);
                break;
            case 0x02: /* advance_loc1, 2, 4 */
                at += take(&c, 1) * e->code_unit;
                break;
            case 0x03:
                at += take(&c, 2) * e->code_unit;
                break;
            case 0x04:
                at += take(&c, 4) * e->code_unit;
                break;
            case 0x05: /* offset_extended */
                reg = uleb(&c);
                set(row, reg, AT_OFFSET, factored(uleb(&c), e));
                break;
            case 0x06: /* restore_extended */
                reg = uleb(&c);
                if (reg < MRL_REGISTERS)
                    set(row, reg, u->initial.how[reg], u->initial.value[reg]);
                break;
            case 0x07: /* undefined */
                set(row, uleb(&c), UNDEFINED, 0);
                break;
            case 0x08: /* same_value */
                set(row, uleb(&c), SAME, 0);
                break;
            case 0x09: /* register */
                reg = uleb(&c);
                set(row, reg, IN_REGISTER, (int64_t)uleb(&c));
                break;
            case 0x0a: /* remember_state */
                if (remembered == MRL_REMEMBERED)
                    return false;
                u->remembered[remembered++] = *row;
                break;
            case 0x0b: /* restore_state */
                if (!remembered)
                    return false;
                *row = u->remembered[--remembered];
                break;
            case 0x0c: /* def_cfa */
                row->cfa_how = IS_OFFSET;
                row->cfa_register = (uint8_t)(reg = uleb(&c));
                row->cfa = (int64_t)uleb(&c);
                c.bad |= reg >= MRL_REGISTERS;
                break;
            case 0x0d: /* def_cfa_register */
                row->cfa_how = IS_OFFSET;
                row->cfa_register = (uint8_t)(reg = uleb(&c));
                c.bad |= reg >= MRL_REGISTERS;
                break;
            case 0x0e: /* def_cfa_offset */
                row->cfa = (int64_t)uleb(&c);
                c.bad |= row->cfa_how != IS_OFFSET;
                break;
            case 0x0f: /* def_cfa_expression */
                row->cfa_how = IS_EXPRESSION;
                row->cfa = (int64_t)(uintptr_t)block(&c);
                break;
            case 0x10: /* expression */
                reg = uleb(&c);
                set(row, reg, AT_EXPRESSION, (int64_t)(uintptr_t)block(&c));
                break;
            case 0x11: /* offset_extended_sf */
                reg = uleb(&c);
                set(row, reg, AT_OFFSET, factored((uint64_t)sleb(&c), e));
                break;
            case 0x12: /* def_cfa_sf */
                row->cfa_how = IS_OFFSET;
                row->cfa_register = (uint8_t)(reg = uleb(&c));
                row->cfa = factored((uint64_t)sleb(&c), e);
                c.bad |= reg >= MRL_REGISTERS;
                break;
            case 0x13: /* def_cfa_offset_sf */
                row->cfa = factored((uint64_t)sleb(&c), e);
                c.bad |= row->cfa_how != IS_OFFSET;
                break;
            case 0x14: /* val_offset */
                reg = uleb(&c);
                set(row, reg, IS_OFFSET, factored(uleb(&c), e));
                break;
            case 0x15: /* val_offset_sf */
                reg = uleb(&c);
                set(row, reg, IS_OFFSET, factored((uint64_t)sleb(&c), e));
                break;
            case 0x16: /* val_expression */
                reg = uleb(&c);
                set(row, reg, IS_EXPRESSION, (int64_t)(uintptr_t)block(&c));
                break;
            case 0x2d: /* the return address is signed, or not any more: it is stripped anyway */
                break;
            case 0x2e: /* GNU_args_size */
                uleb(&c);
                break;
            case 0x2f: /* GNU_negative_offset_extended */
                reg = uleb(&c);
                set(row, reg, AT_OFFSET, factored(-uleb(&c), e));
                break;
            default:
                return false;
            }
        }
        if (at > target)
            break;
    }
    return !c.bad;
}

/* The row for an address, in u->row. */
static bool find_row(struct mrl_unwinder *u, const struct entry *e, uintptr_t address)
{
    memset(&u->row, 0, sizeof u->row);
    memset(&u->initial, 0, sizeof u->initial);
    if (!run(u, e, e->common, UINTPTR_MAX))
        return false;
    u->initial = u->row;
    return run(u, e, e->own, address);
}

/* DW_OP_breg N, offset, and DW_OP_deref or nothing behind it: what compilers write for aligned stacks. */
static bool simple_expression(int64_t at, bool deref, uint8_t *reg, int64_t *offset)
{
    struct cursor c = expression(at);
    uint64_t op = take(&c, 1);
    *reg = (uint8_t)(op - 0x70);
    *offset = sleb(&c);
    if (op < 0x70 || op >= 0x70 + 32 || *reg >= MRL_REGISTERS || (deref && take(&c, 1) != 0x06))
        return false;
    return !c.bad && c.at == c.end;
}

static bool in_words(int64_t bytes, int16_t *words)
{
    *words = (int16_t)(bytes / 8);
    return bytes % 8 == 0 && bytes / 8 == *words && *words > MRL_UNDEFINED;
}

/* Puts a row into a rule. False: it does not fit. */
static bool condense(struct mrl_rule *rule, const struct mrl_row *row)
{
    int64_t top;
    rule->base = row->cfa_register;
    if (row->cfa_how == IS_OFFSET)
        top = row->cfa;
    else if (row->cfa_how == IS_EXPRESSION && simple_expression(row->cfa, true, &rule->base, &top))
        rule->flags |= MRL_RULE_DEREF;
    else
        return false;
    rule->top = (int32_t)top;
    if (top != rule->top || (row->how[MRL_SP] != SAME && MRL_SP != MRL_RA))
        return false;
    if (row->how[MRL_RA] == SAME)
        rule->ra = MRL_SAME;
    else if (row->how[MRL_RA] != AT_OFFSET || !in_words(row->value[MRL_RA], &rule->ra))
        return false;
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++) {
        uint8_t reg;
        int64_t offset;
        switch (row->how[kept[i]]) {
        case SAME:
            rule->saved[i] = MRL_SAME;
            break;
        case UNDEFINED:
            rule->saved[i] = MRL_UNDEFINED;
            break;
        case AT_OFFSET:
            if (rule->flags & MRL_RULE_AT_BASE || !in_words(row->value[kept[i]], &rule->saved[i]))
                return false;
            break;
        case AT_EXPRESSION:
            for (unsigned k = 0; k < i && !(rule->flags & MRL_RULE_AT_BASE); k++)
                if (rule->saved[k] > MRL_UNDEFINED)
                    return false;
            rule->flags |= MRL_RULE_AT_BASE;
            if (!simple_expression(row->value[kept[i]], false, &reg, &offset) || reg != rule->base ||
                !in_words(offset, &rule->saved[i]))
                return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* The program's first instructions have no caller, whether or not tables say so. */
static bool is_entry_point(uintptr_t address)
{
    static uintptr_t entry;
    if (!entry)
        entry = getauxval(AT_ENTRY);
    return address - entry < 64;
}

/* Something that is to be done with a row of the tables, while they are known to be there. */
struct wish {
    struct mrl_unwinder *u;
    uintptr_t address;
    bool (*grant)(struct wish *wish, const struct entry *e);
    struct mrl_walk *walk;
    struct mrl_rule *rule;
    uintptr_t low;  /* of the module, */
    uint32_t turn;  /* when it was listed */
    bool stale;   /* the list of modules */
    bool loaded;  /* there is a module with this address */
    bool granted; /* and it has such a row, which did */
};

static void fulfil(struct wish *wish)
{
    struct module m = {0};
    struct entry e;
    wish->turn = atomic_load_explicit(&turn, memory_order_relaxed);
    wish->loaded = find_module(wish->address, &m);
    wish->low = m.low;
    wish->granted = wish->loaded && find_entry(wish->u, &m, wish->address, &e) && find_row(wish->u, &e, wish->address) && wish->grant(wish, &e);
}

static int fulfil_now(struct dl_phdr_info *info, size_t size, void *data)
{
    struct wish *wish = data;
    wish->stale = !current_list(info, size);
    if (!wish->stale)
        fulfil(wish);
    return 1;
}

static bool with_tables(struct wish *wish)
{
    if (wish->u->frozen) {
        fulfil(wish);
        return wish->granted;
    }
    for (int attempt = 0; attempt < 4; attempt++) {
        dl_iterate_phdr(fulfil_now, wish);
        if (!wish->stale)
            break;
        list_anew();
    }
    return wish->granted;
}

static bool fill_rule(struct wish *wish, const struct entry *e)
{
    struct mrl_rule *rule = wish->rule;
    const struct mrl_row *row = &wish->u->row;
    if (rule->pc - e->begin > UINT32_MAX)
        return false;
    rule->into = (uint32_t)(rule->pc - e->begin);
    rule->flags = e->signal ? MRL_RULE_SIGNAL | MRL_RULE_COMPLEX : 0;
    if (row->how[MRL_RA] == UNDEFINED)
        rule->flags |= MRL_RULE_LAST;
    else if (!e->signal && !condense(rule, row))
        rule->flags = MRL_RULE_COMPLEX;
    return true;
}

static void number_module(struct mrl_unwinder *u, struct mrl_rule *rule, const struct wish *wish)
{
    struct mrl_number *n = &u->numbers[(wish->low >> 12 ^ wish->low >> 20) % MRL_NUMBERS];
    if (n->low != wish->low || n->turn != wish->turn) {
        uint64_t offset;
        n->number = mrl_module(wish->address, &offset);
        n->bias = wish->address - offset;
        n->low = wish->low;
        n->turn = wish->turn;
    }
    rule->module = n->number;
    rule->offset = rule->pc - n->bias;
}

static void make_rule(struct mrl_unwinder *u, struct mrl_rule *rule, uintptr_t pc, bool interrupted)
{
    uintptr_t address = interrupted ? pc : pc - 1; /* a call may be the last instruction of its function */
    struct wish wish = {.u = u, .address = address, .grant = fill_rule, .rule = rule};
    *rule = (struct mrl_rule){.pc = pc, .module = MRL_NONE, .offset = pc, .flags = MRL_RULE_NONE};
    with_tables(&wish);
    rule->generation = atomic_load_explicit(&mrl_generation, memory_order_relaxed);
    if (!wish.loaded) {
        rule->pc = 0; /* it may belong to a module later */
        return;
    }
    if (!u->frozen)
        number_module(u, rule, &wish);
    if (is_entry_point(address))
        rule->flags = MRL_RULE_LAST;
}

/* What is known of a return address. Valid until the next call. */
const struct mrl_rule *mrl_rule(struct mrl_unwinder *u, uintptr_t pc, bool interrupted)
{
    struct mrl_rule *rule = interrupted ? &u->fresh : &u->rules[(pc ^ pc >> 10) & (MRL_RULES - 1)];
    if (unlikely(interrupted || rule->pc != pc || rule->generation != atomic_load_explicit(&mrl_generation, memory_order_relaxed)))
        make_rule(u, rule, pc, interrupted);
    return rule;
}

static bool readable(const struct mrl_walk *w, uintptr_t at)
{
    return at >= w->low && at <= w->high - sizeof(uintptr_t) && at % sizeof(uintptr_t) == 0;
}

/* Notes that the walk depends on a word of the stack. Those below the beginning are our own. */
static void depend(struct mrl_walk *w, uintptr_t at, uintptr_t value)
{
    if (at < w->base)
        return;
    if (w->count == w->room) {
        w->loose = true;
        return;
    }
    w->slots[w->count++] = (struct mrl_stacked){at - w->base, value};
}

static bool read_slot(struct mrl_walk *w, uintptr_t at, uintptr_t *value)
{
    if (!readable(w, at))
        return false;
    *value = *(const uintptr_t *)at;
    depend(w, at, *value);
    return true;
}

/* A register's value, on which the walk depends from now on. */
static bool use(struct mrl_walk *w, uint64_t reg, uintptr_t *value)
{
    if (reg >= MRL_REGISTERS)
        return false;
    switch (w->from[reg]) {
    case MRL_FROM_NOWHERE:
        w->wanting = true;
        return false;
    case MRL_FROM_START:
        break;
    case MRL_FROM_FP:
        w->used_fp = true;
        break;
    case MRL_FROM_ELSEWHERE:
        w->loose = true;
        break;
    default:
        depend(w, w->from[reg], w->value[reg]);
        w->from[reg] = MRL_FROM_START;
    }
    *value = w->value[reg];
    return true;
}

/* How many values an operation of an expression takes. */
static unsigned operands(uint8_t op)
{
    switch (op) {
    case 0x06: case 0x12: case 0x13: case 0x1f: case 0x20: case 0x23: case 0x28: case 0x94:
        return 1;
    case 0x14: case 0x16: case 0x1a: case 0x1c: case 0x1e: case 0x21: case 0x22: case 0x24: case 0x25: case 0x26:
    case 0x27: case 0x29: case 0x2a: case 0x2b: case 0x2c: case 0x2d: case 0x2e:
        return 2;
    default:
        return 0;
    }
}

/* What an expression gives. Loops in it end after a bounded number of steps. */
static bool evaluate(struct mrl_walk *w, int64_t at, const uintptr_t *given, uintptr_t *result)
{
    enum { STACK = 16, STEPS = 128 };
    uintptr_t stack[STACK], a, b;
    unsigned n = 0;
    struct cursor c = expression(at);
    const uint8_t *begin = c.at;
    if (given)
        stack[n++] = *given;
    for (unsigned step = 0; c.at < c.end; step++) {
        uint8_t op = (uint8_t)take(&c, 1);
        unsigned needed = operands(op);
        if (step == STEPS || n < needed || n > STACK - 2)
            return false;
        a = needed ? stack[n - needed] : 0;
        b = needed == 2 ? stack[n - 1] : 0;
        n -= needed;
        switch (op) {
        case 0x03: /* addr */
        case 0x0e: /* const8u, const8s */
        case 0x0f:
            a = take(&c, 8);
            break;
        case 0x06: /* deref */
            if (!read_slot(w, a, &a))
                return false;
            break;
        case 0x94: /* deref_size */
            if (take(&c, 1) != 8 || !read_slot(w, a, &a))
                return false;
            break;
        case 0x08: /* const1u, const1s, ... */
            a = take(&c, 1);
            break;
        case 0x09:
            a = (uintptr_t)(intptr_t)(int8_t)take(&c, 1);
            break;
        case 0x0a:
            a = take(&c, 2);
            break;
        case 0x0b:
            a = (uintptr_t)(intptr_t)(int16_t)take(&c, 2);
            break;
        case 0x0c:
            a = take(&c, 4);
            break;
        case 0x0d:
            a = (uintptr_t)(intptr_t)(int32_t)take(&c, 4);
            break;
        case 0x10: /* constu, consts */
            a = uleb(&c);
            break;
        case 0x11:
            a = (uintptr_t)sleb(&c);
            break;
        case 0x12: /* dup */
            stack[n++] = a;
            break;
        case 0x13: /* drop */
            continue;
        case 0x14: /* over */
            stack[n++] = a;
            stack[n++] = b;
            break;
        case 0x16: /* swap */
            stack[n++] = b;
            break;
        case 0x1a: a &= b; break;
        case 0x1c: a -= b; break;
        case 0x1e: a *= b; break;
        case 0x1f: a = -a; break;
        case 0x20: a = ~a; break;
        case 0x21: a |= b; break;
        case 0x22: a += b; break;
        case 0x23: a += uleb(&c); break;
        case 0x24: a = b < 64 ? a << b : 0; break;
        case 0x25: a = b < 64 ? a >> b : 0; break;
        case 0x26: a = (uintptr_t)((intptr_t)a >> (b < 64 ? b : 63)); break;
        case 0x27: a ^= b; break;
        case 0x29: a = a == b; break;
        case 0x2a: a = (intptr_t)a >= (intptr_t)b; break;
        case 0x2b: a = (intptr_t)a > (intptr_t)b; break;
        case 0x2c: a = (intptr_t)a <= (intptr_t)b; break;
        case 0x2d: a = (intptr_t)a < (intptr_t)b; break;
        case 0x2e: a = a != b; break;
        case 0x28: /* bra, skip */
        case 0x2f: {
            int16_t distance = (int16_t)take(&c, 2);
            if (op == 0x28 && !a)
                continue;
            if (distance < begin - c.at || distance > c.end - c.at)
                return false;
            c.at += distance;
            continue;
        }
        case 0x92: { /* bregx */
            uint64_t reg = uleb(&c);
            if (!use(w, reg, &a))
                return false;
            a += (uintptr_t)sleb(&c);
            break;
        }
        case 0x96: /* nop */
            continue;
        default:
            if (op >= 0x30 && op < 0x50) { /* lit */
                a = op - 0x30u;
            } else if (op >= 0x70 && op < 0x90) { /* breg */
                if (!use(w, op - 0x70u, &a))
                    return false;
                a += (uintptr_t)sleb(&c);
            } else {
                return false;
            }
        }
        stack[n++] = a;
    }
    if (n)
        *result = stack[n - 1];
    return n && !c.bad;
}

/* A return address as the processor will use it. */
static uintptr_t plain(uintptr_t ra)
{
#if defined(__aarch64__)
    register uintptr_t x30 __asm__("x30") = ra; /* strips a signature; does nothing where there are none */
    __asm__("hint #7" : "+r"(x30));
    return x30;
#else
    return ra;
#endif
}

/* Makes the caller's frame the current one. A caller's frame lies above; that ends every walk. */
static bool move(struct mrl_walk *w, uintptr_t cfa, uintptr_t sp, uintptr_t ra)
{
    uintptr_t before = w->value[MRL_SP];
    if (sp > w->high || sp < before || (sp == before && !w->interrupted) || cfa % sizeof(uintptr_t))
        return false;
    w->value[MRL_SP] = sp;
    w->from[MRL_SP] = MRL_FROM_START;
    w->pc = plain(ra);
    w->interrupted = false;
    return w->pc != 0;
}

static void forget_scratch(struct mrl_walk *w)
{
    uintptr_t from[MRL_KEPT_COUNT];
    if (!w->scratch_known)
        return;
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++)
        from[i] = w->from[kept[i]];
    for (unsigned i = 0; i < MRL_REGISTERS; i++)
        w->from[i] = i == MRL_SP ? w->from[i] : MRL_FROM_NOWHERE;
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++)
        w->from[kept[i]] = from[i];
    w->scratch_known = false;
}

static bool usual_step(struct mrl_walk *w, const struct mrl_rule *rule)
{
    uintptr_t base, cfa, ra;
    if (!use(w, rule->base, &base))
        return false;
    cfa = base + (uintptr_t)(intptr_t)rule->top;
    if (rule->flags & MRL_RULE_DEREF && !read_slot(w, cfa, &cfa))
        return false;
    if (rule->ra == MRL_SAME ? !use(w, MRL_RA, &ra) : !read_slot(w, cfa + (uintptr_t)(rule->ra * 8), &ra))
        return false;
    uintptr_t from = rule->flags & MRL_RULE_AT_BASE ? base : cfa;
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++) {
        if (rule->saved[i] == MRL_SAME)
            continue;
        uintptr_t at = from + (uintptr_t)(rule->saved[i] * 8);
        bool known = rule->saved[i] != MRL_UNDEFINED && readable(w, at);
        w->from[kept[i]] = known ? at : MRL_FROM_NOWHERE;
        w->value[kept[i]] = known ? *(const uintptr_t *)at : 0;
    }
    forget_scratch(w);
    return move(w, cfa, cfa, ra);
}

/* The same with the tables themselves, for what no rule can say: trampolines of signals, stubs of the linker. */
static bool step_by_tables(struct wish *wish, const struct entry *e)
{
    struct mrl_walk *w = wish->walk;
    uintptr_t cfa, value[MRL_REGISTERS], from[MRL_REGISTERS];
    const struct mrl_row *row = &wish->u->row;
    if (row->cfa_how == IS_EXPRESSION) {
        if (!evaluate(w, row->cfa, NULL, &cfa))
            return false;
    } else {
        if (row->cfa_how != IS_OFFSET || !use(w, row->cfa_register, &cfa))
            return false;
        cfa += (uintptr_t)row->cfa;
    }
    for (unsigned i = 0; i < MRL_REGISTERS; i++) {
        uintptr_t at = 0;
        value[i] = w->value[i];
        from[i] = w->from[i];
        switch (row->how[i]) {
        case SAME:
            if (i == MRL_SP) {
                value[i] = cfa;
                from[i] = MRL_FROM_START;
            }
            break;
        case UNDEFINED:
            from[i] = MRL_FROM_NOWHERE;
            break;
        case IS_OFFSET:
            value[i] = cfa + (uintptr_t)row->value[i];
            from[i] = MRL_FROM_START;
            break;
        case IN_REGISTER:
            from[i] = use(w, (uint64_t)row->value[i], &value[i]) ? MRL_FROM_START : MRL_FROM_NOWHERE;
            break;
        case IS_EXPRESSION:
            from[i] = evaluate(w, row->value[i], &cfa, &value[i]) ? MRL_FROM_START : MRL_FROM_NOWHERE;
            break;
        case AT_OFFSET:
        case AT_EXPRESSION:
            if (row->how[i] == AT_OFFSET)
                at = cfa + (uintptr_t)row->value[i];
            else if (!evaluate(w, row->value[i], &cfa, &at))
                at = 0;
            from[i] = readable(w, at) ? at : MRL_FROM_NOWHERE;
            value[i] = readable(w, at) ? *(const uintptr_t *)at : 0;
            break;
        }
    }
    uintptr_t before = w->value[MRL_SP], ra, sp;
    memcpy(w->value, value, sizeof value);
    memcpy(w->from, from, sizeof from);
    bool known = use(w, MRL_RA, &ra) && use(w, MRL_SP, &sp);
    w->value[MRL_SP] = before;
    forget_scratch(w);
    if (!known || !move(w, cfa, sp, ra))
        return false;
    w->interrupted = w->scratch_known = e->signal;
    return true;
}

static bool unusual_step(struct mrl_walk *w, struct mrl_unwinder *u)
{
    return with_tables(&(struct wish){.u = u, .address = w->interrupted ? w->pc : w->pc - 1, .grant = step_by_tables, .walk = w});
}

bool mrl_walk_step(struct mrl_walk *w, struct mrl_unwinder *u, const struct mrl_rule *rule)
{
    if (likely(!(rule->flags & (MRL_RULE_LAST | MRL_RULE_NONE | MRL_RULE_COMPLEX))))
        return usual_step(w, rule);
    return rule->flags & MRL_RULE_COMPLEX && unusual_step(w, u);
}

void mrl_walk_begin(struct mrl_walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    memset(w->from, 0, sizeof w->from);
    w->pc = pc;
    w->base = w->low = w->value[MRL_SP] = sp;
    w->value[MRL_FP] = fp;
    w->from[MRL_SP] = MRL_FROM_START;
    w->from[MRL_FP] = MRL_FROM_FP;
    w->count = 0;
    w->interrupted = w->wanting = w->used_fp = w->loose = w->scratch_known = false;
}

void mrl_walk_interrupted(struct mrl_walk *w, const void *context, uintptr_t high)
{
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    static const uint8_t numbers[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8, REG_R9,
                                      REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (unsigned i = 0; i < MRL_REGISTERS; i++)
        w->value[i] = (uintptr_t)machine->gregs[numbers[i]];
    w->pc = w->value[MRL_RA];
#else
    for (unsigned i = 0; i < MRL_SP; i++)
        w->value[i] = machine->regs[i];
    w->value[MRL_SP] = machine->sp;
    w->pc = machine->pc;
#endif
    for (unsigned i = 0; i < MRL_REGISTERS; i++)
        w->from[i] = MRL_FROM_START;
    w->base = w->low = w->value[MRL_SP];
    w->high = high;
    w->slots = NULL;
    w->count = w->room = 0;
    w->interrupted = w->scratch_known = true;
    w->wanting = w->used_fp = w->loose = false;
}

__attribute__((noinline)) bool mrl_walk_from_here(struct mrl_walk *w, struct mrl_unwinder *u, uintptr_t sp)
{
    enum { OURS = 16 }; /* frames there may be of ours */
    uintptr_t *value = w->value, pc;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rbx, 24(%1)\n\t"
                     "mov %%rbp, 48(%1)\n\t"
                     "mov %%rsp, 56(%1)\n\t"
                     "mov %%r12, 96(%1)\n\t"
                     "mov %%r13, 104(%1)\n\t"
                     "mov %%r14, 112(%1)\n\t"
                     "mov %%r15, 120(%1)\n\t"
                     "lea 0(%%rip), %0"
                     : "=&r"(pc) : "r"(value) : "memory");
#else
    __asm__ volatile("stp x19, x20, [%1, #152]\n\t"
                     "stp x21, x22, [%1, #168]\n\t"
                     "stp x23, x24, [%1, #184]\n\t"
                     "stp x25, x26, [%1, #200]\n\t"
                     "stp x27, x28, [%1, #216]\n\t"
                     "stp x29, x30, [%1, #232]\n\t"
                     "mov %0, sp\n\t"
                     "str %0, [%1, #248]\n\t"
                     "adr %0, ."
                     : "=&r"(pc) : "r"(value) : "memory");
#endif
    memset(w->from, 0, sizeof w->from);
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++)
        w->from[kept[i]] = MRL_FROM_START;
    w->from[MRL_SP] = MRL_FROM_START;
    w->pc = pc;
    w->low = value[MRL_SP];
    w->base = sp;
    w->count = 0;
    w->interrupted = true; /* here pc is exact */
    w->wanting = w->used_fp = w->loose = w->scratch_known = false;
    for (int i = 0; i < OURS && value[MRL_SP] < sp; i++)
        if (!mrl_walk_step(w, u, mrl_rule(u, w->pc, w->interrupted)))
            return false;
    /* The frame pointer is part of what the caller of this is looked up by, the other registers are not. */
    for (unsigned i = 0; i < MRL_KEPT_COUNT; i++)
        if (w->from[kept[i]] != MRL_FROM_NOWHERE && w->from[kept[i]] < sp)
            w->from[kept[i]] = MRL_FROM_ELSEWHERE;
    w->from[MRL_FP] = MRL_FROM_FP;
    w->used_fp = w->loose = w->wanting = false;
    return value[MRL_SP] == sp;
}
