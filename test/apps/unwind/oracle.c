/*
 * The unwinder against the compiler's own (libgcc's _Unwind_Backtrace), at the ends of random chains of
 * functions with all kinds of frames, and at the moments at which a timer interrupts them.
 *
 *     oracle CHAINS [SEED]
 *
 * Prints how many frames were compared, and fails at the first difference. With `corrupt` as a third argument
 * it overwrites bytes of the tables before each walk and repairs them afterwards. Then the walk may go anywhere
 * but off the stack; it prints how many walks there were, and how many of them went astray.
 */
#include "frames.h"
#include "path.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>

enum { MOST = 400, WORDS = 2 * MOST };

#define STYLES(X) X(o0) X(o2) X(o3fp) X(os) X(clang) X(avx)
#define DECLARE(style) extern step_function *const steps_##style[KINDS];
STYLES(DECLARE)
#define LIST(style) steps_##style,
static step_function *const *const styles[] = {STYLES(LIST)};
enum { STYLE_COUNT = sizeof styles / sizeof *styles };

/* What the unwinder needs of the rest of Marple. */
struct mrl_process mrl;
uint32_t mrl_module(uintptr_t address, uint64_t *offset)
{
    *offset = address;
    return 0;
}

static __thread struct mrl_unwinder *unwinder;
static __thread struct mrl_walk walk;
static __thread struct mrl_stacked words[WORDS];
static __thread uintptr_t stack_high;
static __thread uint64_t compared, corrupted_random;
static uint64_t walks, astray;
static bool corrupt;

struct trace {
    int count;
    uintptr_t pc[MOST], cfa[MOST];
};

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *data)
{
    struct trace *t = data;
    if (t->count == MOST)
        return _URC_END_OF_STACK;
    t->pc[t->count] = _Unwind_GetIP(context);
    t->cfa[t->count] = _Unwind_GetCFA(context);
    t->count++;
    return _URC_NO_REASON;
}

static void fail(const char *what, const struct trace *theirs, const struct trace *ours, int at)
{
    fprintf(stderr, "%s at frame %d (%d of theirs, %d of ours)\n", what, at, theirs->count, ours->count);
    for (int i = 0; i < at + 3 && i < theirs->count; i++) {
        Dl_info info = {0};
        dladdr((void *)theirs->pc[i], &info);
        fprintf(stderr, "%3d theirs %#lx (%s+%#lx) ours %#lx %s\n", i, theirs->pc[i], info.dli_fname ? info.dli_fname : "?",
                info.dli_fname ? theirs->pc[i] - (uintptr_t)info.dli_fbase : 0, ours->pc[i], info.dli_sname ? info.dli_sname : "");
    }
    _exit(1);
}

/* Walks on from a frame that the walk has begun with. */
static void go(struct trace *ours)
{
    ours->count = 0;
    while (ours->count < MOST) {
        ours->pc[ours->count++] = walk.pc;
        const struct mrl_rule *rule = mrl_rule(unwinder, walk.pc, walk.interrupted);
        if (rule->flags & MRL_RULE_LAST || !mrl_walk_step(&walk, unwinder, rule))
            break;
    }
}

static void compare(const struct trace *theirs, const struct trace *ours, int from)
{
    for (int i = 0; i + from < theirs->count && i < ours->count; i++)
        if (theirs->pc[i + from] != ours->pc[i]) {
            struct trace shifted = *theirs;
            memmove(shifted.pc, shifted.pc + from, (size_t)(theirs->count - from) * sizeof *shifted.pc);
            shifted.count -= from;
            fail("different", &shifted, ours, i);
        }
    /* Theirs ends with a frame at 0 where nothing follows the last one. */
    int least = theirs->count - from - (theirs->count && theirs->pc[theirs->count - 1] == 0);
    if (ours->count < least && ours->count < MOST) {
        struct trace shifted = *theirs;
        memmove(shifted.pc, shifted.pc + from, (size_t)(theirs->count - from) * sizeof *shifted.pc);
        shifted.count -= from;
        fail("too short", &shifted, ours, ours->count);
    }
    compared += (uint64_t)ours->count;
}

static void begin(struct mrl_caller caller)
{
    walk.high = stack_high;
    walk.slots = words;
    walk.room = WORDS;
    mrl_walk_begin(&walk, caller.pc, caller.sp, caller.fp);
}

/* The tables of the program itself and of the library it calls through. */
static struct {
    uint8_t *at;
    size_t size;
} tables[16];
static int table_count;

