/*
 * The limits that a process may have, each set after MPI_Init, and before it for some.
 *
 *     limits MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void set_limit(int what, rlim_t to)
{
    struct rlimit limit;
    getrlimit(what, &limit);
    limit.rlim_cur = to;
    expect(!setrlimit(what, &limit), "setrlimit");
}

static rlim_t addresses_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file && fscanf(file, "%lu", &pages) == 1, "statm");
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* As many bytes of addresses are left as $LEFT says, in MiB. */
static void address_space(void)
{
    MPI_Init(NULL, NULL);
    steps(1);
    set_limit(RLIMIT_AS, addresses_in_use() + ((rlim_t)atoi(getenv("LEFT")) << 20));
    steps(2 * MANY);
    MPI_Finalize();
}

/* The same before it: nothing that takes many addresses is opened before it is needed. */
static void address_space_before(void)
{
    set_limit(RLIMIT_AS, addresses_in_use() + ((rlim_t)atoi(getenv("LEFT")) << 20));
    MPI_Init(NULL, NULL);
    steps(2 * MANY);
    MPI_Finalize();
}

/* All is well until the program takes what is left. */
static void addresses_used_up(void)
{
    MPI_Init(NULL, NULL);
    steps(MANY);
    set_limit(RLIMIT_AS, addresses_in_use() + (64 << 20));
    for (size_t size = 64 << 20; size >= 4096; size /= 2)
        while (mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            ;
    steps(MANY);
    set_limit(RLIMIT_AS, addresses_in_use() + (8 << 20)); /* the MPI library needs a little to finalise */
    MPI_Finalize();
}

static void processes(void)
{
    MPI_Init(NULL, NULL);
    set_limit(RLIMIT_NPROC, 1);
    steps(2 * MANY);
    MPI_Finalize();
}

static void *work(void *unused)
{
    steps(MANY);
    return unused;
}

/* A limit smaller than anything that is there already: files can neither grow nor be made. */
static void file_size(void)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    set_limit(RLIMIT_FSIZE, 100);
    steps(2 * MANY);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    made -= MANY; /* nothing can be kept of a further thread, which is said */
    MPI_Finalize();
}

static void file_size_before(void)
{
    set_limit(RLIMIT_FSIZE, 8 << 20); /* MPI libraries need some megabytes */
    MPI_Init(NULL, NULL);
    steps(2 * MANY);
    MPI_Finalize();
}

/* As many descriptors are left as $LEFT says. */
static void open_files(void)
{
    MPI_Init(NULL, NULL);
    steps(1);
    int next = dup(0);
    close(next);
    set_limit(RLIMIT_NOFILE, (rlim_t)(next + atoi(getenv("LEFT"))));
    steps(2 * MANY);
    MPI_Finalize();
}

static void at_another_site(void)
{
    steps(1);
}

/* The disk that the records are on fills up, which is the present directory's. */
static void disk(void)
{
    int provided;
    pthread_t thread;
    static char filler[1 << 16];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    steps(1);
    FILE *file = fopen("filler", "a");
    setvbuf(file, NULL, _IONBF, 0);
    while (fwrite(filler, 1, sizeof filler, file) > 0 && !ferror(file))
        ;
    steps(2 * MANY);
    at_another_site();
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    made -= MANY; /* nothing can be kept of a further thread, which is said */
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    usleep(rank ? 200000 : 0); /* the others' record files take their space for as long as they live */
    fclose(file);
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"address-space", address_space}, {"address-space-before", address_space_before}, {"addresses-used-up", addresses_used_up}, {"processes", processes}, {"file-size", file_size}, {"file-size-before", file_size_before},
        {"open-files", open_files}, {"disk", disk}, {NULL, NULL},
    };
    return choose(modes, argc, argv);
}
