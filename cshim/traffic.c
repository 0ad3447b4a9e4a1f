/*
 * What the process has moved by read, write and their like, from the kernel's account of it: no call of the program's is
 * looked at for that. What Marple reads itself meanwhile goes through mrl_read, and is taken off.
 */
#include "shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

long mrl_read(int fd, void *to, size_t size)
{
    ssize_t n = read(fd, to, size);
    atomic_fetch_add_explicit(&mrl.own_reads, 1, memory_order_relaxed);
    if (n > 0)
        atomic_fetch_add_explicit(&mrl.own_bytes, (uint64_t)n, memory_order_relaxed);
    return n;
}

/* Our own reading is counted before the kernel's figures are read, which do not have that reading yet. */
static bool read_traffic(struct mrl_traffic *out)
{
    char text[512];
    uint64_t reads = mrl.own_reads, bytes = mrl.own_bytes;
    int fd = mrl.confined ? -1 : open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : mrl_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    if (sscanf(text, "rchar: %lu wchar: %lu syscr: %lu syscw: %lu", &out->read, &out->written, &out->reads, &out->writes) != 4)
        return false;
    out->read -= bytes;
    out->reads -= reads;
    return true;
}

static struct mrl_traffic traffic_before;
static bool traffic_begun;

void mrl_traffic_begin(void)
{
    traffic_begun = read_traffic(&traffic_before);
}

void mrl_traffic_end(void)
{
    struct mrl_header *h = mrl.header;
    struct mrl_traffic now, *before = &traffic_before;
    if (!traffic_begun || !read_traffic(&now) || now.read < before->read || now.reads < before->reads)
        return;
    h->traffic = (struct mrl_traffic){now.read - before->read, now.written - before->written, now.reads - before->reads, now.writes - before->writes};
    h->traffic_known = 1;
}
