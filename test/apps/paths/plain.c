/*
 * Calls from every kind of frame that C has. A line "path:" is a call path that must be found, with the
 * number of calls on each rank: functions from the outermost inwards, each with the label of the line that it
 * goes on at; labels stand at the ends of lines as comments. There must be no others but those of MPI_Finalize.
 *
 *     path: main@direct > MPI_Barrier x 1
 *     path: main@twice1 > leaf@leaf > MPI_Iprobe x 100
 *     path: main@twice2 > leaf@leaf > MPI_Iprobe x 100
 *     path: main@room > variable@variable > leaf@leaf > MPI_Iprobe x 20
 *     path: main@vla > array@array > leaf@leaf > MPI_Iprobe x 20
 *     path: main@aligned > aligned@aligned1 > leaf@leaf > MPI_Iprobe x 20
 *     path: main@both > aligned_variable@aligned2 > leaf@leaf > MPI_Iprobe x 20
 *     path: main@registers > registers@registers1 > leaf@leaf > MPI_Iprobe x 20
 *     path: main@large > large@large1 > leaf@leaf > MPI_Iprobe x 20
 *     path: main@pointer > through@through > left@left > MPI_Iprobe x 50
 *     path: main@pointer > through@through > right@right > MPI_Iprobe x 50
 *     path: main@recursion > again@once > leaf@leaf > MPI_Iprobe x 1
 *     path: main@recursion > again@again > again@once > leaf@leaf > MPI_Iprobe x 1
 *     path: main@recursion > again@again > again@again > again@once > leaf@leaf > MPI_Iprobe x 1
 *     path: main@mutual > odd@odd > even@back > odd@odd > even@even > leaf@leaf > MPI_Iprobe x 1
 *     path: main@same1 > one@one > common@common > MPI_Iprobe x 1000
 *     path: main@same2 > two@two > common@common > MPI_Iprobe x 1000
 *     path: main@dots > variadic@variadic > leaf@leaf > MPI_Iprobe x 20
 *     path: main@cleanup > with_cleanup@scope > late@late > MPI_Iprobe x 1
 *     path: main@base > either@either > high@high > by_base > leaf@leaf > MPI_Iprobe x 64
 *     path: main@base > either@either > low@low > by_base > leaf@leaf > MPI_Iprobe x 64
 *     path: main@frame > either@either > high@high > by_frame > leaf@leaf > MPI_Iprobe x 64
 *     path: main@frame > either@either > low@low > by_frame > leaf@leaf > MPI_Iprobe x 64
 *     path: main@jump > jumper@jumper > leaf@leaf > MPI_Iprobe x 20
 */
#include <alloca.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define FUNCTION static __attribute__((noipa)) void

/* Keeps a call from becoming a jump, and values from being optimised away. */
#define STAY __asm__ volatile("" : : : "memory")
#define TOUCH(p) __asm__ volatile("" : : "r"(p) : "memory")

#define PROBE MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE)

FUNCTION leaf(void)
{
    int flag;
    PROBE; /* @leaf */
    STAY;
}

FUNCTION variable(int i)
{
    char *room = alloca((size_t)(i % 7 * 40 + 1));
    TOUCH(room);
    leaf(); /* @variable */
    TOUCH(room);
}

FUNCTION array(int i)
{
    double list[i % 5 + 1];
    memset(list, 0, sizeof list);
    TOUCH(list);
    leaf(); /* @array */
    TOUCH(list);
}

FUNCTION aligned(void)
{
    __attribute__((aligned(64))) char block[64];
    memset(block, 0, sizeof block);
    TOUCH(block);
    leaf(); /* @aligned1 */
    TOUCH(block);
}

FUNCTION aligned_variable(int i)
{
    __attribute__((aligned(128))) char block[128];
    char *room = alloca((size_t)(i * 24 + 1));
    memset(block, 0, sizeof block);
    TOUCH(block);
    TOUCH(room);
    leaf(); /* @aligned2 */
    TOUCH(block);
}

FUNCTION registers(int i)
{
    int64_t a = i * 3, b = i * 5, c = i * 7, d = i * 11, e = i * 13, f = i * 17;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    leaf(); /* @registers1 */
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
}

FUNCTION large(void)
{
    char block[70000];
    memset(block, 1, sizeof block);
    TOUCH(block);
    leaf(); /* @large1 */
    TOUCH(block);
}

FUNCTION left(void)
{
    int flag;
    PROBE; /* @left */
    STAY;
}

FUNCTION right(void)
{
    int flag;
    PROBE; /* @right */
    STAY;
}

