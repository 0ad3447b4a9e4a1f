/*
 * MPI sessions (MPI-4.0 section 11.3). A program that uses them instead of MPI_Init has no MPI_COMM_WORLD, and
 * its processes need never all be in one call: there is nothing on which ranks could agree or merge. So each
 * process measures by itself, from its first session to its last; its rank is the one in "mpi://WORLD". The
 * report is made of the record files, as for a run that was aborted.
 */
#include "fortran.h"
#include "lifecycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic int sessions; /* open */

/* The same in all processes of the job, if possible; else at least on one node. */
static void job_name(char *out, size_t size)
{
    static const char *const variables[] = {"PMIX_NAMESPACE", "PMI_JOBID"};
    const char *job = mrl_job_id();
    for (size_t i = 0; !job && i < sizeof variables / sizeof *variables; i++)
        job = getenv(variables[i]);
    if (job)
        snprintf(out, size, "%.64s", job);
    else
        snprintf(out, size, "%d", (int)getppid());
}

/* The first directory in which this rank has left nothing before: all come to the same one. */
static void choose_directory(char *out, size_t size, int rank)
{
    char job[80], wanted[MRL_DIRECTORY + 8];
    job_name(job, sizeof job);
    size_t length = mrl_directory_name(wanted, MRL_DIRECTORY, job);
    for (int i = 2; i < 1000 && length + 5 < size; i++) {
        if (mrl_share_directory(wanted, rank)) {
            snprintf(out, size, "%s", wanted);
            return;
        }
        snprintf(wanted + length, sizeof wanted - length, "-%d", i);
    }
    out[0] = 0;
}

static void begin(mrl_word session, struct mrl_instant before, uint64_t init_ticks)
{
    static char directory[MRL_DIRECTORY];
    int rank = 0, ranks = 0, initialized = 0;
    mrl_word world = 0;
    if (mrl.started || !mrl_pmpi.Initialized || mrl_pmpi.Initialized(&initialized) || initialized)
        return;
    if (mrl.settings.site) /* whose runs are kept in memory, and there is nothing that could merge them */
        return;
    if (!mrl_pmpi.Group_from_session_pset || mrl_pmpi.Group_from_session_pset(session, "mpi://WORLD", &world) ||
        mrl_pmpi.Group_rank(world, &rank) || mrl_pmpi.Group_size(world, &ranks)) {
        mrl_say("this MPI library does not tell the ranks of a session, so nothing is measured");
        return;
    }
    choose_directory(directory, sizeof directory, rank);
    mrl.concurrent = true; /* sessions may differ in the threads they allow */
    if (!mrl_requests_begin() || !mrl_begin(directory, rank, ranks))
        return;
    mrl_alone = true;
    mrl_describe(init_ticks, mrl_abi.threads[3]);
    mrl_fortran_begin();
    mrl_comms_begin_without_world(world);
    mrl_record(before);
}

static void end(struct mrl_caller caller, uint64_t start)
{
    mrl_resume();
    struct mrl_thread *t = mrl_enter();
    if (!t)
        return;
    mrl_close_regions(t);
    struct mrl_call c = {.peer = MRL_NO_PEER, .start = start, .end = mrl_stop(t, start)};
    c.path = mrl_path(t, MRL_FN_MPI_Session_finalize, caller);
    mrl_commit(t, mrl_write(t, mrl_function_facts[MRL_FN_MPI_Session_finalize].op, &c));
    mrl_stop_recording(c.end);
    mrl_settle("3s", mrl_core_why(), false); /* the last session of each rank may end at its own time, but mostly does not */
}

/* Around every form of MPI_Session_init and MPI_Session_finalize. */
static void after_init(struct mrl_init i, int rc, mrl_word session)
{
    if (!i.wanted || rc || sessions++)
        return;
    begin(session, i.before, mrl_now() - i.start);
    if (mrl_alone)
        mrl_begun_in(i.caller);
}

static void after_finalize(struct mrl_caller caller, uint64_t start)
{
    if (--sessions == 0 && mrl_alone && !mrl.stopped && getpid() == mrl.pid)
        end(caller, start);
}

MRL_EXPORT int MPI_Session_init(mrl_word info, mrl_word errhandler, mrl_word session)
{
    struct mrl_init i = mrl_before_init(MRL_CALLER);
    int rc = ((int (*)(mrl_word, mrl_word, mrl_word))mrl_next(MRL_FN_MPI_Session_init))(info, errhandler, session);
    after_init(i, rc, rc ? 0 : mrl_handle_at(session, 0));
    return rc;
}

MRL_EXPORT int MPI_Session_finalize(mrl_word session)
{
    uint64_t start = mrl.started ? mrl_now() : 0;
    int rc = ((int (*)(mrl_word))mrl_next(MRL_FN_MPI_Session_finalize))(session);
    after_finalize(MRL_CALLER, start);
    return rc;
}

/*
 * The same in Fortran, whose handle is C's where handles are integers. What the library does may be its C
 * function, which is ours, and then nothing is left to do.
 */
static void fortran_init(enum mrl_binding binding, struct mrl_caller caller, int *info, int *errhandler, int *session, int *ierror)
{
    struct mrl_init i = mrl_before_init(caller);
    int before = sessions;
    ((void (*)(int *, int *, int *, int *))mrl_fortran_next(MRL_FN_MPI_Session_init, binding))(info, errhandler, session, ierror);
    if (sessions != before || (ierror && *ierror))
        return;
    mrl_word (*f2c)(int);
    *(void **)&f2c = mrl_find("PMPI_Session_f2c");
    after_init(i, 0, mrl_abi.handle_bytes == 4 || !f2c ? (uint32_t)*session : f2c(*session));
}

static void fortran_finalize(enum mrl_binding binding, struct mrl_caller caller, int *session, int *ierror)
{
    uint64_t start = mrl.started ? mrl_now() : 0;
    int before = sessions;
    ((void (*)(int *, int *))mrl_fortran_next(MRL_FN_MPI_Session_finalize, binding))(session, ierror);
    if (sessions == before)
        after_finalize(caller, start);
}

MRL_IN_FORTRAN(session_init, SESSION_INIT, (int *info, int *errhandler, int *session, int *ierror),
               fortran_init(MRL_F77, MRL_CALLER, info, errhandler, session, ierror),
               fortran_init(MRL_F08, MRL_CALLER, info, errhandler, session, ierror))
MRL_IN_FORTRAN(session_finalize, SESSION_FINALIZE, (int *session, int *ierror), fortran_finalize(MRL_F77, MRL_CALLER, session, ierror),
               fortran_finalize(MRL_F08, MRL_CALLER, session, ierror))
