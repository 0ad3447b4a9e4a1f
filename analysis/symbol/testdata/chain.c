/* C: plain functions, functions inlined into each other, copies and parts of
 * functions that the optimizer makes, and calls that do not return. */
#include "probe.h"
#include "chain.h"
#include <stdio.h>

volatile int zero;

static INLINE void innermost(int line1, int line2)
{
	PROBE3("innermost|middle|outer", line1, line2);
}

static INLINE void middle(int line2)
{
	innermost(__LINE__, line2);
}

NOINLINE void outer(void)
{
	PROBE("outer");
	middle(__LINE__);
	PROBE("outer");
}

/* Two copies in one function, told apart by the line of the call. */
static INLINE void twice(int line1)
{
	PROBE3("twice|calls_twice", line1, 0);
}

NOINLINE void calls_twice(void)
{
	twice(__LINE__);
	twice(__LINE__);
}

/* Inlined from another file. */
NOINLINE void calls_header(void)
{
	in_header(__LINE__);
}

/* gcc makes a copy for the constant argument. */
NOINLINE static int copied(int n, int unused)
{
	PROBE("copied");
	return n + zero;
}

NOINLINE int recursive(int n)
{
	PROBE("recursive");
	if (n <= 0)
		return zero;
	int r = recursive(n - 1);
	PROBE("recursive");
	return r + 1;
}

/* gcc puts what it takes to be rare into a function of its own. */
NOINLINE __attribute__((cold)) void rare(void)
{
	PROBE("rare");
}

NOINLINE int mostly(int n)
{
	if (__builtin_expect(n != 42, 0)) {
		rare();
		PROBE("mostly");
		return n * 3;
	}
	return n + 1;
}

/* The call is the last instruction of the function. */
NOINLINE void never_returns(void)
{
	probe_noreturn("never_returns", __FILE__, __LINE__);
}

NOINLINE void after_never_returns(void)
{
	if (__builtin_setjmp(probe_jump) == 0)
		never_returns();
}

/* More rows and more functions than there is any need for. */
#define FILLER(n) NOINLINE int filler##n(int x) { \
	for (int i = 0; i < x; i++) { x ^= i * n; if (x & 1) x += zero; } \
	return x; }
FILLER(1) FILLER(2) FILLER(3) FILLER(4)

void run(void)
{
	outer();
	calls_twice();
	calls_header();
	printf("%d\n", copied(1, 2) + copied(3, 2));
	printf("%d\n", recursive(2));
	printf("%d\n", mostly(zero) + filler1(3) + filler2(3) + filler3(3) + filler4(3));
	after_never_returns();
	PROBE("run");
}