FUNCTION through(void (*function)(void))
{
    function(); /* @through */
    STAY;
}

FUNCTION again(int depth)
{
    if (depth > 0)
        again(depth - 1); /* @again */
    else
        leaf(); /* @once */
    STAY;
}

FUNCTION even(int depth);
FUNCTION odd(int depth)
{
    even(depth - 1); /* @odd */
    STAY;
}

FUNCTION even(int depth)
{
    if (depth > 0)
        odd(depth - 1); /* @back */
    else
        leaf(); /* @even */
    STAY;
}

/* Alike but for their callers: the same place, stack pointer and frame pointer. */
FUNCTION common(void)
{
    int flag;
    PROBE; /* @common */
    STAY;
}

FUNCTION one(void)
{
    common(); /* @one */
    STAY;
}

FUNCTION two(void)
{
    common(); /* @two */
    STAY;
}

FUNCTION variadic(int n, ...)
{
    va_list list;
    va_start(list, n);
    double x = va_arg(list, double);
    va_end(list);
    TOUCH(&x);
    leaf(); /* @variadic */
    STAY;
}

FUNCTION late(int *unused)
{
    int flag;
    TOUCH(unused);
    PROBE; /* @late */
    STAY;
}

FUNCTION with_cleanup(void)
{
    __attribute__((cleanup(late))) int value = 0; /* @scope */
    TOUCH(&value);
    STAY;
}

/*
 * Call a function from a frame whose upper end is counted from a register, as compilers do for aligned stacks:
 * with one and the same stack pointer it may lie here or there.
 */
void by_base(void (*function)(void));
void by_frame(void (*function)(void));
#if defined(__x86_64__)
#define COUNTED_FROM(name, reg, number)                                                            \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n"       \
            "push %" reg "\n.cfi_def_cfa_offset 16\n.cfi_offset " number ", -16\n"                 \
            "mov %rsp, %" reg "\n.cfi_def_cfa_register " number "\n"                               \
            "and $-512, %rsp\ncall *%rdi\n"                                                       \
            "mov %" reg ", %rsp\n.cfi_def_cfa_register 7\npop %" reg "\n.cfi_def_cfa_offset 8\nret\n" \
            ".cfi_endproc\n.size " name ", . - " name "\n");
COUNTED_FROM("by_base", "rbx", "3")
COUNTED_FROM("by_frame", "rbp", "6")
#else
__attribute__((noipa)) void by_base(void (*function)(void))
{
    function();
    STAY;
}
__attribute__((noipa)) void by_frame(void (*function)(void))
{
    function();
    STAY;
}
#endif

/* Leaves what an earlier call has put there where nothing is, so that it looks as if it were still going on. */
FUNCTION high(void (*by)(void (*)(void)))
{
    char *room = alloca(16);
    TOUCH(room);
    by(leaf); /* @high */
    TOUCH(room);
}

FUNCTION low(void (*by)(void (*)(void)))
{
    char *room = alloca(112);
    TOUCH(room);
    by(leaf); /* @low */
    TOUCH(room);
}

FUNCTION either(int i, void (*function)(void (*)(void (*)(void))), void (*by)(void (*)(void)))
{
    char *room = alloca((size_t)(i / 4 * 16 + 1));
    TOUCH(room);
    function(by); /* @either */
    TOUCH(room);
}

static jmp_buf out;

FUNCTION jumper(void)
{
    leaf(); /* @jumper */
    longjmp(out, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD); /* @direct */
    for (int i = 0; i < 100; i++) {
        leaf(); /* @twice1 */
        leaf(); /* @twice2 */
    }
    for (int i = 0; i < 20; i++) {
        variable(i); /* @room */
        array(i); /* @vla */
        aligned(); /* @aligned */
        aligned_variable(i); /* @both */
        registers(i); /* @registers */
        large(); /* @large */
        variadic(1, 2.0); /* @dots */
    }
    for (int i = 0; i < 100; i++)
        through(i % 2 ? left : right); /* @pointer */
    for (int i = 0; i < 3; i++)
        again(i); /* @recursion */
    odd(3); /* @mutual */
    for (int i = 0; i < 1000; i++) {
        one(); /* @same1 */
        two(); /* @same2 */
    }
    for (int i = 0; i < 128; i++) {
        either(i, i % 2 ? low : high, by_base); /* @base */
        either(i, i % 2 ? low : high, by_frame); /* @frame */
    }
    with_cleanup(); /* @cleanup */
    for (volatile int i = 0; i < 20; i++)
        if (setjmp(out) == 0)
            jumper(); /* @jump */
    MPI_Finalize();
    return 0;
}
