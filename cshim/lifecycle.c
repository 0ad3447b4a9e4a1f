/*
 * Beginning and end of a measurement, and phases. The MPI side (pmpi/lifecycle.c) calls mrl_begin when
 * MPI_Init has returned, and mrl_end inside MPI_Finalize.
 */
#include "core.h"
#include "counter.h"
#include "include/marple.h"
#include "ours.h"
#include "sample.h"
#include "shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct mrl_process mrl;

#define LONG_NS 50000u /* cpu.c: reading the CPU clock then costs half a percent at most */

/* FNV-1a, begun with MRL_HASH. */
uint64_t mrl_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static void read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    out[0] = 0;
    if (!file)
        return;
    if (fgets(out, (int)size, file))
        out[strcspn(out, "\n")] = 0;
    fclose(file);
}

/* What Python runs, by its command line (see its manual, "Command line and environment"); NULL: no file and no module. */
static const char *python_runs(const char *at, const char *end)
{
    for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
        if (*at != '-')
            return *at ? at : NULL;
        if (at[1] == 0) /* what comes from standard input has no name */
            return NULL;
        if (at[1] == '-')
            continue;
        const char *option = at + strcspn(at, "cmWX"); /* these take what follows, or the next word */
        if (*option == 'c')
            return NULL;
        if (*option && !option[1])
            at += strlen(at) + 1;
        if (*option == 'm')
            return at >= end ? NULL : option[1] ? option + 1 : *at ? at : NULL;
    }
    return NULL;
}

/* The name of the file that the process runs; if that is Python, of the script or module that it runs. */
void mrl_program_name(char *out, size_t size)
{
    char path[4096], line[4097];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : "program";
    if (strncmp(name, "python", strlen("python")) == 0) {
        int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
        if (fd >= 0)
            close(fd);
        line[n > 0 ? n : 0] = 0;
        const char *script = n > 0 ? python_runs(line, line + n) : NULL;
        if (script) {
            snprintf(path, sizeof path, "%s", script);
            for (size_t end = strlen(path); end > 1 && path[end - 1] == '/';) /* a directory or an archive with a __main__.py */
                path[--end] = 0;
            slash = strrchr(path, '/');
            name = slash && slash[1] ? slash + 1 : slash ? name : path;
        }
    }
    snprintf(out, size, "%s", name);
}

/* Host names repeat across clusters and containers; the boot id does not. */
static void identify(struct mrl_header *h)
{
    char boot[64];
    gethostname(h->host_name, sizeof h->host_name - 1);
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    h->host = mrl_hash(mrl_hash(MRL_HASH, h->host_name), boot);
    struct stat space;
    if (!stat("/proc/self/ns/pid", &space))
        h->pid_space = space.st_ino;
    mrl_program_name(h->program, sizeof h->program);
    snprintf(h->params, sizeof h->params, "%s", mrl.settings.params);
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
        memcpy(h->cpus, &cpus, sizeof h->cpus < sizeof cpus ? sizeof h->cpus : sizeof cpus);
}

