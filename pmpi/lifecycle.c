/*
 * Beginning and end: MPI_Init, MPI_Finalize, MPI_Abort, MPI_Pcontrol. Before MPI_Init the library is
 * inert, and a process that never gets there never notices it.
 */
#include "calls.h"
#include "fortran.h"
#include "lifecycle.h"
#include "stacked.h"
#include "transport.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seconds: ranks leave MPI_Init together, but for crowded cores. A job that the site measures is not to wait. */
#define ALL_HAVE_BEGUN (mrl.settings.site ? 1 : 10)

static char library[256];

/* Before the library's own initialisation. False: not to be measured. */
static bool prepare(void)
{
    static bool prepared, wanted;
    if (prepared)
        return wanted;
    prepared = true;
    if (!mrl.layers)
        mrl.layers = mrl_abi_layers;
    mrl.over = mrl_call_over;
    mrl_settings_read();
    if (!mrl.settings.enable) {
        mrl_answered();
        return false;
    }
    const char *missing;
    if (!mrl_abi_recognise(library, sizeof library))
        mrl_say("this MPI library is not one Marple knows, so nothing is measured: %s", library);
    else if ((missing = mrl_pmpi_resolve()))
        mrl_say("this MPI library lacks %s, so nothing is measured: %s", missing, library);
    else
        wanted = true;
    if (wanted) {
        mrl_clock_choose();
        mrl_stacked();
        mrl_fatal_begin();
    }
    return wanted;
}

/* What the records' readers want to know of the MPI library. */
void mrl_describe(uint64_t init_ticks, int provided)
{
    struct mrl_header *h = mrl.header;
    h->init_ticks = init_ticks;
    snprintf(h->library, sizeof h->library, "%.*s", (int)sizeof h->library - 1, library);
    snprintf(h->mpi_name, sizeof h->mpi_name, "%s", mrl_abi.name);
    for (uint32_t i = 0; i < 4; i++)
        if (provided == mrl_abi.threads[i])
            h->thread_level = i;
    mrl_function_named(MRL_FN_MPI_Abort); /* which a signal's handler may call */
}

/* Hosts may have Marples of their own, and what one rank writes others read. */
enum versions { UNKNOWN, DIFFERENT, SAME };
static enum versions versions(void)
{
    int32_t newest = (int32_t)(MRL_VERSION << 16 | MRL_CORE_VERSION), oldest = INT32_MAX - newest; /* none is negative */
    if (!mrl_transport_most(&newest) || !mrl_transport_most(&oldest))
        return UNKNOWN;
    return newest == INT32_MAX - oldest ? SAME : DIFFERENT;
}

/* One rank that takes too long, for a directory perhaps, keeps all from being measured. */
static void fall_out(int rank)
{
    mrl_say_here("not all ranks were ready in time; rank %d is not measured; MARPLE_DEADLINE gives them longer", rank);
    mrl_store_remove();
    mrl_raw_finish();
    if (mrl.home.made) /* and if nothing is in it */
        rmdir(mrl.home.path);
}

