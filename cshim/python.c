#include "python.h"
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NONE UINT16_MAX
#define ON_C_STACK 3 /* owner of a frame that only says where a loop begins */

/* Where what is in a version's structures, in bytes: Include/internal/pycore_frame.h and others. 3.13 tells most of it. */
struct layout {
    uint32_t version; /* 0x030b: 3.11 */
    uint16_t state_frame;                          /* thread state: the innermost frame, */
    uint16_t state_loop, loop_frame, loop_outer;   /* ... or that of the innermost loop, which has it */
    uint16_t frame_outer, frame_code, frame_next;  /* frame: the calling one, code, instruction */
    uint16_t frame_entry, frame_owner, frame_size; /* ... the last of its loop, owner; bytes to read */
    uint16_t code_name, code_file, code_first, code_table, code_begin, code_size;
    uint16_t text, wide_text; /* string: ASCII characters, others */
};

static const struct layout layouts[] = {
    {.version = 0x0309, .state_frame = 24, .state_loop = NONE, .frame_outer = 24, .frame_code = 32, .frame_next = 104,
     .frame_entry = NONE, .frame_owner = NONE, .frame_size = 108, .code_name = 112, .code_file = 104, .code_first = 40,
     .code_table = 120, .code_begin = NONE, .code_size = 128, .text = 48, .wide_text = 72},
    {.version = 0x030a, .state_frame = 24, .state_loop = 48, .loop_outer = 8, .frame_outer = 24, .frame_code = 32, .frame_next = 96,
     .frame_entry = NONE, .frame_owner = NONE, .frame_size = 100, .code_name = 112, .code_file = 104, .code_first = 40,
     .code_table = 120, .code_begin = NONE, .code_size = 128, .text = 48, .wide_text = 72},
    {.version = 0x030b, .state_frame = NONE, .state_loop = 56, .loop_frame = 8, .loop_outer = 16, .frame_outer = 48, .frame_code = 32,
     .frame_next = 56, .frame_entry = 68, .frame_owner = NONE, .frame_size = 72, .code_name = 128, .code_file = 112, .code_first = 72,
     .code_table = 136, .code_begin = 184, .code_size = 144, .text = 48, .wide_text = 72},
    {.version = 0x030c, .state_frame = NONE, .state_loop = 56, .loop_frame = 0, .loop_outer = 8, .frame_outer = 8, .frame_code = 0,
     .frame_next = 56, .frame_entry = NONE, .frame_owner = 70, .frame_size = 72, .code_name = 128, .code_file = 112, .code_first = 68,
     .code_table = 136, .code_begin = 192, .code_size = 144, .text = 40, .wide_text = 56},
    {.version = 0x030d, .state_frame = 72, .state_loop = NONE, .frame_outer = 8, .frame_code = 0,
     .frame_next = 56, .frame_entry = NONE, .frame_owner = 70, .frame_size = 72, .code_name = 128, .code_file = 112, .code_first = 68,
     .code_table = 136, .code_begin = 200, .code_size = 144, .text = 40, .wide_text = 56},
};

enum { OBJECT_COUNT = 0, OBJECT_TYPE = 8, OBJECT_SIZE = 16, TEXT_STATE = 32, BYTES = 32 };
enum { FRAME_MOST = 128, CODE_MOST = 256, FIRST_MOST = 1 << 24, TABLE_MOST = 1 << 16 };

static struct {
    bool possible; /* there is one that may be read, and nothing has spoken against it */
    struct layout layout;
    uintptr_t loop;
    const void *code_type, *text_type, *bytes_type;
    void *(*state)(void); /* PyGILState_GetThisThreadState */
    int (*ending)(void);
} python;