static int add_tables(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    (void)data;
    for (int i = 0; i < info->dlpi_phnum && table_count < 16; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_GNU_EH_FRAME)
            continue;
        for (int k = 0; k < info->dlpi_phnum; k++) {
            const ElfW(Phdr) *l = &info->dlpi_phdr[k];
            if (l->p_type != PT_LOAD || p->p_vaddr - l->p_vaddr >= l->p_filesz)
                continue;
            uintptr_t low = info->dlpi_addr + p->p_vaddr, end = info->dlpi_addr + l->p_vaddr + l->p_filesz;
            long page = sysconf(_SC_PAGESIZE);
            uintptr_t first = low & ~(uintptr_t)(page - 1);
            if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE | (l->p_flags & PF_X ? PROT_EXEC : 0)))
                continue;
            tables[table_count].at = (uint8_t *)low;
            tables[table_count++].size = end - low;
        }
    }
    return 0;
}

enum { SPOTS = 24 };
static __attribute__((noinline)) void survive(struct mrl_caller caller)
{
    static struct trace intact, ours;
    uint8_t *at[SPOTS], was[SPOTS];
    begin(caller);
    go(&intact);
    for (int i = 0; i < SPOTS; i++) {
        int which = (int)(draw(&corrupted_random) % (uint64_t)table_count);
        /* The first kilobytes are read at each walk; beyond, only what happens to be called. */
        size_t size = draw(&corrupted_random) % 3 ? tables[which].size : 4096;
        at[i] = tables[which].at + draw(&corrupted_random) % (size < tables[which].size ? size : tables[which].size);
        was[i] = *at[i];
        *at[i] = (uint8_t)draw(&corrupted_random);
    }
    memset(unwinder->rules, 0, sizeof unwinder->rules);
    begin(caller);
    go(&ours);
    for (uint32_t i = 0; i < walk.count; i++)
        if (caller.sp + words[i].at >= stack_high)
            fail("left the stack", &ours, &ours, 0);
    for (int i = SPOTS; i-- > 0;)
        *at[i] = was[i];
    walks++;
    astray += ours.count != intact.count || memcmp(ours.pc, intact.pc, (size_t)ours.count * sizeof *ours.pc) != 0;
    memset(unwinder->rules, 0, sizeof unwinder->rules);
}

__attribute__((noinline)) void reached(void)
{
    struct mrl_caller caller = MRL_CALLER;
    if (corrupt) {
        survive(caller);
        return;
    }
    struct trace theirs = {0}, ours;
    _Unwind_Backtrace(note, &theirs);
    begin(caller);
    go(&ours);
    compare(&theirs, &ours, 1);
    /* The same again with all registers, through this function's own frame. */
    walk.low = (uintptr_t)__builtin_frame_address(0) - 65536;
    if (!mrl_walk_from_here(&walk, unwinder, caller.sp))
        fail("the caller was not found", &theirs, &ours, 0);
    if (walk.pc != caller.pc || walk.value[MRL_FP] != caller.fp)
        fail("the caller is another", &theirs, &ours, 0);
    go(&ours);
    compare(&theirs, &ours, 1);
}

uint64_t next(uint64_t *random, int depth)
{
    if (depth <= 0) {
        reached();
        return 0;
    }
    return styles[draw(random) % STYLE_COUNT][draw(random) % KINDS](random, depth - 1) + 1;
}

/* At any instruction: what the signal interrupted is found through the trampoline. */
static __attribute__((unused)) void tick(int signal)
{
    struct mrl_caller caller = MRL_CALLER;
    (void)signal;
    if (!stack_high)
        return;
    static __thread struct mrl_walk saved;
    static __thread struct mrl_stacked saved_words[WORDS];
    struct mrl_unwinder *before = unwinder;
    static __thread struct mrl_unwinder *mine;
    if (!mine)
        mine = calloc(1, sizeof *mine);
    saved = walk;
    memcpy(saved_words, words, sizeof words);
    mine->frozen = true; /* as in the handler of samples: the thread may be where it looks modules up */
    unwinder = mine;
    static __thread struct trace theirs, ours;
    theirs.count = 0;
    _Unwind_Backtrace(note, &theirs);
    begin(caller);
    go(&ours);
    compare(&theirs, &ours, 1);
    unwinder = before;
    walk = saved;
    memcpy(words, saved_words, sizeof words);
}

static uint64_t chains, seed;

static void *work(void *data)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    uint64_t random = seed * 1000003 + (uint64_t)(uintptr_t)data + 88172645463325252ull;
    corrupted_random = random;
    unwinder = calloc(1, sizeof *unwinder);
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stack_high = (uintptr_t)low + size;
    for (uint64_t i = 0; i < chains; i++)
        next(&random, (int)(draw(&random) % 40));
    if (corrupt)
        printf("%lu walks, %lu of them astray\n", walks, astray);
    else
        printf("%lu frames\n", compared);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    chains = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    corrupt = argc > 3;
    mrl_unwind_refresh();
    if (corrupt) {
        dl_iterate_phdr(add_tables, NULL);
        work(NULL);
        return 0;
    }
    work(NULL);
    pthread_create(&thread, NULL, work, (void *)1);
    pthread_join(thread, NULL);
#ifndef __aarch64__
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
    work((void *)2);
#endif
    return 0;
}
