/*
 * Calls MPI in a sandbox that is closed after MPI_Init:
 *
 *     sandbox openat-kills | openat-denied | mmap-denied | all-kill | chroot
 *
 * all-kill lets only those calls through that MPI itself makes.
 */
#include "counted.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void forbid(int number, unsigned verdict)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        perror("seccomp");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    enum { CALLS = 3000 };
    int flag;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    printf("says begun\n");
    fflush(stdout);
    if (!strcmp(how, "openat-kills")) {
        forbid(SYS_openat, SECCOMP_RET_KILL_PROCESS);
        forbid(SYS_clone, SECCOMP_RET_KILL_PROCESS);
        forbid(SYS_clone3, SECCOMP_RET_KILL_PROCESS);
    } else if (!strcmp(how, "openat-denied")) {
        forbid(SYS_openat, SECCOMP_RET_ERRNO | EACCES);
    } else if (!strcmp(how, "mmap-denied")) {
        forbid(SYS_mmap, SECCOMP_RET_ERRNO | ENOMEM);
    } else if (!strcmp(how, "chroot")) {
        if (chroot("/var/empty") && chroot("/tmp"))
            perror("chroot");
    }
    for (int i = 1; i < CALLS; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (i % 500 == 0)
            for (double begin = now(); now() - begin < 1e-3;)
                ; /* long enough to be looked at */
    }
    counted("MPI_Iprobe", CALLS);
    printf("says done\n");
    fflush(stdout);
    MPI_Finalize();
    printf("says finalized\n");
    fflush(stdout);
    _exit(3); /* MPI's own destructors may not survive this */
}
