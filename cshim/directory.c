/*
 * The run directory: its name, and making it.
 */
#include "shim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool make_directory(const char *path)
{
    char raw[4096 + 8];
    snprintf(raw, sizeof raw, "%s/raw", path);
    if (mkdir(path, 0777) && errno != EEXIST)
        return false;
    return !mkdir(raw, 0777);
}

const char *mrl_job_id(void)
{
    static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID", "COBALT_JOBID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return getenv(variables[i]);
    return NULL;
}

static void program_name(char *out, size_t size)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : "program");
}

size_t mrl_directory_name(char *out, size_t size, const char *job)
{
    char cwd[4096], program[64];
    if (!getcwd(cwd, sizeof cwd))
        strcpy(cwd, ".");
    program_name(program, sizeof program);
    const char *set = mrl.settings.out;
    int length = *set ? snprintf(out, size, "%s%s%s", *set == '/' ? "" : cwd, *set == '/' ? "" : "/", set)
                      : snprintf(out, size, "%s/marple-%s-%.64s", cwd, program, job);
    return length > 0 ? (size_t)length : 0;
}

/* Makes the run directory, which rank 0 does for all; empty when it cannot. */
void mrl_choose_directory(char *out, size_t size)
{
    char pid[16], wanted[MRL_DIRECTORY + 1100];
    const char *job = mrl_job_id();
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    size_t length = mrl_directory_name(wanted, sizeof wanted, job ? job : pid);
    /* Several runs in one job, or in one place, get a number. */
    for (int i = 2; i < 1000 && length < size - 5; i++) {
        strcpy(out, wanted);
        if (make_directory(out))
            return;
        if (errno != EEXIST)
            break;
        snprintf(wanted + length, sizeof wanted - length, "-%d", i);
    }
    mrl_say("cannot make the run directory %s: %s; the report will be printed but not kept", wanted, strerror(errno));
    out[0] = 0;
}
