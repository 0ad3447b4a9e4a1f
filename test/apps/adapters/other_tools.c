/* Another tool that listens to PerfStubs and to OMPT. It says at the end what it was told. */
#include <stdio.h>

static int timers, regions, handle;

void *ps_tool_timer_create(const char *name)
{
    (void)name;
    return &handle;
}

void ps_tool_timer_start(const void *timer)
{
    timers += timer == &handle;
}

void ps_tool_finalize(void)
{
    fprintf(stderr, "the other tool saw %d timers\n", timers);
}

static void parallel_begins(void)
{
    regions++;
}

static int initialise(void (*(*find)(const char *))(void), int device, void *data)
{
    (void)device, (void)data;
    ((int (*)(int, void (*)(void)))find("ompt_set_callback"))(3, parallel_begins);
    return 1;
}

static void finish(void *data)
{
    (void)data;
    fprintf(stderr, "the other tool saw %d parallel regions\n", regions);
}

struct tool {
    int (*initialise)(void (*(*find)(const char *))(void), int, void *);
    void (*finish)(void *);
    void *data;
};

struct tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct tool tool = {initialise, finish, NULL};
    (void)version, (void)runtime;
    return &tool;
}
