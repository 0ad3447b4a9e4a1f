/*
 * A program without MPI that looks at its own threads: those that Marple brings must sleep while the program computes, and
 * also soon after a hand-over. Prints how many other threads there are, and how often they have run between two looks.
 *
 *     quiet
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <marple.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* How often all other threads of this process have been given a core. */
static long others(int *threads)
{
    long sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    *threads = 0;
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300];
        long long ran = 0, waited, times = 0;
        if (atoi(task->d_name) <= 0 || atoi(task->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%lld %lld %lld", &ran, &waited, &times) != 3)
            times = 0;
        if (file)
            fclose(file);
        sum += times;
        ++*threads;
    }
    closedir(tasks);
    return sum;
}

static void regions(int n)
{
    while (n-- > 0) {
        marple_region_begin("step");
        marple_region_end("step");
    }
}

int main(void)
{
    regions(20000); /* several hand-overs */
    int threads = 0, looks = 0;
    long before, ran;
    do { /* until they have been asleep for a while */
        before = others(&threads);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        ran = others(&threads) - before;
    } while (ran && ++looks < 50);
    printf("%d %ld\n", threads, ran);
    return 0;
}
