/*
 * Programs without MPI: the measurement begins with the first hook, and the report comes at exit. A program
 * that has an MPI library loaded by then is measured from MPI_Init to MPI_Finalize instead.
 */
#include "shim.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

bool mrl_alone;

/*
 * At exit; later, when libraries are being closed and ending.c's destructor runs, the core could not be opened
 * any more. The destructor then finds the run stopped.
 */
void mrl_end_alone(void)
{
    if (!mrl.started || mrl.stopped || getpid() != mrl.pid)
        return;
    mrl_resume();
    if (mrl_self && mrl_self->main_thread)
        mrl_close_regions(mrl_self);
    mrl_stop_recording(mrl_now());
    if (!mrl_reports() || !mrl_core_ready() || !mrl_gather(NULL)) {
        mrl_settle("0s", mrl_core_why(), true);
        return;
    }
    mrl_gathered();
    mrl_conclude();
}

static void begin(void)
{
    static char directory[MRL_DIRECTORY];
    mrl_settings_read();
    if (!mrl.settings.enable)
        return;
    mrl_clock_choose();
    struct mrl_instant before = mrl_instant_now();
    mrl_choose_directory(directory, sizeof directory);
    mrl.concurrent = true;
    if (!mrl_begin(directory, 0, 1))
        return;
    while (mrl.tsc && mrl_raw_ns() - before.raw_ns < MRL_CALIBRATION_NS)
        ;
    mrl_alone = true;
    atexit(mrl_end_alone);
    mrl_record(before);
}

/* Called by hooks while nothing is measured. Only the first one decides. */
MRL_COLD void mrl_begin_alone(void)
{
    static _Atomic bool decided;
    if (!atomic_exchange(&decided, true) && !dlsym(RTLD_DEFAULT, "PMPI_Init"))
        begin();
}