/* All ranks have left MPI_Init: agree on a directory and begin. */
static void begin(struct mrl_instant before, uint64_t init_ticks)
{
    int rank = 0, ranks = 1, provided = 0;
    mrl_pmpi.Comm_rank(mrl_abi.comm_world, &rank);
    mrl_pmpi.Comm_size(mrl_abi.comm_world, &ranks);
    mrl_pmpi.Query_thread(&provided);
    mrl.concurrent = provided == mrl_abi.threads[3];

    struct mrl_home *home = &mrl.home;
    char directory[MRL_DIRECTORY];
    if (!mrl_transport_open(rank, ranks, ALL_HAVE_BEGUN)) {
        mrl_say_here("not all ranks run under Marple; rank %d is not measured", rank);
        return;
    }
    mrl_transport_patience(mrl.settings.site ? 10 : mrl.settings.deadline); /* all run under Marple, and may be slow */
    switch (versions()) {
    case UNKNOWN:
        fall_out(rank);
        return;
    case DIFFERENT:
        mrl_say("the ranks have different versions of Marple, so nothing is measured: install one on all hosts");
        return;
    case SAME:
        break;
    }
    if (rank == 0) {
        home->made = mrl_choose_directory(home->path, sizeof home->path);
        mrl_enter_directory(home->path);
        mrl_home_mark(home);
    }
    if (!mrl_transport_broadcast(home, sizeof *home)) {
        fall_out(rank);
        return;
    }
    enum { NO_MEMORY = INT32_MAX };
    int32_t unseen = mrl_home_find(home, rank, directory);
    int32_t trouble = mrl_requests_begin() && mrl_begin(directory, rank, ranks) ? mrl.file_error : NO_MEMORY;
    if (!trouble)
        trouble = unseen;
    if (!mrl_transport_most(&trouble)) {
        fall_out(rank);
        return;
    }
    if (trouble == NO_MEMORY) {
        mrl_say("there is no memory for records, so nothing is measured");
        mrl_store_remove();
        if (mrl.apart)
            mrl_raw_finish();
        return;
    }
    if (trouble)
        mrl_say("cannot write to %s: %s; records are kept in memory only", home->path, strerror(trouble));
    mrl.file_error = trouble;
    mrl.header->run = home->run;
    mrl_describe(init_ticks, provided);
    mrl_fortran_begin();
    mrl_comms_begin();
    mrl_clocks_compare(&mrl.header->first_offset);
    if (!mrl_transport_meet()) {
        fall_out(rank);
        return;
    }
    mrl_record(before);
}

/* Around every form of MPI_Init. */
struct mrl_init mrl_before_init(struct mrl_caller caller)
{
    struct mrl_init i = {.wanted = prepare(), .caller = caller};
    if (i.wanted) {
        i.before = mrl_instant_now();
        i.start = mrl_now();
    }
    return i;
}

/* The time up to the first event began in the function that called MPI_Init. */
void mrl_begun_in(struct mrl_caller caller)
{
    struct mrl_thread *t = mrl_self;
    if (!t || !mrl.on)
        return;
    uint32_t where = mrl_node_at(mrl_path(t, MRL_FN_MPI_Init, caller))->parent;
    t->last_from = where == MRL_ROOT_NODE ? where : where | MRL_EDGE_ENTER;
    mrl.header->begun_in = t->last_from;
}

static void after_init(struct mrl_init i, int rc)
{
    if (!i.wanted || rc || mrl.started)
        return;
    begin(i.before, mrl_now() - i.start);
    mrl_begun_in(i.caller);
}

MRL_EXPORT int MPI_Init(int *argc, char ***argv)
{
    struct mrl_init i = mrl_before_init(MRL_CALLER);
    int rc = ((int (*)(int *, char ***))mrl_next(MRL_FN_MPI_Init))(argc, argv);
    after_init(i, rc);
    return rc;
}

MRL_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    struct mrl_init i = mrl_before_init(MRL_CALLER);
    int rc = ((int (*)(int *, char ***, int, int *))mrl_next(MRL_FN_MPI_Init_thread))(argc, argv, required, provided);
    after_init(i, rc);
    return rc;
}

/*
 * Why the ranks could not merge, so that whichever sees to the report can say it. False: they do not hear each other any more,
 * and it is what this one knows.
 */
static bool explain(bool together, char why[MRL_WHY])
{
    memset(why, 0, MRL_WHY); /* all of it is sent */
    snprintf(why, MRL_WHY, "%s", mrl_core_why());
    if (!together) /* somebody is gone, as the report says */
        return false;
    if (mrl_transport_first(why, MRL_WHY))
        return true;
    int silent = mrl_transport_silent();
    if (!*why && silent >= 0)
        snprintf(why, MRL_WHY, "rank %d has not answered rank %d for %d s", silent, mrl.header->rank, (int)mrl.settings.deadline);
    return false;
}

/*
 * The wait for the last rank is MPI_Finalize's, and ends the measured time. Then ranks merge; what is left
 * for rank 0 is done when MPI is finalised, so that the others need not wait for it.
 */
