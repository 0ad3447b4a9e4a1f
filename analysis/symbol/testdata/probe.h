/* The test programs tell the test what it should find.
 *
 * A PROBE in a function prints its own return address, as offset into the
 * module, and what the answer for that address should be: the names of the
 * functions, innermost first and separated by "|", the file, and the lines.
 * In a name "%" stands for any text.
 *
 * A PROBE must stand on one line, and its arguments as well. */
#ifndef PROBE_H
#define PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

void probe(const char *names, const char *file, int line0, int line1, int line2);

/* Does not return to its caller but to the last AFTER_NORETURN. */
void probe_noreturn(const char *names, const char *file, int line) __attribute__((noreturn));
extern void *probe_jump[5];

#ifdef __cplusplus
}
#endif

/* The empty statement keeps the call from becoming a jump. */
#define PROBE3(names, line1, line2) do { probe(names, __FILE__, __LINE__, line1, line2); __asm__ volatile(""); } while (0)
#define PROBE(names) PROBE3(names, 0, 0)

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

#endif
