/*
 * Other PMPI tools in the same process. One that comes after libmarple.so is called by our wrappers, as the
 * next definition of MPI_X. One that comes before it, in LD_PRELOAD or as part of the program, takes the
 * application's calls of MPI_X and passes them on to PMPI_X of the MPI library: that reference is then
 * redirected to our wrapper, which calls PMPI_X itself. Where the tool has no such reference (it may have
 * looked PMPI_X up itself), its calls are not seen, which is said once.
 */
#include "stacked.h"
#include "calls.h"
#include "ours.h"
#include "tau.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The object whose MPI_X the application calls, if it is not ours; NULL: there is none. */
static struct link_map *taken_by(const char *function)
{
    Dl_info theirs;
    struct link_map *map = NULL;
    void *found = dlsym(RTLD_DEFAULT, function);
    if (!found || mrl_is_ours(found) || !dladdr1(found, &theirs, (void **)&map, RTLD_DL_LINKMAP))
        return NULL;
    return map;
}

static void *our_wrapper(const char *function)
{
    Dl_info ours;
    void *library = dladdr(&mrl_pmpi, &ours) ? dlopen(ours.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    void *wrapper = library ? dlsym(library, function) : NULL;
    if (library)
        dlclose(library);
    return wrapper;
}

/* An object's references are read-only after they were bound, if it was linked with -z relro. */
struct range {
    uintptr_t address, low, high;
};

static int find_relro(struct dl_phdr_info *info, size_t size, void *data)
{
    struct range *r = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_RELRO && r->address >= low && r->address < low + p->p_memsz) {
            r->low = low;
            r->high = low + p->p_memsz;
            return 1;
        }
    }
    return 0;
}

static bool write_reference(void **reference, void *to)
{
    struct range relro = {.address = (uintptr_t)reference};
    bool protected = dl_iterate_phdr(find_relro, &relro);
    uintptr_t page = relro.address & -(uintptr_t)sysconf(_SC_PAGESIZE);
    size_t size = relro.address + sizeof *reference - page;
    if (protected && mprotect((void *)page, size, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n(reference, to, __ATOMIC_RELEASE);
    if (protected)
        mprotect((void *)page, size, PROT_READ);
    return true;
}

static const ElfW(Dyn) *dynamic(const struct link_map *map, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == tag)
            return d;
    return NULL;
}

/* Redirects the object's references to a function, in the table that these tags describe. */
static bool redirect_in(const struct link_map *map, ElfW(Sxword) at, ElfW(Sxword) bytes, const char *function, void *to)
{
    const ElfW(Dyn) *table = dynamic(map, at), *size = dynamic(map, bytes), *symbols = dynamic(map, DT_SYMTAB),
                    *strings = dynamic(map, DT_STRTAB);
    bool done = false;
    if (!table || !size || !symbols || !strings)
        return false;
    const ElfW(Rela) *r = (const void *)table->d_un.d_ptr, *end = (const void *)(table->d_un.d_ptr + size->d_un.d_val);
    for (; r < end; r++) {
        const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols->d_un.d_ptr + ELF64_R_SYM(r->r_info);
        if (ELF64_R_SYM(r->r_info) && !r->r_addend && !strcmp((const char *)strings->d_un.d_ptr + symbol->st_name, function))
            done |= write_reference((void **)(map->l_addr + r->r_offset), to);
    }
    return done;
}

bool mrl_redirect(const struct link_map *object, const char *function, void *to)
{
    bool calls = redirect_in(object, DT_JMPREL, DT_PLTRELSZ, function, to), data = redirect_in(object, DT_RELA, DT_RELASZ, function, to);
    return calls || data;
}

static bool redirect(enum mrl_function_id f, const struct link_map *tool)
{
    const char *name = mrl_function_facts[f].name;
    char pmpi[128] = "P";
    struct link_map *library = NULL;
    Dl_info info;
    void *wrapper = our_wrapper(name), *real;
    strncat(pmpi, name, sizeof pmpi - 2);
    if (!wrapper || !(real = mrl_find(pmpi)) || !dladdr1(real, &info, (void **)&library, RTLD_DL_LINKMAP) || library == tool)
        return false; /* the last: libmarple.so was linked, behind the MPI library */
    /* What comes next after us is now the MPI library itself: the tool would have gone there. */
    *(void **)&mrl_next_table[f] = real;
    if (mrl_redirect(tool, pmpi, wrapper))
        return true;
    mrl_next_table[f] = NULL;
    return false;
}

void mrl_stacked(void)
{
    static bool redirected[MRL_FUNCTIONS];
    const char *unseen = NULL, *by = NULL;
    int others = -1;
    if (mrl_tau_loads_us())
        return;
    for (int f = 0; f < MRL_FUNCTIONS; f++) {
        const struct link_map *tool = redirected[f] ? NULL : taken_by(mrl_function_facts[f].name);
        if (!tool || (redirected[f] = redirect((enum mrl_function_id)f, tool)))
            continue;
        others++;
        unseen = unseen ? unseen : mrl_function_facts[f].name;
        by = by ? by : *tool->l_name ? tool->l_name : "the program itself";
    }
    if (unseen)
        mrl_say("%s and %d other functions are taken by %s and not seen: put libmarple.so before it in LD_PRELOAD", unseen, others, by);
}

/* A tool that takes MPI_Init must be met before that. */
__attribute__((constructor)) static void meet(void)
{
    if (mrl_original() || mrl_tau_loads_us())
        return;
    if (!(taken_by("MPI_Init") || taken_by("MPI_Init_thread")) || !mrl_find("PMPI_Init"))
        return;
    mrl_settings_read();
    if (mrl.settings.enable)
        mrl_stacked();
}
