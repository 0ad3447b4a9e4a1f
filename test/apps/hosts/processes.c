/*
 * Processes that the application starts. None of them may be taken for a rank: they must end as they want
 * to, say nothing, and leave the rank's records alone.
 *
 *     processes MODE
 */
#define _GNU_SOURCE
#include "host.h"

#include <marple.h>

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static int wait_for(pid_t child)
{
    int status = 0;
    expect(waitpid(child, &status, 0) == child, "the child is lost");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A part of the application that has been instrumented, and that a child runs too. */
static void instrumented(int n)
{
    for (int i = 0; i < n; i++) {
        marple_region_begin("part");
        marple_region_end("part");
    }
}

static void child_works(void)
{
    instrumented(MANY);
    MPI_Pcontrol(1);
    instrumented(MANY);
}

static void forks(void)
{
    MPI_Init(NULL, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        steps(MANY / CHILDREN);
        instrumented(100);
        pid_t child = fork();
        if (!child) {
            child_works();
            if (i % 2)
                exit(40 + i);
            _exit(40 + i);
        }
        steps(10);
        int code = wait_for(child);
        expect(code == 40 + i, "child %d ended with %d", i, code);
    }
    MPI_Finalize();
}

/* The child of a rank that has finalised. */
static void forks_after_finalize(void)
{
    MPI_Init(NULL, NULL);
    steps(MANY);
    instrumented(100);
    MPI_Finalize();
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        instrumented(MANY);
        exit(40);
    }
    expect(wait_for(child) == 40, "the child");
}

static _Atomic int stop;
static void *others(void *unused)
{
    while (!stop)
        steps(100);
    return unused;
}

static void forks_beside_threads(void)
{
    int provided;
    pthread_t threads[2];
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, others, NULL);
    steps(MANY);
    for (int i = 0; i < CHILDREN; i++) {
        instrumented(100);
        pid_t child = fork();
        if (!child) {
            child_works();
            _exit(40 + i);
        }
        int code = wait_for(child);
        expect(code == 40 + i, "child %d ended with %d", i, code);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
}

extern char **environ;

static void starts(void)
{
    MPI_Init(NULL, NULL);
    char *const line[] = {"sh", "-c", "exit 5", NULL};
    for (int i = 0; i < CHILDREN; i++) {
        steps(MANY / CHILDREN);
        instrumented(100);
        pid_t child = i % 2 ? vfork() : fork();
        if (!child) {
            execv("/bin/sh", line);
            _exit(1);
        }
        expect(wait_for(child) == 5, "exec");
        expect(!posix_spawn(&child, "/bin/sh", NULL, NULL, line, environ) && wait_for(child) == 5, "posix_spawn");
        int code = system("exit 6");
        expect(WIFEXITED(code) && WEXITSTATUS(code) == 6, "system: %x", code);
        char said[100] = "";
        FILE *pipe = popen("echo out; echo err >&2; cat /dev/null; exit 7", "r");
        expect(pipe && fgets(said, sizeof said, pipe) && !strcmp(said, "out\n") && !fgets(said, sizeof said, pipe), "popen: %s", said);
        code = pclose(pipe);
        expect(WIFEXITED(code) && WEXITSTATUS(code) == 7, "pclose: %x", code);
    }
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    static const struct mode modes[] = {
        {"forks", forks},
        {"forks-after-finalize", forks_after_finalize},
        {"forks-beside-threads", forks_beside_threads},
        {"starts", starts},
        {NULL, NULL},
    };
    return choose(modes, argc, argv);
}
