/*
 * Calls that are left without returning: by longjmp, an exception, pthread_exit or cancellation, out of an error handler or an
 * operation of the program's. Their frames are gone, and what is called next is not inside them, however deep it is.
 *
 * The call is recorded at the thread's next event, when what that takes may be done.
 *
 * Invariant: takes no lock and allocates nothing once things are found; signal handlers jump, too.
 */
#include "shim.h"
#include "unwind.h"

#include <dlfcn.h>
#include <setjmp.h>

/* The frame at this address is left, or what goes on: a call whose own lies below is over. */
static void leave(uintptr_t frame)
{
    struct mrl_thread *t = mrl_self;
    if (!t || !t->inside || frame < t->inside)
        return;
    if (t->called < mrl_ended(t)) /* it is a call before this one that has said so */
        t->calling = 0;
    t->last_end = mrl_now();
    t->inside = MRL_LEFT;
    atomic_fetch_add_explicit(&mrl.header->calls_left, 1, memory_order_relaxed);
}

/*
 * Wrappers name this as what is asked when an exception, or the end of the thread, passes through their frames (mrl_enter): it
 * costs a call that returns nothing, and there is nothing to be run in them. Where the frame is, only the unwinder knows that
 * asks: whose library may have been loaded just now. All wrappers have a frame pointer, for MRL_CALLER.
 */
int mrl_passes(int version, int actions, uint64_t class, void *exception, void *context)
{
    enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };
    (void)version, (void)class, (void)exception;
    if (!(actions & CLEANUP_PHASE) || !mrl_self || !mrl_self->inside || mrl_self->inside == MRL_LEFT)
        return CONTINUE_UNWIND;
    uintptr_t (*get)(void *, int) = NULL;
    Dl_info unwinder;
    void *library = NULL;
    if (dladdr(__builtin_return_address(0), &unwinder) && (library = dlopen(unwinder.dli_fname, RTLD_NOLOAD | RTLD_LAZY)))
        *(void **)&get = dlsym(library, "_Unwind_GetGR");
    if (get)
        leave(get(context, MRL_FP));
    if (library)
        dlclose(library);
    return CONTINUE_UNWIND;
}

/* What glibc has written into a jmp_buf for the stack pointer; where another library keeps it is not known. */
static bool known;

static uintptr_t stack_of(const void *buffer)
{
    uintptr_t word = 0;
#ifdef __x86_64__
    word = ((const uintptr_t *)buffer)[6];
    __asm__("ror $0x11, %0\n\txor %%fs:0x30, %0" : "+r"(word) : : "cc");
#else
    (void)buffer;
#endif
    return word;
}

enum { FUNCTIONS = 4 };
static const char *const names[FUNCTIONS] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
typedef void jump(void *, int);
static jump *_Atomic next[FUNCTIONS];

static jump *find(int i)
{
    jump *found = atomic_load_explicit(&next[i], memory_order_relaxed);
    if (unlikely(!found)) {
        *(void **)&found = dlsym(RTLD_NEXT, names[i]);
        atomic_store_explicit(&next[i], found, memory_order_relaxed);
    }
    return found;
}

/* Found at once: a signal handler must not look for them. */
__attribute__((constructor)) static void begin(void)
{
    jmp_buf here;
    for (int i = 0; i < FUNCTIONS; i++)
        find(i);
    if (!_setjmp(here))
        known = stack_of(here) - mrl_stack() < 256;
}

#define JUMPS(i, name)                                                                                  \
    __attribute__((visibility("default"))) void mrl_jump_##i(void *, int) __asm__(name);                \
    void mrl_jump_##i(void *buffer, int value)                                                          \
    {                                                                                                   \
        if (known)                                                                                      \
            leave(stack_of(buffer));                                                                    \
        find(i)(buffer, value);                                                                         \
    }

JUMPS(0, "longjmp")
JUMPS(1, "_longjmp")
JUMPS(2, "siglongjmp")
JUMPS(3, "__longjmp_chk")
