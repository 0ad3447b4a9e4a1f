/*
 * What a program with NVTX 3 has compiled into it: at the first call it opens the library that NVTX_INJECTION64_PATH names, and
 * lets its InitializeInjectionNvtx2 put functions into two tables. Without one, calls do nothing, and pushing and popping give -2.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

struct attributes { /* version 2: 48 bytes */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        double real;
    } payload;
    int32_t message_type;
    const void *message;
};

typedef void (*function)(void);
static function core[16], core2[16]; /* by number; 0 is none */
static function *core_table[17], *core2_table[17];

static int module_table(int module, function ***table, unsigned *size)
{
    if (module != 1 && module != 5)
        return 0;
    *table = module == 1 ? core_table : core2_table;
    *size = 16;
    return 1;
}

static const struct {
    size_t size;
    int (*functions)(int, function ***, unsigned *);
} callbacks = {sizeof callbacks, module_table};

static const void *export_table(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

static void load(void)
{
    for (int i = 1; i < 16; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    const char *file = getenv("NVTX_INJECTION64_PATH");
    void *tool = file ? dlopen(file, RTLD_LAZY) : NULL;
    int (*initialise)(const void *(*)(uint32_t)) = NULL;
    if (tool)
        *(void **)&initialise = dlsym(tool, "InitializeInjectionNvtx2");
    if (initialise)
        initialise(export_table);
}

#define CALL(table, at, type, none, parameters, ...) (table[at] ? ((type(*) parameters)table[at])(__VA_ARGS__) : (none))

static void mark(const char *name)
{
    if (core[2])
        ((void (*)(const char *))core[2])(name);
}

static uint64_t start(const char *name)
{
    return CALL(core, 5, uint64_t, 0, (const char *), name);
}

static void end(uint64_t id)
{
    if (core[7])
        ((void (*)(uint64_t))core[7])(id);
}

static int push(const char *name)
{
    return CALL(core, 9, int, -2, (const char *), name);
}

static int push_wide(const wchar_t *name)
{
    return CALL(core, 10, int, -2, (const wchar_t *), name);
}

static int pop(void)
{
    return CALL(core, 11, int, -2, (void), );
}

static int domain_push(const void *domain, const struct attributes *a)
{
    return CALL(core2, 4, int, -2, (const void *, const struct attributes *), domain, a);
}

static int domain_pop(const void *domain)
{
    return CALL(core2, 5, int, -2, (const void *), domain);
}

static const void *register_text(const void *domain, const char *text)
{
    return CALL(core2, 10, const void *, NULL, (const void *, const char *), domain, text);
}

static const void *create(const char *name)
{
    return CALL(core2, 12, const void *, NULL, (const char *), name);
}

static void *ender(void *id)
{
    end((uint64_t)(uintptr_t)id);
    return NULL;
}

int main(int argc, char **argv)
{
    load();
    const void *domain = create("solver"), *again = create("solver"), *name = register_text(domain, "smooth");
    int results = 0;
    printf("%d\n", push("before MPI"));
    results += pop();
    end(start("early")); /* nothing is measured yet */
    end(UINT64_MAX);
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++) {
        struct attributes a = {.version = 3, .size = sizeof a, .payload_type = 3, .payload.real = i + 0.5, .message_type = 3, .message = name};
        results += push("step");
        results += domain_push(domain, &a);
        MPI_Barrier(MPI_COMM_WORLD);
        results += push_wide(L"in\u00e9");
        results += domain_pop(domain); /* ends what is inside it, too */
        results += pop();
        results += pop(); /* one too many */
        mark("checkpoint");
    }
    struct attributes odd = {.version = 3, .size = sizeof odd, .message_type = 3, .message = &results}; /* no handle of the tool's */
    results += domain_push(&results, &odd);
    results += domain_pop(&results);
    struct attributes old = {.version = 1, .size = 8, .message_type = 1};
    results += domain_push(NULL, &old) + domain_pop(NULL);

    /* Ranges that overlap, of which one ends in another thread. */
    uint64_t first = start("transfer"), second = start("overlapping");
    usleep(20000);
    end(first);
    pthread_t thread;
    if (pthread_create(&thread, NULL, ender, (void *)(uintptr_t)second) == 0)
        pthread_join(thread, NULL);
    end(first); /* has ended */
    end(7);
    for (int i = 0; i < 3000; i++)
        start("never ends");
    printf("%d %d\n", results, domain == again);
    MPI_Finalize();
    return pop() == -2 ? 0 : 1;
}
