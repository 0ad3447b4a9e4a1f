#include "path.h"
#include "shield.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

/* Frames above `main`, or above the function a thread was started with: the C library's, and _start. */
#define FOLDED 3u

/* Instructions that samples are told apart by; at others, only the function is known. */
#define PLACES_MOST 16384u

struct mrl_frame {
    uint32_t module;
    uint32_t words;    /* that the walk depended on when it had left this frame */
    uint64_t function; /* offset of its beginning in the module */
    uint64_t offset;   /* of where it goes on */
    uintptr_t top, ra; /* its upper end, where its function returns to; of Python's: its address, and 0 */
};

enum { UNSEEN, ORDINARY, SYSTEM, LAYER, INTERPRETER, OURS };
static _Atomic uint8_t kinds[MRL_MODULES_MAX];

static uint32_t frame_limit(void)
{
    return (uint32_t)mrl.settings.callpath;
}

/* Whether a file is one of the libraries whose names were given; a star at the end stands for anything. */
static bool is_layer(const char *path, const char *const *list)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strstr(name, ".so");
    size_t length = end ? (size_t)(end - name) : strlen(name);
    for (const char *const *layer = list; layer && *layer; layer++) {
        size_t n = strlen(*layer);
        bool open = n && (*layer)[n - 1] == '*';
        if (open ? length >= n - 1 && memcmp(name, *layer, n - 1) == 0 : length == n && memcmp(name, *layer, n) == 0)
            return true;
    }
    return false;
}

/* Where programs and threads begin is in these functions' modules. */
static void find_system(void)
{
    static const char *const functions[] = {"__libc_start_main", "pthread_exit", "clone"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint64_t offset;
        void *function = dlsym(RTLD_DEFAULT, functions[i]);
        uint32_t module = function ? mrl_module((uintptr_t)function, &offset) : MRL_NONE;
        if (module < MRL_MODULES_MAX)
            atomic_store_explicit(&kinds[module], SYSTEM, memory_order_relaxed);
    }
    uint64_t offset;
    uint32_t own = mrl_module((uintptr_t)find_system, &offset);
    if (own < MRL_MODULES_MAX)
        atomic_store_explicit(&kinds[own], OURS, memory_order_relaxed);
}

/* The function that runs Python's. */
static uint32_t loop_module = MRL_NONE;
static uint64_t loop_function;

static void find_python(void)
{
    mrl_python_find();
    if (!mrl_python_loop())
        return;
    loop_module = mrl_module(mrl_python_loop(), &loop_function);
    if (loop_module < MRL_MODULES_MAX)
        atomic_store_explicit(&kinds[loop_module], INTERPRETER, memory_order_relaxed);
}

static MRL_COLD uint8_t find_kind(uint32_t module)
{
    const char *path = mrl_text(mrl_module_at(module)->path);
    uint8_t kind = is_layer(path, mrl.layers) || is_layer(path, mrl_adapter_layers) ? LAYER : ORDINARY;
    atomic_store_explicit(&kinds[module], kind, memory_order_relaxed);
    return kind;
}

static uint8_t kind_of(uint32_t module)
{
    if (module >= MRL_MODULES_MAX)
        return ORDINARY;
    uint8_t kind = atomic_load_explicit(&kinds[module], memory_order_relaxed);
    return kind ? kind : find_kind(module);
}

static uint32_t frames_room(void)
{
    return frame_limit() + FOLDED + 1;
}

