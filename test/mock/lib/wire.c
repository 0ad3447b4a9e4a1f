/* The rank's end of the protocol; mockrun/wire.go is the other.
 *
 * Every call gets exactly one reply, which bears its number. Threads may call at
 * once: whichever finds nobody reading the socket reads, for all of them, and no
 * lock is held while it waits. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

struct waiting {
    uint32_t number;
    unsigned char *data; /* the reply, when it is there */
    struct waiting *next;
};

enum { LENGTH_SIZE = sizeof(uint64_t), NUMBER_SIZE = sizeof(uint32_t) };

static int server = -1;
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool reading;
static uint32_t last_number;
static struct waiting *all_waiting;

void wire_open(int fd)
{
    server = fd;
}

void *put_space(struct frame *f, size_t size)
{
    if (f->size + size > f->room) {
        f->room = 2 * f->room + size;
        f->data = reallocate(f->data, f->room);
    }
    f->size += size;
    return f->data + f->size - size;
}

void put_bytes(struct frame *f, const void *data, size_t size)
{
    void *to = put_space(f, size);
    if (size)
        memcpy(to, data, size);
}

void put_u8(struct frame *f, uint8_t value)
{
    put_bytes(f, &value, sizeof value);
}

void put_i32(struct frame *f, int32_t value)
{
    put_bytes(f, &value, sizeof value);
}

void put_u64(struct frame *f, uint64_t value)
{
    put_bytes(f, &value, sizeof value);
}

void put_chunk(struct frame *f, const void *data, size_t size)
{
    put_u64(f, size);
    put_bytes(f, data, size);
}

struct frame frame_new(enum operation op, bool block)
{
    struct frame f = {.room = 256};
    f.data = allocate(f.room);
    put_space(&f, LENGTH_SIZE + NUMBER_SIZE);
    clock_stop();
    put_u64(&f, clock_now());
    put_u8(&f, block);
    put_chunk(&f, mpi_function, strlen(mpi_function));
    put_u8(&f, op);
    return f;
}

void frame_drop(struct frame *f)
{
    free(f->data);
}

/* Without mockrun there is nothing left to do, and nobody to tell. */
static void check(ssize_t n)
{
    if (n == 0 || (n < 0 && errno != EINTR))
        _exit(1);
}

static void write_all(const unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(server, data, size, MSG_NOSIGNAL);
        check(n);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static void read_all(void *to, size_t size)
{
    unsigned char *data = to;
    while (size > 0) {
        ssize_t n = read(server, data, size);
        check(n);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static unsigned char *read_frame(void)
{
    uint64_t size;
    read_all(&size, sizeof size);
    unsigned char *data = allocate(size);
    read_all(data, size);
    return data;
}

/* Reads one reply for whoever it belongs to. Called and left with the lock. */
static void read_one(void)
{
    reading = true;
    pthread_mutex_unlock(&lock);
    unsigned char *data = read_frame();
    uint32_t number;
    memcpy(&number, data, sizeof number);
    pthread_mutex_lock(&lock);
    reading = false;
    for (struct waiting **w = &all_waiting; *w; w = &(*w)->next)
        if ((*w)->number == number) {
            (*w)->data = data;
            *w = (*w)->next;
            break;
        }
    pthread_cond_broadcast(&changed);
}

static void take(const unsigned char **from, void *to, size_t size)
{
    memcpy(to, *from, size);
    *from += size;
}

static uint64_t take_u64(const unsigned char **from)
{
    uint64_t value;
    take(from, &value, sizeof value);
    return value;
}

static struct result *take_results(const unsigned char **from, size_t *count)
{
    *count = take_u64(from);
    struct result *results = allocate(*count * sizeof *results);
    for (size_t i = 0; i < *count; i++) {
        struct result *r = &results[i];
        int32_t source, tag;
        uint8_t cancelled;
        r->key = take_u64(from);
        take(from, &source, sizeof source);
        take(from, &tag, sizeof tag);
        take(from, &cancelled, sizeof cancelled);
        r->source = source, r->tag = tag, r->cancelled = cancelled;
        r->bytes = take_u64(from);
        r->base = take_u64(from);
        r->nchunks = take_u64(from);
        r->chunks = allocate(r->nchunks * sizeof *r->chunks);
        for (size_t j = 0; j < r->nchunks; j++) {
            r->chunks[j].size = take_u64(from);
            r->chunks[j].data = *from;
            *from += r->chunks[j].size;
        }
    }
    return results;
}

static struct reply parse(unsigned char *data)
{
    struct reply r = {.data = data};
    const unsigned char *from = data + NUMBER_SIZE;
    uint64_t now = take_u64(&from);
    if (environment.is_virtual)
        clock_set(now);
    r.request = take_u64(&from);
    uint8_t flag;
    take(&from, &flag, sizeof flag);
    r.flag = flag;
    r.results = take_results(&from, &r.nresults);
    r.late = take_results(&from, &r.nlate);
    for (size_t i = 0; i < r.nlate; i++)
        request_deliver(&r.late[i]);
    return r;
}

/* Sends the frame, which is used up, and waits for the reply. */
struct reply call(struct frame *f)
{
    struct waiting me = {0};
    pthread_mutex_lock(&lock);
    me.number = ++last_number;
    me.next = all_waiting;
    all_waiting = &me;
    pthread_mutex_unlock(&lock);

    uint64_t length = f->size - LENGTH_SIZE;
    memcpy(f->data, &length, sizeof length);
    memcpy(f->data + LENGTH_SIZE, &me.number, sizeof me.number);
    pthread_mutex_lock(&sending);
    write_all(f->data, f->size);
    pthread_mutex_unlock(&sending);
    frame_drop(f);

    pthread_mutex_lock(&lock);
    while (!me.data) {
        if (reading)
            pthread_cond_wait(&changed, &lock);
        else
            read_one();
    }
    pthread_mutex_unlock(&lock);
    return parse(me.data);
}

static void free_results(struct result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(results[i].chunks);
    free(results);
}

void reply_free(struct reply *r)
{
    free_results(r->results, r->nresults);
    free_results(r->late, r->nlate);
    free(r->data);
}