static bool end(struct mrl_caller caller, uint64_t start)
{
    mrl_resume();
    struct mrl_thread *t = mrl_enter(); /* none for a thread that found no room */
    struct mrl_call c = {.peer = MRL_NO_PEER};
    if (t) {
        mrl_close_regions(t);
        c.start = start ? start : mrl_start(t);
        mrl_calling(t, MRL_FN_MPI_Finalize, caller, c.start, MRL_NO_PEER, mrl_abi.comm_world);
        c.comm = mrl_comm(t, mrl_abi.comm_world);
    }
    mrl_transport_patience(0);
    bool together = mrl_transport_meet();
    if (t) {
        c.end = mrl_stop(t, c.start);
        c.path = mrl_path(t, MRL_FN_MPI_Finalize, caller);
        mrl_commit(t, mrl_write(t, MRL_OP_FINALIZE, &c));
    }
    mrl_stop_recording(t ? c.end : mrl_now());

    mrl_transport_patience(mrl.settings.deadline);
    if (together)
        mrl_clocks_compare(&mrl.header->last_offset);
    bool core = mrl_core_ready_to_merge();
    const struct mrl_transport *transport = together ? mrl_transport() : NULL;
    struct mrl_teller teller = {.host = mrl.header->host, .pid_space = mrl.header->pid_space, .pid = mrl.pid};
    teller.gathered = transport && core ? mrl_gather(transport) : MRL_NOT_GATHERED;
    if (transport && !teller.gathered)
        mrl_transport_relay();
    /* What counts is whether rank 0 has it all. */
    if (!together || !mrl_transport_broadcast(&teller, sizeof teller))
        teller.gathered = MRL_NOT_GATHERED;
    if (teller.gathered == MRL_GATHERED_REPLAY)
        mrl_replay(mrl_transport());
    char why[MRL_WHY];
    if (teller.gathered) {
        bool in_memory = mrl.file_error || !*mrl.directory; /* where the report is of the ranks that have a core */
        if (in_memory && explain(true, why) && *why)
            mrl_say("%s; the report is without its records", why);
        mrl_concluding(&teller);
        mrl_gathered();
    } else {
        bool shared = explain(together, why);
        mrl_settle("3s", why, shared); /* others notice a second later; and now, because MPI may wait for the missing without end */
    }
    mrl_transport_close();
    return teller.gathered;
}

/* Around every form of MPI_Finalize. True: this process has gathered what rank 0 is to report. */
static bool before_finalize(struct mrl_caller caller)
{
    return mrl.started && !mrl.stopped && !mrl_alone && (mrl.confined || getpid() == mrl.pid) && end(caller, 0);
}

static void after_finalize(bool gathered)
{
    if (gathered && mrl_reports())
        mrl_conclude();
}

void mrl_begin_late(struct mrl_caller caller, bool frames)
{
    if (!prepare())
        return;
    if (!frames)
        mrl.settings.callpath = 0;
    struct mrl_instant before = mrl_instant_now();
    while (mrl.tsc && mrl_raw_ns() - before.raw_ns < MRL_CALIBRATION_NS)
        ;
    begin(before, 0);
    mrl_begun_in(caller);
}

void mrl_end_early(struct mrl_caller caller, uint64_t start)
{
    after_finalize(end(caller, start));
}

MRL_EXPORT int MPI_Finalize(void)
{
    bool gathered = before_finalize(MRL_CALLER);
    int rc = ((int (*)(void))mrl_next(MRL_FN_MPI_Finalize))();
    after_finalize(gathered);
    return rc;
}

/* A thread without records is not given any now: this may be a signal's handler. */
static void aborts(struct mrl_caller caller, int code)
{
    struct mrl_thread *t = mrl_self ? mrl_enter() : NULL;
    if (t)
        mrl_calling(t, MRL_FN_MPI_Abort, caller, mrl_now(), MRL_NO_PEER, 0);
    mrl_aborts(code);
}

MRL_EXPORT int MPI_Abort(mrl_word comm, mrl_word code)
{
    aborts(MRL_CALLER, (int)code);
    return ((int (*)(mrl_word, mrl_word))mrl_next(MRL_FN_MPI_Abort))(comm, code);
}

/* It is passed on because other tools listen, too; what comes behind the level is between them and the program. */
static _Thread_local bool told_level; /* by the function of Fortran, which may call that of C */

__attribute__((used)) mrl_function *pass_level(int level)
{
    if (!told_level)
        mrl_phase(level);
    return mrl_next(MRL_FN_MPI_Pcontrol);
}