/* A file installed with this library, by its path from there. */
bool mrl_beside(const char *relative, char *path, size_t size)
{
    Dl_info info;
    if (!dladdr(&mrl, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    return snprintf(path, size, "%.*s%s", length, info.dli_fname, relative) < (int)size;
}

/* The library that this one is a copy of, if that is in the process already; else NULL. */
void *mrl_original(void)
{
    Dl_info first;
    void *hooks = dlsym(RTLD_DEFAULT, MARPLE_HOOKS);
    if (!hooks || mrl_is_ours(hooks) || !dladdr(hooks, &first))
        return NULL;
    return dlopen(first.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

/* The child shares the mapping, and must not write to it: not even when it calls MPI_Pcontrol. */
static void after_fork_in_child(void)
{
    mrl_switch(false);
    mrl.stopped = true;
    mrl_samples_forked();
    mrl_self = NULL;
}

/* The store exists from here on; recording begins with mrl_record. False: no memory. */
bool mrl_begin(const char *directory, int rank, int ranks)
{
    mrl.pid = getpid();
    if (!mrl_store_open(directory, rank))
        return false;
    struct mrl_header *h = mrl.header;
    h->ranks = ranks;
    h->clock_kind = mrl.tsc ? MRL_CLOCK_TSC : mrl.external ? MRL_CLOCK_EXTERNAL : MRL_CLOCK_MONOTONIC;
    identify(h);
    if (!mrl_threads_begin())
        return false;
    mrl_files_begin();
    uintptr_t low, high;
    mrl_stack_bounds(&low, &high); /* the main thread's, while files may be opened */
    mrl_core_begin();
    pthread_atfork(NULL, NULL, after_fork_in_child);
    return true;
}

/* Time counts from now, in this thread. `before` is an instant some milliseconds ago. */
void mrl_record(struct mrl_instant before)
{
    struct mrl_header *h = mrl.header;
    h->first = h->last = mrl_instant_now();
    h->ticks_per_second = mrl_ticks_per_second(before, h->first);
    mrl.long_ticks = mrl.external ? UINT64_MAX : mrl_ns_to_ticks(LONG_NS);
    mrl_counters_choose();
    mrl.started = true;
    mrl_answered();
    struct mrl_thread *t = mrl_attach();
    if (!t)
        return;
    t->main_thread = 1;
    mrl_cpu_others_begin();
    mrl_traffic_begin();
    if (mrl_core_begin()) { /* with what it needs of this thread, before the first hand-over */
        mrl_drain();
        t->begin_tick = t->last_tick = t->last_end = mrl_now();
    }
    h->begin_tick = t->begin_tick;
    mrl_samples_begin(t);
    mrl_switch(true);
}

/* Of what the process ran before an exec too, and of what it was started from by vfork: the launcher, `marple exec`. No file is
 * opened: the program may have locked itself in. */
static uint64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10;
}

/* Nothing is recorded any more: `end` is the tick at which all ranks had arrived. */
void mrl_stop_recording(uint64_t end)
{
    mrl_samples_finish(mrl_self);
    mrl_switch(false);
    mrl.stopped = true;
    mrl.header->last = mrl_instant_now();
    mrl.header->end_tick = end;
    mrl.header->others_cpu_ns = mrl_cpu_others();
    mrl.header->peak_memory = peak_memory();
    mrl_traffic_end();
    mrl.header->state = MRL_FINALIZED;
}

static struct mrl_finish finish;

/* Hands everything to the core, which merges over ranks. */
enum mrl_gathered mrl_gather(const struct mrl_transport *transport)
{
    mrl_drain();
    uint32_t threads = atomic_load(&mrl.header->threads);
    int launched = 0;
    const char *job = mrl_job_id(), *account = mrl_account(), *launcher = mrl_launcher(&launched);
    finish = (struct mrl_finish){
        .base = mrl.base,
        .size = mrl.size,
        .threads = (void **)mrl.threads,
        .thread_count = threads < MRL_THREADS_MAX ? threads : MRL_THREADS_MAX,
        .directory = mrl.run_place,
        .families = mrl.settings.families,
        .machine = mrl.settings.machine,
        .knowledge = mrl.settings.knowledge,
        .transport = transport,
        .print = mrl_print,
        .say = mrl_say,
        .launcher = launcher,
        .launched = launched,
        .spool = mrl.settings.site ? mrl.settings.spool : "",
        .job = job ? job : "",
        .account = account ? account : "",
        .full = mrl.settings.full,
        .unkept = mrl.file_error != 0,
        .keep_raw = mrl.settings.keep_raw,
        .replay = mrl.settings.replay,
    };
    int result = mrl_core_gather(&finish);
    return result == MRL_CORE_REPLAY ? MRL_GATHERED_REPLAY : result == MRL_CORE_DONE ? MRL_GATHERED : MRL_NOT_GATHERED;
}

/* All ranks look for wait states together; without them the report says so. */
void mrl_replay(const struct mrl_transport *transport)
{
    finish.transport = transport;
    mrl_core_replay(&finish);
}

/* Rank 0 keeps what was gathered: the ranks' own files have done their work. */
void mrl_gathered(void)
{
    if (mrl.settings.keep_raw)
        return;
    mrl_store_remove();
    if (mrl.apart) /* where rank 0 cannot tidy up, the last rank to come here does */
        mrl_raw_finish();
}

/* Rank 0 reports and stores what was gathered. */
void mrl_conclude(void)
{
    if (mrl_core_conclude(&finish))
        return;
    const char *why = mrl_core_why();
    if (mrl.in_file)
        mrl_say("the report is not complete%s%s; finish it with: marple recover %s", *why ? ": " : "", why, mrl.directory);
    else
        mrl_say("there is no report: %s", *why ? why : "the core failed");
}