bool mrl_paths_begin(struct mrl_thread *t)
{
    uint32_t limit = frame_limit();
    struct mrl_paths *p = t->paths;
    if (!p) {
        /* A frame costs one word, its return address; where frame pointers are used two. */
        size_t words = limit > 1 ? 2 * limit + 8 : 0, each = words * sizeof(struct mrl_stacked);
        size_t fixed = (sizeof *p + 63) & ~(size_t)63, frames = frames_room() * sizeof(struct mrl_frame),
               functions = limit * sizeof(struct mrl_python_frame);
        char *memory = mmap(NULL, fixed + 2 * MRL_PATHS * each + 2 * frames + functions + sizeof *p->codes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        p = (struct mrl_paths *)memory;
        p->words = (uint32_t)words;
        for (uint32_t i = 0; i < 2 * MRL_PATHS; i++)
            p->paths[i].words = (struct mrl_stacked *)(memory + fixed + i * each);
        memory += fixed + 2 * MRL_PATHS * each;
        p->frames = (struct mrl_frame *)memory;
        p->woven = (struct mrl_frame *)(memory + frames);
        p->called.room = limit;
        p->called.frames = (struct mrl_python_frame *)(memory + 2 * frames);
        p->codes = (struct mrl_python_codes *)(memory + 2 * frames + functions);
        p->code_mask = limit > 0 ? UINTPTR_MAX : 0;
        p->stack_mask = limit > 1 ? UINTPTR_MAX : 0;
        t->paths = p;
    }
    /* Another thread's stack may be smaller: what its last owner remembered must not be looked at. */
    for (uint32_t i = 0; i < 2 * MRL_PATHS; i++)
        p->paths[i].key = p->branches[i / 2].key = MRL_NO_WALK;
    p->mark = p->python = p->beyond = 0;
    struct mrl_shield shield;
    mrl_shield(&shield);
    if (limit > 0)
        mrl_unwind_refresh();
    if (limit > 1 && t->index == 0) {
        find_system();
        find_python();
    }
    if (limit > 1)
        if (!mrl_stack_bounds(&p->low, &p->high))
            p->low = p->high = 0;
    mrl_unshield(&shield);
    return true;
}

static uint64_t identity(const struct mrl_frame *f)
{
    return (uint64_t)f->module << 48 ^ f->function;
}

static bool is_frame(const struct mrl_anchor *a, const struct mrl_frame *f)
{
    return a->top == f->top && a->ra == f->ra && a->function == identity(f);
}

/*
 * The anchor at the upper end of this frame, of the innermost region or function that is open: the frame itself,
 * or one that was there before it. A function in whose place there is another one now was left by longjmp.
 */
static const struct mrl_anchor *at_anchor(const struct mrl_paths *p, uint32_t *depth, const struct mrl_frame *f)
{
    for (; *depth > 0; --*depth) {
        const struct mrl_anchor *a = p->anchors[*depth - 1], *end = a + MRL_ANCHORS;
        while (a < end && a->top != f->top)
            a++;
        if (a == end || !f->top)
            return NULL;
        if (!p->functions[*depth - 1] || is_frame(a, f))
            return a;
    }
    return NULL;
}

/* How a walk ended, and where. */
struct end {
    enum mrl_walk_end how;
    uint32_t count; /* frames, the one it ended at included */
    uint32_t known; /* ... and those beyond it */
    const struct mrl_anchor *anchor;
    uint32_t depth; /* of the region or function that the walk was in */
};

/*
 * Lists frames from the innermost outwards, but for those of the MPI library's own layers. Where Python runs, up to the
 * outermost: only between its functions a region has a place.
 */
static struct end collect(struct mrl_thread *t, bool python)
{
    struct mrl_paths *p = t->paths;
    struct mrl_walk *w = &p->walk;
    struct end end = {.how = MRL_WALK_LIMITED, .depth = t->depth};
    while (end.depth > 0 && p->functions[end.depth - 1] && p->anchors[end.depth - 1][0].top <= w->base)
        end.depth--; /* left by longjmp: its frame is below this one */
    /* A stack that is not the thread's own may end anywhere. */
    bool known_stack = w->base >= p->low && w->base < p->high;
    while (end.count < frame_limit() + FOLDED) {
        const struct mrl_rule *rule = mrl_rule(&p->unwinder, w->pc, w->interrupted);
        struct mrl_frame *f = &p->frames[end.count];
        *f = (struct mrl_frame){.module = rule->module, .function = rule->offset - rule->into, .offset = rule->offset};
        bool layer = end.count == 0 && kind_of(rule->module) == LAYER;
        end.count += !layer;
        if (rule->flags & MRL_RULE_LAST) {
            end.how = MRL_WALK_WHOLE;
            break;
        }
        if (!known_stack || !mrl_walk_step(w, &p->unwinder, rule)) {
            end.how = w->pc ? MRL_WALK_UNKNOWN : MRL_WALK_WHOLE;
            break;
        }
        f->top = w->value[MRL_SP];
        f->ra = w->pc;
        f->words = w->count;
        if (!layer && !python && (end.anchor = at_anchor(p, &end.depth, f))) {
            end.how = MRL_WALK_ANCHORED;
            break;
        }
    }
    return end;
}

/* How many are left without the frames above `main`, or above the function that a thread began with. */
static uint32_t fold(const struct mrl_frame *frames, uint32_t n)
{
    if (n >= 2 && kind_of(frames[n - 1].module) != SYSTEM && kind_of(frames[n - 2].module) == SYSTEM)
        n--; /* _start */
    for (int i = 0; i < 2 && n > 0 && kind_of(frames[n - 1].module) == SYSTEM; i++)
        n--;
    return n;
}

static struct mrl_frame python_frame(const struct mrl_python_frame *f, const struct mrl_python_code *code)
{
    uint64_t name = mrl_string(code->name, sizeof code->name);
    return (struct mrl_frame){.module = mrl_source(code->file), .function = name << 32 | code->first, .offset = f->line, .top = f->frame};
}

/*
 * Puts Python's functions in the place of the interpreter's. Each of them is run by a loop, a C function that may run
 * several; what is known of them is an address in its frame or, before Python 3.10, only that there is one for each.
 */
static void weave(struct mrl_paths *p, struct end *end, const struct mrl_python_stack *s, const struct mrl_python_codes *codes, uintptr_t base)
{
    const uint32_t room = frames_room();
    uint32_t n = 0, next = 0;
    if (end->how == MRL_WALK_WHOLE)
        end->count = fold(p->frames, end->count);
    for (uint32_t i = 0; i <= end->count; i++) {
        const struct mrl_frame *f = i < end->count ? &p->frames[i] : NULL;
        bool interpreter = f && kind_of(f->module) == INTERPRETER;
        bool loop = f && f->module == loop_module && f->function == loop_function && f->top > base;
        for (; next < s->count && n < room; next++) {
            const struct mrl_python_frame *python = &s->frames[next];
            if (f && (python->loop ? python->loop >= f->top : !loop))
                break;
            loop = false;
            if (!codes->list[python->code].frozen)
                p->woven[n++] = python_frame(python, &codes->list[python->code]);
        }
        if (next == s->count && s->end != MRL_PYTHON_WHOLE)
            break; /* what is beyond comes after functions that are not known */
        if (f && !interpreter && n < room)
            p->woven[n++] = *f;
    }
    while (n > 0 && kind_of(p->woven[n - 1].module) == SYSTEM)
        n--; /* of a walk that did not see them to be the last */
    struct mrl_frame *frames = p->frames;
    p->frames = p->woven;
    p->woven = frames;
    end->count = end->known = n;
    if (s->end == MRL_PYTHON_BROKEN)
        end->how = MRL_WALK_UNKNOWN;
    else if (s->end != MRL_PYTHON_WHOLE || n == room)
        end->how = MRL_WALK_LIMITED;
    else
        end->how = MRL_WALK_WOVEN;
}

/* Ends a walk through Python's functions at the first frame that was there when the innermost region began. */
static void end_at_anchor(const struct mrl_paths *p, struct end *end)
{
    for (uint32_t i = 0; i < end->known; i++)
        if ((end->anchor = at_anchor(p, &end->depth, &p->frames[i]))) {
            end->how = MRL_WALK_ANCHORED;
            end->count = i + 1;
            return;
        }
}

/* The first anchors of a region that begins: frames of the walk, then those of the region that it is in. */
static void set_anchors(const struct mrl_paths *p, struct mrl_beginning *b, const struct end *end)
{
    const struct mrl_anchor *last = end->anchor ? &p->anchors[end->depth - 1][MRL_ANCHORS - 1] : NULL;
    struct mrl_anchor *anchors = b->anchors;
    uint32_t n = 0;
    for (; n < MRL_ANCHORS && n < end->count; n++)
        anchors[n] = (struct mrl_anchor){p->frames[n].top, p->frames[n].ra, identity(&p->frames[n])};
    for (const struct mrl_anchor *a = end->anchor; n < MRL_ANCHORS && a && a < last; n++)
        anchors[n] = *++a;
    for (; n < MRL_ANCHORS; n++)
        anchors[n] = (struct mrl_anchor){0};
    b->mark = 1;
    for (n = 0; n < MRL_ANCHORS; n++) {
        b->mark = (b->mark ^ anchors[n].top) * UINT64_C(0x9e3779b97f4a7c15);
        b->mark = (b->mark ^ b->mark >> 32 ^ anchors[n].ra) * UINT64_C(0x9e3779b97f4a7c15);
        b->mark = (b->mark ^ b->mark >> 32 ^ anchors[n].function) * UINT64_C(0x9e3779b97f4a7c15);
    }
    b->mark |= 1;
}

static uint32_t frame_node(uint32_t parent, const struct mrl_frame *f, const struct mrl_frame *caller)
{
    struct mrl_node node = {.parent = parent, .kind = MRL_NODE_FRAME, .key = f->function, .name = f->module};
    if (caller) {
        node.site_module = caller->module;
        node.site = caller->offset;
    }
    return mrl_node(&node);
}

/*
 * The nodes of the frames that a walk has found, below `node`, but for those of adapters that stand between the program and
 * its library. `beyond` is where the outermost one returns to.
 */
static uint32_t chain(struct mrl_thread *t, const struct end *end, uint32_t node, uintptr_t beyond, struct mrl_frame *site)
{
    struct mrl_paths *p = t->paths;
    uint32_t n = end->count, limit = frame_limit();
    struct mrl_frame beside, *outside = NULL; /* the frame that called the last of these */
    if (end->how == MRL_WALK_WHOLE) {
        n = fold(p->frames, n);
    } else if (end->how == MRL_WALK_ANCHORED) {
        const struct mrl_frame *f = &p->frames[n - 1];
        if (is_frame(end->anchor, f)) {
            outside = &p->frames[--n];
        } else if (n < end->known) {
            outside = &p->frames[n];
        } else {
            const struct mrl_rule *rule = mrl_rule(&p->unwinder, beyond, false);
            beside = (struct mrl_frame){.module = rule->module, .offset = rule->offset};
            outside = &beside;
        }
    }
    if (n > limit || end->how == MRL_WALK_UNKNOWN || end->how == MRL_WALK_LIMITED) {
        node = mrl_node(&(struct mrl_node){.parent = node, .kind = MRL_NODE_CUT, .key = n <= limit && end->how == MRL_WALK_UNKNOWN});
        n = n < limit ? n : limit;
        outside = NULL;
    }
    for (uint32_t i = n; i-- > 0;) {
        if (kind_of(p->frames[i].module) == OURS)
            continue;
        uint32_t above = i + 1;
        while (above < n && kind_of(p->frames[above].module) == OURS)
            above++;
        node = frame_node(node, &p->frames[i], above < n ? &p->frames[above] : outside);
    }
    *site = n ? p->frames[0] : outside ? *outside : (struct mrl_frame){0};
    return node;
}

/* Whether this thread runs functions of Python's, which are then in p->called. */
static bool functions_of(struct mrl_paths *p)
{
    if (p->codes->count + p->called.room > MRL_PYTHON_CODES)
        p->codes->count = 0;
    if (!mrl_python_trust(&p->called, p->codes))
        return false;
    mrl_python_lines(&p->called, p->codes);
    return true;
}

/*
 * The frames of a path below the innermost open region: its node, and in *site the frame that made the call.
 * A region's frame, if it still exists, is above the region, and what it calls below.
 */
static uint32_t frames_node(struct mrl_thread *t, struct mrl_path *path, struct mrl_beginning *beginning,
                            struct mrl_caller caller, struct mrl_frame *site)
{
    struct mrl_paths *p = t->paths;
    struct mrl_walk *w = &p->walk;
    w->high = p->high;
    w->slots = path->words;
    w->room = p->words;
    mrl_walk_begin(w, caller.pc, caller.sp, caller.fp);
    bool python = functions_of(p);
    struct end end = collect(t, python);
    if (w->wanting && mrl_walk_from_here(w, &p->unwinder, caller.sp))
        end = collect(t, python);

    if (end.how == MRL_WALK_WHOLE) {
        uint32_t n = fold(p->frames, end.count);
        if (n > 0 && n < end.count)
            w->count = p->frames[n - 1].words;
    }
    if (python) {
        w->loose |= !p->python; /* it was not known before that there are any */
        weave(p, &end, &p->called, p->codes, caller.sp);
        end_at_anchor(p, &end);
    }
    if (beginning)
        set_anchors(p, beginning, &end);
    w->loose |= end.depth < t->depth; /* and on more anchors than those it is looked up by */
    path->count = w->count;
    return chain(t, &end, end.depth < t->depth ? t->open[end.depth].outer : t->where, w->pc + w->interrupted, site);
}

/* With a depth of one: the function alone, wherever it was called. */
static uint32_t function_node(struct mrl_thread *t, struct mrl_caller caller, struct mrl_frame *site)
{
    const struct mrl_rule *rule = mrl_rule(&t->paths->unwinder, caller.pc, false);
    *site = (struct mrl_frame){.module = rule->module, .function = rule->offset - rule->into, .offset = rule->offset};
    return frame_node(t->where, site, NULL);
}

uint32_t mrl_frames_most(void)
{
    return frame_limit() > 1 ? frame_limit() + FOLDED : frame_limit();
}

uint32_t mrl_pythons_most(void)
{
    return frame_limit() > 1 ? frame_limit() : 0;
}

/* What collect, and weave, would have found. */
static struct end follow(struct mrl_thread *t, const struct mrl_trail *trail, const struct mrl_python_codes *codes, uint32_t depth)
{
    struct mrl_paths *p = t->paths;
    struct end end = {.how = trail->how, .depth = depth};
    while (end.depth > 0 && p->functions[end.depth - 1] && p->anchors[end.depth - 1][0].top <= trail->base)
        end.depth--;
    for (uint32_t i = 0; i < trail->count; i++) {
        const struct mrl_rule *rule = mrl_rule(&p->unwinder, trail->frames[i].pc, false);
        struct mrl_frame *f = &p->frames[end.count++];
        *f = (struct mrl_frame){.module = rule->module, .function = rule->offset - rule->into, .offset = rule->offset,
                                .top = trail->frames[i].top, .ra = i + 1 < trail->count ? trail->frames[i + 1].pc : trail->beyond};
        if (!trail->pythons && (end.anchor = at_anchor(p, &end.depth, f))) {
            end.how = MRL_WALK_ANCHORED;
            break;
        }
    }
    if (trail->pythons) {
        struct mrl_python_stack functions = {.count = trail->pythons, .end = trail->python_end,
                                             .frames = mrl_trail_python(trail, mrl_frames_most())};
        weave(p, &end, &functions, codes, trail->base);
        end_at_anchor(p, &end);
    }
    return end;
}

uint32_t mrl_path_trail(struct mrl_thread *t, const struct mrl_trail *trail, const struct mrl_python_codes *codes, bool elsewhere)
{
    static _Atomic uint32_t places;
    struct mrl_frame site;
    uint32_t depth = elsewhere ? 0 : t->depth, where = elsewhere ? MRL_ROOT_NODE : t->where, node;
    if (!trail->count)
        return MRL_ROOT_NODE;
    if (t->paths->stack_mask) {
        struct end end = follow(t, trail, codes, depth);
        node = chain(t, &end, end.depth < depth ? t->open[end.depth].outer : where, end.count < trail->count ? trail->frames[end.count].pc : trail->beyond, &site);
        if (site.offset != t->paths->frames[0].offset)
            return node; /* above main */
    } else {
        const struct mrl_rule *rule = mrl_rule(&t->paths->unwinder, trail->frames[0].pc, false);
        site = (struct mrl_frame){.module = rule->module, .function = rule->offset - rule->into, .offset = rule->offset};
        node = frame_node(where, &site, NULL);
    }
    if (site.module >= MRL_MODULES_MAX || atomic_load_explicit(&places, memory_order_relaxed) >= PLACES_MOST)
        return node;
    uint32_t before = atomic_load_explicit(&mrl.header->nodes, memory_order_relaxed);
    uint32_t place = mrl_node(&(struct mrl_node){.parent = node, .kind = MRL_NODE_PLACE, .key = site.offset, .name = site.module});
    if (place >= before)
        atomic_fetch_add_explicit(&places, 1, memory_order_relaxed);
    return place;
}

static uint64_t key_of(const struct mrl_paths *p, uint64_t event, uintptr_t pc)
{
    return (pc & p->code_mask) | event << 48;
}

/* The stack has the words: they were read below frames that are there as long as the stack pointer is the same. */
static struct mrl_path *branched_place(struct mrl_paths *p, const struct mrl_branch *b, const void *name)
{
    uint64_t x = b->key ^ ((uintptr_t)name ^ p->python) << 12;
    for (unsigned i = 0; i < MRL_BRANCHES && b->at[i]; i++)
        x = (x ^ x >> 29 ^ *(const uintptr_t *)(b->sp + b->at[i])) * UINT64_C(0x9e3779b97f4a7c15);
    return &p->paths[(x >> (64 - MRL_PATHS_BITS)) * 2];
}

static struct mrl_branch *branch_of(struct mrl_paths *p, uint64_t event, const void *name, struct mrl_caller c)
{
    return &p->branches[(mrl_path_first(p, event, name, c) - p->paths) / 2];
}

static bool leads(const struct mrl_paths *p, const struct mrl_branch *b, uint64_t event, struct mrl_caller c)
{
    return b->key == key_of(p, event, c.pc) && b->sp == c.sp && b->at[0];
}

const struct mrl_path *mrl_path_branched(const struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller caller)
{
    const struct mrl_branch *b = branch_of(t->paths, event, name, caller);
    return leads(t->paths, b, event, caller) ? mrl_path_at(t, branched_place(t->paths, b, name), event, name, caller) : NULL;
}

/* Of a walk that is to be driven out by one that begins alike: notes the innermost word in which they differ. */
static bool branch_off(struct mrl_paths *p, struct mrl_branch *b, const struct mrl_path *path, uint64_t event, struct mrl_caller c)
{
    if (path->key != key_of(p, event, c.pc) || path->sp != c.sp || path->mark != mrl_path_mark(p))
        return false;
    if (!leads(p, b, event, c))
        *b = (struct mrl_branch){.key = path->key, .sp = c.sp};
    for (const struct mrl_stacked *word = path->words; word < path->words + path->count; word++) {
        if (*(const uintptr_t *)(c.sp + word->at) == word->value || word->at > UINT32_MAX)
            continue;
        for (unsigned i = 0; i < MRL_BRANCHES; i++) {
            if (b->at[i] == word->at)
                return false;
            if (!b->at[i]) {
                b->at[i] = (uint32_t)word->at;
                return true;
            }
        }
        return false;
    }
    return false;
}

/* Where a walk is to be remembered. */
static struct mrl_path *take_place(struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller caller)
{
    struct mrl_paths *p = t->paths;
    struct mrl_path *pair = mrl_path_first(p, event, name, caller);
    struct mrl_branch *b = branch_of(p, event, name, caller);
    if (p->stack_mask) {
        if (leads(p, b, event, caller))
            pair = branched_place(p, b, name);
        if (branch_off(p, b, pair + p->older[(pair - p->paths) / 2], event, caller))
            pair = branched_place(p, b, name);
    }
    uint8_t *older = &p->older[(pair - p->paths) / 2];
    pair += *older;
    *older = !*older;
    return pair;
}

MRL_COLD struct mrl_path *mrl_path_walk(struct mrl_thread *t, uint64_t event, const void *name, struct mrl_caller caller,
                                        const struct mrl_node *leaf)
{
    uint64_t begin = mrl_now();
    if (mrl.counters)
        mrl_counters_pause(t);
    struct mrl_paths *p = t->paths;
    struct mrl_frame site = {0};
    struct mrl_node made = *leaf;
    struct mrl_beginning *beginning = NULL;
    struct mrl_path *path = take_place(t, event, name, caller);
    path->key = MRL_NO_WALK;
    path->sp = caller.sp & p->stack_mask;
    path->where = t->where | (uint64_t)atomic_load_explicit(&mrl_generation, memory_order_relaxed) << 32;
    path->mark = mrl_path_mark(p);
    path->count = 0;
    p->walk.loose = p->walk.used_fp = false;
    if (event >= MRL_EVENT_FUNCTION) {
        beginning = &p->beginnings[path - p->paths];
        beginning->name = name;
        beginning->mark = beginning->anchors[0].top = 0;
    }

    bool function = event == MRL_EVENT_FUNCTION, own = false;
    made.parent = t->where;
    if (p->stack_mask) {
        made.parent = frames_node(t, path, beginning, caller, &site);
        own = function && made.parent != t->where && site.function + (caller.pc - (uintptr_t)name) == site.offset;
    } else if (p->code_mask && !beginning) {
        made.parent = function_node(t, caller, &site);
    }
    if (event <= MRL_EVENT_FUNCTION) {
        made.site_module = site.module;
        made.site = site.offset;
    }
    path->node = own ? made.parent : mrl_node(&made);
    path->fp = caller.fp;
    path->fp_mask = p->walk.used_fp ? UINTPTR_MAX : 0;
    if (!p->walk.loose)
        path->key = key_of(p, event, caller.pc);
    if (mrl.counters)
        mrl_counters_resume(t);
    mrl_own(t, begin);
    return path;
}