static uintptr_t word(const unsigned char *at)
{
    uintptr_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static int32_t number(const unsigned char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Whose memory is read. A thread's number serves as the process's, which may be that of a main thread that has ended. */
static _Thread_local pid_t self;

static void begin_copying(void)
{
    self = (pid_t)syscall(SYS_gettid);
}

static bool copy_parts(void *to, const struct iovec *parts, size_t count)
{
    struct iovec here = {to, 0};
    for (size_t i = 0; i < count; i++)
        here.iov_len += parts[i].iov_len;
    return syscall(SYS_process_vm_readv, self, &here, 1ul, parts, count, 0ul) == (ssize_t)here.iov_len;
}

static bool copy(void *to, uintptr_t from, size_t size)
{
    return copy_parts(to, &(struct iovec){(void *)from, size}, 1);
}

/* Whether it begins as an object of this type does that is alive: freed ones have a pointer for their count. */
static bool is_object(const unsigned char *object, const void *type)
{
    uint64_t references = word(object + OBJECT_COUNT);
    return references > 0 && references <= UINT32_MAX && word(object + OBJECT_TYPE) == (uintptr_t)type;
}

/* One character, as UTF-8; what would act on a terminal is spelt out, as Python does. Bytes, at most 6. */
static unsigned put(char *out, uint32_t c)
{
    static const char digits[] = "0123456789abcdef";
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
        memcpy(out, (char[]){'\\', 'x', digits[c >> 4 & 15], digits[c & 15]}, 4);
        return 4;
    }
    if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || (c >= 0xd800 && c < 0xe000) || c == 0xfeff) {
        memcpy(out, (char[]){'\\', 'u', digits[c >> 12], digits[c >> 8 & 15], digits[c >> 4 & 15], digits[c & 15]}, 6);
        return 6;
    }
    if (c > 0x10ffff)
        c = 0xfffd;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (char)(0xf00 >> (more + 1) | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

static uint64_t mix(uint64_t mark, uint64_t value)
{
    mark = (mark ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return mark ^ mark >> 32;
}

/* Where the characters of a string are: its head tells. */
struct text {
    uintptr_t at;
    uint64_t length;
    uint32_t kind; /* bytes a character */
};

enum { TEXT_HEAD = 40, ENDS = 64 };

static struct text text_of(const unsigned char *head, uintptr_t at)
{
    uint32_t state = (uint32_t)number(head + TEXT_STATE);
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    return (struct text){at + (ascii ? python.layout.text : python.layout.wide_text), word(head + OBJECT_SIZE), compact ? state >> 2 & 7 : 0};
}

static bool is_text(const unsigned char *head)
{
    struct text t = text_of(head, 0);
    return is_object(head, python.text_type) && (t.kind == 1 || t.kind == 2 || t.kind == 4) && t.length < INT64_MAX / 8;
}

/* How many bytes of its beginning and of its end tell it from others: all of most. */
static uint64_t ends_of(const struct text *t, uint64_t *last)
{
    uint64_t bytes = t->length * t->kind;
    *last = bytes <= 2 * ENDS ? 0 : bytes - ENDS;
    return bytes <= 2 * ENDS ? bytes : ENDS;
}

static uint64_t mark_bytes(uint64_t mark, const unsigned char *bytes, uint64_t n)
{
    for (; n >= 8; bytes += 8, n -= 8)
        mark = mix(mark, word(bytes));
    uint64_t rest = 0;
    for (uint64_t i = 0; i < n; i++)
        rest = rest << 8 | bytes[i];
    return mix(mark, rest);
}

/* A string, cut at its end, or at its beginning, to what there is room for. */
static bool read_text(const struct text *t, char *out, uint32_t room, bool keep_end, unsigned char *window)
{
    static const char dots[] = "…";
    const uint64_t length = t->length;
    const uint32_t kind = t->kind;
    uint64_t most = room - sizeof dots, first = 0, n = length; /* characters, for the bytes that they become are no fewer */
    bool cut = n > most;
    if (cut) {
        first = keep_end ? n - most : 0;
        n = most;
    }
    if (n && !copy(window, t->at + first * kind, n * kind))
        return false;
    /* Where characters need several bytes, some more go. */
    uint64_t bytes = 0, from = 0, to = 0;
    char spelt[8];
#define CHARACTER(i) (kind == 1 ? window[i] : kind == 2 ? (uint32_t)(window[2 * (i)] | window[2 * (i) + 1] << 8) : (uint32_t)number(window + 4 * (i)))
    if (keep_end) {
        for (from = n; from > 0 && bytes + put(spelt, CHARACTER(from - 1)) <= most; from--)
            bytes += put(spelt, CHARACTER(from - 1));
        to = n;
    } else {
        for (; to < n && bytes + put(spelt, CHARACTER(to)) <= most; to++)
            bytes += put(spelt, CHARACTER(to));
    }
    cut |= to - from < n;
    if (cut && keep_end) {
        memcpy(out, dots, sizeof dots - 1);
        out += sizeof dots - 1;
    }
    for (uint64_t i = from; i < to; i++)
        out += put(out, CHARACTER(i));
#undef CHARACTER
    if (cut && !keep_end) {
        memcpy(out, dots, sizeof dots - 1);
        out += sizeof dots - 1;
    }
    *out = 0;
    return true;
}

/* Bytes of an object, one after the other, of which a part is at hand. */
struct stream {
    unsigned char *window;
    uintptr_t at;
    uint32_t left, have, used;
};

static int next(struct stream *s)
{
    if (s->used == s->have) {
        s->at += s->used;
        s->used = 0;
        s->have = s->left < sizeof ((struct mrl_python_codes *)0)->window ? s->left : (uint32_t)sizeof ((struct mrl_python_codes *)0)->window;
        s->left -= s->have;
        if (!s->have || !copy(s->window, s->at, s->have)) {
            s->have = s->left = 0;
            return -1;
        }
    }
    return s->window[s->used++];
}

static uint32_t variable(struct stream *s)
{
    uint32_t value = 0;
    int byte = 0x40;
    for (unsigned shift = 0; shift < 30 && byte & 0x40; shift += 6) {
        if ((byte = next(s)) < 0)
            return 0;
        value |= (uint32_t)(byte & 0x3f) << shift;
    }
    return value;
}

static int32_t signed_variable(struct stream *s)
{
    uint32_t value = variable(s);
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* Python 3.9: Objects/lnotab_notes.txt. Increments of instruction and line; a line begins where its increment is added. */
static int64_t line_39(struct stream *s, int64_t line, uint64_t wanted)
{
    uint64_t at = 0;
    for (int delta; (delta = next(s)) >= 0;) {
        if ((at += (unsigned)delta) > wanted || (delta = next(s)) < 0)
            break;
        line += (int8_t)delta;
    }
    return line;
}

/* Python 3.10: PEP 626. Lengths of what follows, and its line less the last one; -128: none. */
static int64_t line_310(struct stream *s, int64_t line, uint64_t wanted)
{
    uint64_t end = 0;
    for (int length, delta; (length = next(s)) >= 0 && (delta = next(s)) >= 0;) {
        end += (unsigned)length;
        if ((int8_t)delta != -128)
            line += (int8_t)delta;
        if (wanted < end)
            break;
    }
    return line;
}

/* Python 3.11 and later: Objects/locations.md. */
static int64_t line_311(struct stream *s, int64_t line, uint64_t wanted)
{
    uint64_t end = 0;
    for (int head; (head = next(s)) >= 0;) {
        unsigned form = (unsigned)head >> 3 & 15;
        if (form == 14 || form == 13)
            line += signed_variable(s);
        else if (form >= 10 && form <= 12)
            line += (int)form - 10;
        if (form == 14) {
            variable(s);
            variable(s);
            variable(s);
        }
        for (unsigned skip = form < 10 ? 1 : form < 13 ? 2 : 0; skip; skip--)
            next(s);
        if (wanted < (end += 2 * ((unsigned)(head & 7) + 1)))
            break;
    }
    return line;
}

static uint32_t line_of(const struct mrl_python_code *code, uint64_t next_at, unsigned char *window)
{
    unsigned char head[BYTES];
    if (!copy(head, code->table_at, sizeof head) || !is_object(head, python.bytes_type))
        return code->first;
    uint64_t size = word(head + OBJECT_SIZE);
    struct stream s = {.window = window, .at = code->table_at + BYTES, .left = size < TABLE_MOST ? (uint32_t)size : TABLE_MOST};
    int64_t line = (python.layout.version < 0x030a ? line_39 : python.layout.version == 0x030a ? line_310 : line_311)(&s, code->first, next_at);
    return line > 0 && line < FIRST_MOST ? (uint32_t)line : code->first;
}

/* The same of two strings whose heads were read. */
static bool mark_texts(const struct text *a, const struct text *b, unsigned char *window, uint64_t *mark)
{
    uint64_t last_a, last_b, n_a = ends_of(a, &last_a), n_b = ends_of(b, &last_b);
    struct iovec parts[] = {{(void *)a->at, n_a}, {(void *)(a->at + last_a), last_a ? ENDS : 0}, {(void *)b->at, n_b}, {(void *)(b->at + last_b), last_b ? ENDS : 0}};
    if (!copy_parts(window, parts, 4))
        return false;
    *mark = mix(a->length, b->length);
    for (size_t i = 0; i < 4; window += parts[i++].iov_len)
        *mark = mark_bytes(*mark, window, parts[i].iov_len);
    return true;
}

/* The entry of a code object, made if need be. */
static enum mrl_python_end find_code(uintptr_t at, const unsigned char *code, struct mrl_python_codes *codes, uint32_t *index)
{
    const struct layout *l = &python.layout;
    unsigned char heads[2][TEXT_HEAD];
    uintptr_t name_at = word(code + l->code_name), file_at = word(code + l->code_file), table_at = word(code + l->code_table);
    uint32_t first = (uint32_t)number(code + l->code_first);
    uint64_t mark;
    if (first > FIRST_MOST || !copy_parts(heads, (struct iovec[]){{(void *)name_at, TEXT_HEAD}, {(void *)file_at, TEXT_HEAD}}, 2) ||
        !is_text(heads[0]) || !is_text(heads[1]))
        return MRL_PYTHON_BROKEN;
    struct text name = text_of(heads[0], name_at), file = text_of(heads[1], file_at);
    if (!mark_texts(&name, &file, codes->window, &mark))
        return MRL_PYTHON_BROKEN;
    for (*index = 0; *index < codes->count; ++*index) {
        const struct mrl_python_code *c = &codes->list[*index];
        if (c->at == at && c->table_at == table_at && c->first == first && c->mark == mark)
            return MRL_PYTHON_WHOLE;
    }
    if (codes->count == MRL_PYTHON_CODES)
        return MRL_PYTHON_FULL;
    struct mrl_python_code *made = &codes->list[codes->count];
    *made = (struct mrl_python_code){.at = at, .table_at = table_at, .mark = mark, .first = first};
    if (!read_text(&name, made->name, sizeof made->name, false, codes->window) ||
        !read_text(&file, made->file, sizeof made->file, true, codes->window))
        return MRL_PYTHON_BROKEN;
    made->frozen = strncmp(made->file, "<frozen ", 8) == 0;
    codes->count++;
    return MRL_PYTHON_WHOLE;
}

/* How far into the code it is; before the first instruction counts as at it. False: outside. */
static bool place_in(const unsigned char *frame, const unsigned char *code, uintptr_t at, uintptr_t *place)
{
    const struct layout *l = &python.layout;
    intptr_t next;
    if (l->code_begin == NONE) {
        next = number(frame + l->frame_next) * (l->version == 0x030a ? 2 : 1);
    } else {
        next = (intptr_t)(word(frame + l->frame_next) - at - l->code_begin);
        if (next > 2 * (intptr_t)word(code + OBJECT_SIZE))
            return false;
    }
    *place = next < 0 ? 0 : (uintptr_t)next;
    return next >= -2 && next < INT32_MAX;
}

static enum mrl_python_end read_stack(struct mrl_python_stack *s, struct mrl_python_codes *codes, uintptr_t state)
{
    const struct layout *l = &python.layout;
    unsigned char frame[FRAME_MOST], code[CODE_MOST];
    uintptr_t loop = 0, at = 0, code_at;
    uint32_t unplaced = 0;
    if (l->state_loop != NONE && !copy(&loop, state + l->state_loop, sizeof loop))
        return MRL_PYTHON_BROKEN;
    if (!copy(&at, l->state_frame != NONE ? state + l->state_frame : loop + l->loop_frame, sizeof at))
        return MRL_PYTHON_BROKEN;
    for (uint32_t looked = 0; at; looked++) {
        if (looked == 2 * s->room || s->count == s->room)
            return MRL_PYTHON_MORE;
        if (!copy(frame, at, l->frame_size))
            return MRL_PYTHON_BROKEN;
        if (l->frame_owner != NONE && frame[l->frame_owner] == ON_C_STACK) {
            for (; unplaced < s->count; unplaced++)
                s->frames[unplaced].loop = at;
            at = word(frame + l->frame_outer);
            continue;
        }
        code_at = word(frame + l->frame_code);
        if (!copy(code, code_at, l->code_size) || !is_object(code, python.code_type))
            return MRL_PYTHON_BROKEN;
        struct mrl_python_frame *f = &s->frames[s->count];
        *f = (struct mrl_python_frame){.frame = at, .loop = l->frame_owner == NONE ? loop : 0};
        enum mrl_python_end end = find_code(code_at, code, codes, &f->code);
        if (end != MRL_PYTHON_WHOLE)
            return end;
        if (!place_in(frame, code, code_at, &f->next))
            return MRL_PYTHON_BROKEN;
        s->count++;
        bool last = l->frame_entry == NONE || frame[l->frame_entry];
        if (l->frame_owner == NONE && l->state_loop != NONE && last && !copy(&loop, loop + l->loop_outer, sizeof loop))
            return MRL_PYTHON_BROKEN;
        at = word(frame + l->frame_outer);
    }
    return MRL_PYTHON_WHOLE;
}

static void refuse(const char *why)
{
    python.possible = false;
    mrl.python = false;
    mrl_metadata(MRL_PYTHON_UNREAD, why);
}

bool mrl_python_walk(struct mrl_python_stack *s, struct mrl_python_codes *codes)
{
    s->count = 0;
    s->end = MRL_PYTHON_WHOLE;
    if (!python.possible || mrl.confined || python.ending())
        return false;
    uintptr_t state = (uintptr_t)python.state();
    if (!state)
        return false;
    int error = errno;
    begin_copying();
    s->end = read_stack(s, codes, state);
    errno = error;
    return s->count > 0;
}

void mrl_python_lines(struct mrl_python_stack *s, struct mrl_python_codes *codes)
{
    int error = errno;
    for (uint32_t i = 0; i < s->count; i++) {
        struct mrl_python_frame *f = &s->frames[i];
        f->line = line_of(&codes->list[f->code], f->next, codes->window);
    }
    errno = error;
}

bool mrl_python_trust(struct mrl_python_stack *s, struct mrl_python_codes *codes)
{
    if (mrl.python)
        return mrl_python_walk(s, codes);
    bool found = mrl_python_walk(s, codes);
    if (s->end == MRL_PYTHON_BROKEN) {
        unsigned char byte;
        refuse(copy(&byte, python.loop, 1) ? "its structures are not those of this version"
                                           : "the system does not let a process read itself (process_vm_readv)");
        s->count = 0;
        return false;
    }
    mrl.python = found;
    return found;
}

uintptr_t mrl_python_loop(void)
{
    return python.loop;
}

static uint64_t mark_text(uint64_t mark, const unsigned char *object)
{
    struct text t = text_of(object, (uintptr_t)object);
    uint64_t last, n = ends_of(&t, &last);
    mark = mark_bytes(mix(mark, t.length), (const unsigned char *)t.at, n);
    return last ? mark_bytes(mark, (const unsigned char *)t.at + last, ENDS) : mark;
}

uint64_t mrl_python_mark(uint32_t most, bool places)
{
    const struct layout *l = &python.layout;
    const unsigned char *state = python.state(), *frame, *loop;
    uint64_t mark = 0;
    if (!state || python.ending())
        return 0;
    if (l->state_frame != NONE) {
        frame = (const unsigned char *)word(state + l->state_frame);
    } else {
        loop = (const unsigned char *)word(state + l->state_loop);
        frame = (const unsigned char *)word(loop + l->loop_frame);
    }
    for (uint32_t looked = 0, left = most; frame && left && looked < 2 * most; looked++, frame = (const unsigned char *)word(frame + l->frame_outer)) {
        if (l->frame_owner != NONE && frame[l->frame_owner] == ON_C_STACK)
            continue;
        left--;
        const unsigned char *code = (const unsigned char *)word(frame + l->frame_code);
        mark = mark_text(mix(mark, (uintptr_t)code), (const unsigned char *)word(code + l->code_name));
        mark = mark_text(mark, (const unsigned char *)word(code + l->code_file));
        mark = mix(mark, (uint32_t)number(code + l->code_first) ^ (l->code_begin == NONE ? (uint32_t)number(frame + l->frame_next) : word(frame + l->frame_next)));
        if (places)
            mark = mix(mark, (uintptr_t)frame);
    }
    return mark | 1;
}

/* What Python 3.13 says of itself: _Py_DebugOffsets, words from its beginning. */
static bool told(struct layout *l, uint64_t version, bool *free_threaded)
{
    enum { COOKIE, VERSION, FREE_THREADED, STATE_FRAME = 23, OUTER = 29, CODE, NEXT, OWNER = 33, FILE_NAME = 35, NAME = 37, TABLE, FIRST, BEGIN = 43, WORDS };
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    const unsigned frame_last = l->frame_size - 8u, code_last = l->code_size - 8u;
    uint64_t words[WORDS];
    if (!runtime || !copy(words, (uintptr_t)runtime, sizeof words) || memcmp(&words[COOKIE], "xdebugpy", 8) != 0 || words[VERSION] != version)
        return false;
    *free_threaded = words[FREE_THREADED];
    const struct {
        uint16_t *to;
        unsigned from, most;
    } offsets[] = {
        {&l->state_frame, STATE_FRAME, 4096}, {&l->frame_outer, OUTER, frame_last}, {&l->frame_code, CODE, frame_last},
        {&l->frame_next, NEXT, frame_last}, {&l->frame_owner, OWNER, l->frame_size - 1u}, {&l->code_file, FILE_NAME, code_last},
        {&l->code_name, NAME, code_last}, {&l->code_table, TABLE, code_last}, {&l->code_first, FIRST, code_last},
        {&l->code_begin, BEGIN, 4096},
    };
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        if (words[offsets[i].from] > offsets[i].most)
            return false;
        *offsets[i].to = (uint16_t)words[offsets[i].from];
    }
    return true;
}

static uint64_t find_version(void)
{
    const unsigned long *number = dlsym(RTLD_DEFAULT, "Py_Version");
    const char *(*text)(void);
    if (number)
        return *number;
    *(void **)&text = dlsym(RTLD_DEFAULT, "Py_GetVersion"); /* before 3.11 */
    uint64_t version = 0, part = 0;
    unsigned shift = 24;
    for (const char *c = text ? text() : ""; shift >= 16; c++) {
        if (*c >= '0' && *c <= '9' && part < 100) {
            part = part * 10 + (uint64_t)(*c - '0');
        } else {
            version |= part << shift;
            shift -= 8;
            part = 0;
            if (*c != '.')
                break;
        }
    }
    return version;
}

void mrl_python_find(void)
{
    static atomic_bool looked_for; /* another thread may become the first one */
    if (atomic_exchange(&looked_for, true))
        return;
    if (dlsym(RTLD_DEFAULT, "pypy_main_startup") || dlsym(RTLD_DEFAULT, "pypy_execute_source")) {
        refuse("PyPy is not known, CPython 3.9 to 3.13 are");
        return;
    }
    void *loop = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
    if (!loop)
        return;
    python.loop = (uintptr_t)loop;
    *(void **)&python.state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    *(void **)&python.ending = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
    if (!python.ending)
        *(void **)&python.ending = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    python.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    python.text_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    python.bytes_type = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    uint64_t version = find_version();
    const struct layout *known = NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version >> 16)
            known = &layouts[i];
    if (!known) {
        char why[128];
        snprintf(why, sizeof why, "CPython %u.%u is not known, 3.9 to 3.13 are", (unsigned)(version >> 24), (unsigned)(version >> 16 & 255));
        refuse(why);
        return;
    }
    bool free_threaded = false;
    begin_copying();
    python.layout = *known;
    if (dlsym(RTLD_DEFAULT, "_Py_NegativeRefcount")) {
        refuse("a debug build of CPython is not known");
    } else if (!python.state || !python.ending || !python.code_type || !python.text_type || !python.bytes_type) {
        refuse("it does not export what finds them");
    } else if (known->version >= 0x030d && !told(&python.layout, version, &free_threaded)) {
        refuse("it does not tell where they are");
    } else if (free_threaded) {
        refuse("a free-threaded build of CPython is not known");
    } else if (!mrl_sources_begin()) {
        refuse("there is no room for its files");
    } else {
        python.possible = true;
    }
}
