#include "expect.h"

#define MAX 1024

struct figures {
    char name[64];
    long long calls, out, in, hits, failed, messages;
};
static struct figures functions[MAX], comms[MAX];
static struct {
    char members[256];
    int size;
} who[MAX]; /* by the index in comms */
static struct {
    long long sent, sent_bytes, received, received_bytes, puts, put_bytes, gets, got_bytes;
} peers[MAX]; /* by rank in the world */

static const char *last[3] = {"nothing", "nothing", "MPI_Init"}; /* calls that were made */

_Noreturn void give_up(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: rank %d of %d: %s (after %s, %s, %s)\n", file, line, rank, size, what,
            last[0], last[1], last[2]);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static struct figures *find(struct figures *table, const char *text)
{
    int i = 0;
    while (i < MAX && *table[i].name && strcmp(table[i].name, text) != 0)
        i++;
    CHECK(i < MAX && strlen(text) < sizeof table[i].name);
    if (!*table[i].name)
        strcpy(table[i].name, text);
    return &table[i];
}

const char *on(MPI_Comm comm)
{
    char text[MPI_MAX_OBJECT_NAME];
    int length;
    CHECK(MPI_Comm_get_name(comm, text, &length) == MPI_SUCCESS);
    return find(comms, text)->name;
}

void moved(const char *function, const char *where, long long out, long long in)
{
    struct figures *rows[] = {find(functions, function), find(comms, where)};
    for (int i = 0; i < 2; i++) {
        rows[i]->out += out;
        rows[i]->in += in;
    }
}

void counted(const char *function, const char *where, long long out, long long in)
{
    last[0] = last[1];
    last[1] = last[2];
    last[2] = function;
    find(functions, function)->calls++;
    find(comms, where)->calls++;
    moved(function, where, out, in);
}

void hit(const char *function)
{
    find(functions, function)->hits++;
}

void failed(const char *function)
{
    find(functions, function)->failed++;
}

void messages(const char *function, long long count)
{
    find(functions, function)->messages += count;
}

static int world_rank(MPI_Comm comm, int peer)
{
    MPI_Group group, world;
    int inter, in_world;
    MPI_Comm_test_inter(comm, &inter);
    if (inter)
        MPI_Comm_remote_group(comm, &group);
    else
        MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &peer, world, &in_world);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(in_world >= 0 && in_world < MAX);
    return in_world;
}

void sent(MPI_Comm comm, int peer, long long bytes)
{
    int to = world_rank(comm, peer);
    peers[to].sent++;
    peers[to].sent_bytes += bytes;
}

void received(MPI_Comm comm, int peer, long long bytes)
{
    int from = world_rank(comm, peer);
    peers[from].received++;
    peers[from].received_bytes += bytes;
}

void put(MPI_Comm comm, int peer, long long bytes)
{
    int to = world_rank(comm, peer);
    peers[to].puts++;
    peers[to].put_bytes += bytes;
}

void got(MPI_Comm comm, int peer, long long bytes)
{
    int from = world_rank(comm, peer);
    peers[from].gets++;
    peers[from].got_bytes += bytes;
}

void arrived(const char *function, MPI_Comm comm, int source, long long bytes)
{
    moved(function, on(comm), 0, bytes);
    messages(function, 1);
    received(comm, source, bytes);
}

/* World ranks as a list; "-" for an intercommunicator, of which either group may be told. */
static void note_members(MPI_Comm comm)
{
    struct figures *row = find(comms, on(comm));
    int inter, n;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_size(comm, &n);
    who[row - comms].size = n;
    char *text = who[row - comms].members;
    strcpy(text, "-");
    if (inter || comm == MPI_COMM_SELF)
        return;
    for (int i = 0, at = 0; i < n && at < 200; i++)
        at += snprintf(text + at, 50, "%s%d", i ? "," : "", world_rank(comm, i));
}

void name(MPI_Comm comm, const char *text)
{
    CHECK(MPI_Comm_set_name(comm, text) == MPI_SUCCESS);
    note_members(comm);
}

void tell(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/expected-%d", directory, rank);
    FILE *file = fopen(path, "w");
    if (!file)
        exit(3);
    for (struct figures *f = functions; *f->name; f++)
        fprintf(file, "function\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\n", f->name, f->calls, f->out, f->in, f->hits, f->failed, f->messages);
    for (struct figures *c = comms; *c->name; c++)
        fprintf(file, "communicator\t%s\t%lld\t%lld\t%lld\t%d\t%s\n", c->name, c->calls, c->out, c->in, who[c - comms].size,
                *who[c - comms].members ? who[c - comms].members : "-");
    for (int i = 0; i < size; i++)
        fprintf(file, "peer\t%d\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\n", i, peers[i].sent, peers[i].sent_bytes, peers[i].received,
                peers[i].received_bytes, peers[i].puts, peers[i].put_bytes, peers[i].gets, peers[i].got_bytes);
    fclose(file);
}
