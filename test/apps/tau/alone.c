/*
 * A program without MPI that is its own TAU: it drives a plugin through everything there is.
 *
 *     alone PLUGIN [PLACES]       PLACES: callbacks in the table, 45
 */
#include "../work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int callback(void *);
static callback *callbacks[64];
static int places = 45;

void Tau_util_init_tau_plugin_callbacks(callback **table)
{
    memset(table, 0, (size_t)places * sizeof *table);
}

void Tau_util_plugin_register_callbacks(callback **table, unsigned plugin)
{
    memcpy(callbacks, table, (size_t)places * sizeof *table);
    printf("plugin %u registered\n", plugin);
}

static void tell(int what, const char *name, unsigned long a, unsigned long b, unsigned long c)
{
    union {
        const char *name;
        unsigned long word;
    } data[8] = {{.name = name}, {.word = a}, {.word = b}, {.word = c}};
    if (callbacks[what])
        callbacks[what](data);
}

static void *work(void *argument)
{
    (void)argument;
    for (int i = 0; i < 100; i++) {
        tell(5, "thread", 0, 0, 0);
        tell(places < 18 ? 11 : 13, "value", 0, (unsigned long)i, 0);
        tell(6, "thread", 0, 0, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        places = atoi(argv[2]);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    int (*init)(int, char **, unsigned);
    *(void **)&init = library ? dlsym(library, "Tau_plugin_init_func") : NULL;
    if (!init) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (init(0, NULL, 3) < 0) {
        puts("refused");
        return 0;
    }
    struct {
        unsigned type;
        union {
            const void *pointer;
            int integer;
            double real;
        } data;
    } text = {0, {.pointer = "a text"}}, whole = {1, {.integer = -5}}, real = {2, {.real = 0.1}}, yes = {5, {0}}, *list[] = {&text, &whole};
    struct {
        int count;
        void *values;
    } array = {2, list};
    struct {
        int count;
        const char **names;
        void *values;
    } object = {2, (const char *[]){"first", "second"}, list};
    const struct {
        const char *name;
        const void *value;
    } metadata[] = {{"text", &text}, {"whole", &whole}, {"real", &real}, {"yes", &yes}, {"none", NULL},
                    {"array", &(struct { unsigned type; const void *array; }){4, &array}},
                    {"object", &(struct { unsigned type; const void *object; }){3, &object}}};
    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++)
        callbacks[1]((void *)&metadata[i]);
    tell(2, NULL, 0, 0, 0);
    tell(5, ".TAU application", 0, 0, 0);
    tell(5, "main", 0, 0, 0);
    for (int i = 0; i < 10; i++) {
        tell(5, "stir", 0, 0, 0);
        work_ns(100000);
        tell(6, "stir", 0, 0, 0);
    }
    tell(places < 18 ? 8 : 10, (const char *)1, 0, 100, 0); /* a message of some other layer */
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    int pre = places < 18 ? 12 : 14;
    tell(pre, NULL, 0, 0, 0);
    tell(5, "after the end", 0, 0, 0);
    tell(6, "after the end", 0, 0, 0);
    tell(pre, NULL, 0, 0, 0);
    tell(pre + 1, NULL, 0, 0, 0);
    puts("done");
    return 0;
}
