/* What a handle stands for.
 *
 * The handle of an object made by the program is its kind and its place in the
 * table of that kind, far above the values the standard reserves. The place
 * freed last is used next, so values return as they do in other MPIs. */
#include <pthread.h>

#include "internal.h"

enum { KIND_SHIFT = 24, RESERVED = 0x300 };

struct slot {
    void *object;
    size_t next_free;
};

struct table {
    struct slot *slots;
    size_t used, room;
    size_t free; /* 1 + place, 0 if none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table tables[KINDS];
static struct {
    enum kind kind;
    void *object;
} predefined[RESERVED];

void handle_predefine(enum kind kind, const void *handle, void *object)
{
    predefined[(uintptr_t)handle].kind = kind;
    predefined[(uintptr_t)handle].object = object;
}

void *handle_new(enum kind kind, void *object)
{
    pthread_mutex_lock(&lock);
    struct table *t = &tables[kind];
    size_t place = t->used;
    if (t->free) {
        place = t->free - 1;
        t->free = t->slots[place].next_free;
    } else {
        if (t->used == t->room) {
            t->room = 2 * t->room + 16;
            t->slots = reallocate(t->slots, t->room * sizeof *t->slots);
        }
        t->used++;
    }
    t->slots[place].object = object;
    pthread_mutex_unlock(&lock);
    return (void *)((uintptr_t)kind << KIND_SHIFT | place);
}

static struct slot *find(enum kind kind, uintptr_t value)
{
    size_t place = value & (((uintptr_t)1 << KIND_SHIFT) - 1);
    bool known = value >> KIND_SHIFT == kind && place < tables[kind].used;
    return known ? &tables[kind].slots[place] : NULL;
}

/* Returns null for what is no handle of that kind. */
void *handle_object(enum kind kind, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value < RESERVED)
        return predefined[value].kind == kind ? predefined[value].object : NULL;
    pthread_mutex_lock(&lock);
    struct slot *s = find(kind, value);
    void *object = s ? s->object : NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

void handle_free(enum kind kind, const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value < RESERVED)
        return;
    pthread_mutex_lock(&lock);
    struct slot *s = find(kind, value);
    s->object = NULL;
    s->next_free = tables[kind].free;
    tables[kind].free = (size_t)(s - tables[kind].slots) + 1;
    pthread_mutex_unlock(&lock);
}

#define CONVERSIONS(type, name)                       \
    API_RETURNS(MPI_Fint, name##_c2f, type handle)    \
    {                                                 \
        return (MPI_Fint)(intptr_t)handle;            \
    }                                                 \
    API_RETURNS(type, name##_f2c, MPI_Fint handle)    \
    {                                                 \
        return (type)(intptr_t)handle;                \
    }                                                 \
    API_RETURNS(int, name##_toint, type handle)       \
    {                                                 \
        return (int)(intptr_t)handle;                 \
    }                                                 \
    API_RETURNS(type, name##_fromint, int handle)     \
    {                                                 \
        return (type)(intptr_t)handle;                \
    }

CONVERSIONS(MPI_Comm, Comm)
CONVERSIONS(MPI_Datatype, Type)
CONVERSIONS(MPI_Errhandler, Errhandler)
CONVERSIONS(MPI_Group, Group)
CONVERSIONS(MPI_Info, Info)
CONVERSIONS(MPI_Message, Message)
CONVERSIONS(MPI_Op, Op)
CONVERSIONS(MPI_Request, Request)
CONVERSIONS(MPI_Win, Win)
