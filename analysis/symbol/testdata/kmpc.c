/* Enough of the OpenMP runtime that clang's code calls to run one thread, as
 * that runtime is often not installed. */
#include <stdarg.h>

void __kmpc_fork_call(void *loc, int argc, void (*body)(int *, int *, ...), ...)
{
	int zero = 0;
	(void)loc;
	(void)argc;
	body(&zero, &zero);
}

int __kmpc_global_thread_num(void *loc) { return (void)loc, 0; }
void __kmpc_push_num_threads(void *loc, int thread, int n) { (void)loc, (void)thread, (void)n; }
int __kmpc_master(void *loc, int thread) { return (void)loc, (void)thread, 1; }
void __kmpc_end_master(void *loc, int thread) { (void)loc, (void)thread; }