#if defined(__x86_64__)
__asm__(".pushsection .text\n.globl MPI_Pcontrol\n.type MPI_Pcontrol, @function\nMPI_Pcontrol:\n" MRL_GO_ON("call pass_level\n")
        ".size MPI_Pcontrol, . - MPI_Pcontrol\n.popsection");
#else
MRL_EXPORT int MPI_Pcontrol(const int level, ...)
{
    return ((int (*)(int, ...))pass_level(level))(level);
}
#endif

/*
 * The same in Fortran. What a library's Fortran MPI_Init does is either its C MPI_Init, which is ours and
 * begins, or not, and then it is begun here.
 */
static int result(const int *ierror)
{
    return ierror ? *ierror : 0;
}

static void fortran_init(enum mrl_binding binding, struct mrl_caller caller, int *ierror)
{
    struct mrl_init i = mrl_before_init(caller);
    ((void (*)(int *))mrl_fortran_next(MRL_FN_MPI_Init, binding))(ierror);
    after_init(i, result(ierror));
}

static void fortran_init_thread(enum mrl_binding binding, struct mrl_caller caller, int *required, int *provided, int *ierror)
{
    struct mrl_init i = mrl_before_init(caller);
    ((void (*)(int *, int *, int *))mrl_fortran_next(MRL_FN_MPI_Init_thread, binding))(required, provided, ierror);
    after_init(i, result(ierror));
}

static void fortran_finalize(enum mrl_binding binding, struct mrl_caller caller, int *ierror)
{
    bool gathered = before_finalize(caller);
    ((void (*)(int *))mrl_fortran_next(MRL_FN_MPI_Finalize, binding))(ierror);
    after_finalize(gathered);
}

static void fortran_abort(enum mrl_binding binding, struct mrl_caller caller, int *comm, int *code, int *ierror)
{
    aborts(caller, *code);
    ((void (*)(int *, int *, int *))mrl_fortran_next(MRL_FN_MPI_Abort, binding))(comm, code, ierror);
}

static void fortran_pcontrol(enum mrl_binding binding, int *level)
{
    mrl_phase(*level);
    told_level = true;
    ((void (*)(int *))mrl_fortran_next(MRL_FN_MPI_Pcontrol, binding))(level);
    told_level = false;
}

/* Fortran's texts are padded with blanks, and their length comes last. */
static void fortran_set_name(enum mrl_binding binding, int *comm, char *name, int *ierror, size_t length)
{
    size_t end = length;
    while (end > 0 && name[end - 1] == ' ')
        end--;
    mrl_comm_named(mrl_fortran_Comm((mrl_word)(uintptr_t)comm), name, end);
    ((void (*)(int *, char *, int *, size_t))mrl_fortran_next(MRL_FN_MPI_Comm_set_name, binding))(comm, name, ierror, length);
}

MRL_IN_FORTRAN(init, INIT, (int *ierror), fortran_init(MRL_F77, MRL_CALLER, ierror), fortran_init(MRL_F08, MRL_CALLER, ierror))
MRL_IN_FORTRAN(init_thread, INIT_THREAD, (int *required, int *provided, int *ierror),
           fortran_init_thread(MRL_F77, MRL_CALLER, required, provided, ierror),
           fortran_init_thread(MRL_F08, MRL_CALLER, required, provided, ierror))
MRL_IN_FORTRAN(finalize, FINALIZE, (int *ierror), fortran_finalize(MRL_F77, MRL_CALLER, ierror), fortran_finalize(MRL_F08, MRL_CALLER, ierror))
MRL_IN_FORTRAN(abort, ABORT, (int *comm, int *code, int *ierror), fortran_abort(MRL_F77, MRL_CALLER, comm, code, ierror),
           fortran_abort(MRL_F08, MRL_CALLER, comm, code, ierror))
MRL_IN_FORTRAN(pcontrol, PCONTROL, (int *level), fortran_pcontrol(MRL_F77, level), fortran_pcontrol(MRL_F08, level))
MRL_IN_FORTRAN(comm_set_name, COMM_SET_NAME, (int *comm, char *name, int *ierror, size_t length),
           fortran_set_name(MRL_F77, comm, name, ierror, length), fortran_set_name(MRL_F08, comm, name, ierror, length))
