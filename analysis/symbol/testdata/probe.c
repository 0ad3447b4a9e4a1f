#define _GNU_SOURCE
#include "probe.h"
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void *probe_jump[5];

struct module {
	uintptr_t address;
	uintptr_t bias;
	const char *path;
};

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = arg;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + ph->p_vaddr;
		if (ph->p_type == PT_LOAD && lo <= m->address && m->address - lo <= ph->p_memsz) {
			m->bias = info->dlpi_addr;
			m->path = info->dlpi_name;
			return 1;
		}
	}
	return 0;
}

static void report(void *address, const char *names, const char *file, int line0, int line1, int line2)
{
	/* The byte before, as the address itself may be beyond the module's end. */
	struct module m = {(uintptr_t)address - 1, 0, ""};
	dl_iterate_phdr(find, &m);
	printf("PROBE\t%#lx\t%s\t%s\t%s\t%d\t%d\t%d\n", (unsigned long)(m.address + 1 - m.bias),
	       m.path, names, file, line0, line1, line2);
	fflush(stdout);
}

NOINLINE void probe(const char *names, const char *file, int line0, int line1, int line2)
{
	report(__builtin_return_address(0), names, file, line0, line1, line2);
}

NOINLINE void probe_noreturn(const char *names, const char *file, int line)
{
	report(__builtin_return_address(0), names, file, line, 0, 0);
	__builtin_longjmp(probe_jump, 1);
}

/* For Fortran: names and file end with a space or a zero. */
void probe_fortran(const char *names, const char *file, const int *line0, const int *line1)
{
	char n[200], f[200];
	snprintf(n, sizeof n, "%.*s", (int)strcspn(names, " "), names);
	snprintf(f, sizeof f, "%.*s", (int)strcspn(file, " "), file);
	report(__builtin_return_address(0), n, f, *line0, *line1, 0);
}
