/*
 * marple-otf2 --read ANCHOR: tells on standard output of the trace in an OTF2 archive (ANCHOR is its .otf2 file), in the lines
 * that write.c reads: definitions first, then the events of each location, in the order of time there, and a single dot.
 * These are told besides:
 *
 *   K time request                            a collective operation is begun
 *   N time operation comm root sent received request   and is complete
 *   o id name process events                  only threads are told, and the number of their events with them
 *   p id name kind count member...            kind: 0 ranks by their places in list 1; 1 that list of locations; 2 each rank alone
 *   c id name group                           group 4294967295: an intercommunicator
 *   u count                                   events that are told nowhere: of one-sided operations, threads, metrics, files
 *   k count                                   how often a location's clock was compared with others', before its events
 *   M time on                                 from here on events are recorded (on 1), or not (on 0)
 *   B time end                                the tool wrote what it had recorded, until then
 *
 * Times are ticks, and clocks brought together as the archive says. Exit code 0 if all of it could be read.
 */
#include "otf2.h"

static struct location {
    uint64_t id, group;
    size_t at;
} *locations;
static size_t known;
static uint64_t told, untold, compared;

static void failed(const char *what)
{
    fprintf(stderr, "marple-otf2: %s\n", what);
    exit(1);
}

static void check(OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS)
        failed(OTF2_Error_GetDescription(code));
}

/* The library says on stderr what is wrong with a file, once for each thing that it then does not know; the last of it is enough. */
static OTF2_ErrorCode quiet(void *user, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)user, (void)file, (void)line, (void)function, (void)format, (void)arguments;
    return code;
}

static OTF2_CallbackCode clock_properties(void *user, uint64_t resolution, uint64_t offset, uint64_t length, uint64_t realtime)
{
    (void)user;
    printf("t %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", resolution, offset, length, realtime);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode string(void *user, OTF2_StringRef id, const char *text)
{
    (void)user;
    printf("s %" PRIu32 " %zu:%s\n", id, strlen(text), text);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode node(void *user, OTF2_SystemTreeNodeRef id, OTF2_StringRef name, OTF2_StringRef class, OTF2_SystemTreeNodeRef parent)
{
    (void)user;
    printf("n %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", id, name, class, parent);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode process(void *user, OTF2_LocationGroupRef id, OTF2_StringRef name, OTF2_LocationGroupType type,
                                 OTF2_SystemTreeNodeRef parent, OTF2_LocationGroupRef creator)
{
    (void)user, (void)creator;
    if (type == OTF2_LOCATION_GROUP_TYPE_PROCESS)
        printf("g %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", id, name, parent);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode location(void *user, OTF2_LocationRef id, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
                                  OTF2_LocationGroupRef group)
{
    (void)user;
    if (type != OTF2_LOCATION_TYPE_CPU_THREAD) {
        untold += events;
        return OTF2_CALLBACK_SUCCESS;
    }
    locations = realloc(locations, (known + 1) * sizeof *locations);
    if (!locations)
        failed("no memory");
    locations[known] = (struct location){id, group, known};
    known++;
    printf("o %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", id, name, group, events);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode region(void *user, OTF2_RegionRef id, OTF2_StringRef name, OTF2_StringRef canonical, OTF2_StringRef description,
                                OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin, uint32_t end)
{
    (void)user, (void)canonical, (void)description, (void)role, (void)flags, (void)file, (void)begin, (void)end;
    printf("r %" PRIu32 " %" PRIu32 " %d\n", id, name, paradigm == OTF2_PARADIGM_MPI);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode group(void *user, OTF2_GroupRef id, OTF2_StringRef name, OTF2_GroupType type, OTF2_Paradigm paradigm,
                               OTF2_GroupFlag flags, uint32_t size, const uint64_t *members)
{
    (void)user, (void)flags;
    if (paradigm != OTF2_PARADIGM_MPI || (type != OTF2_GROUP_TYPE_COMM_GROUP && type != OTF2_GROUP_TYPE_COMM_LOCATIONS && type != OTF2_GROUP_TYPE_COMM_SELF))
        return OTF2_CALLBACK_SUCCESS;
    printf("p %" PRIu32 " %" PRIu32 " %d %" PRIu32, id, name, type == OTF2_GROUP_TYPE_COMM_GROUP ? 0 : type == OTF2_GROUP_TYPE_COMM_LOCATIONS ? 1 : 2, size);
    for (uint32_t i = 0; i < size; i++)
        printf(" %" PRIu64, members[i]);
    putchar('\n');
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode comm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    (void)user, (void)parent, (void)flags;
    printf("c %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", id, name, group);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode intercomm(void *user, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef a, OTF2_GroupRef b, OTF2_CommRef common,
                                   OTF2_CommFlag flags)
{
    (void)user, (void)a, (void)b, (void)common, (void)flags;
    printf("c %" PRIu32 " %" PRIu32 " %" PRIu32 "\n", id, name, OTF2_UNDEFINED_GROUP);
    return OTF2_CALLBACK_SUCCESS;
}

#define EVENT(name, ...)                                                                                                          \
    static OTF2_CallbackCode name(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *user, OTF2_AttributeList *attributes __VA_OPT__(, ) __VA_ARGS__) \
    {                                                                                                                             \
        (void)location, (void)position, (void)user, (void)attributes, told++;
#define TOLD                                                                                                                      \
    return OTF2_CALLBACK_SUCCESS;                                                                                                 \
    }
#define PLACE(kind) printf(kind " %" PRIu64 " %" PRIu32 "\n", time, region);
#define MESSAGE(kind) printf(kind " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64, time, peer, comm, tag, bytes);
#define REQUEST(kind) printf(kind " %" PRIu64 " %" PRIu64 "\n", time, request);
#define OPERATION(kind) printf(kind " %" PRIu64 " %d %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64, time, (int)operation, comm, root, sent, received);
#define WITH_REQUEST printf(" %" PRIu64 "\n", request);

EVENT(enter, OTF2_RegionRef region) PLACE("E") TOLD
EVENT(leave, OTF2_RegionRef region) PLACE("L") TOLD
EVENT(sent, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes) MESSAGE("S") putchar('\n'); TOLD
EVENT(received, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes) MESSAGE("R") putchar('\n'); TOLD
EVENT(isend, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request) MESSAGE("I") WITH_REQUEST TOLD
EVENT(irecv, uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request) MESSAGE("Q") WITH_REQUEST TOLD
EVENT(isend_complete, uint64_t request) REQUEST("J") TOLD
EVENT(posted, uint64_t request) REQUEST("P") TOLD
EVENT(cancelled, uint64_t request) REQUEST("X") TOLD
EVENT(tested, uint64_t request) (void)time, (void)request; TOLD
EVENT(collective_begin) printf("C %" PRIu64 "\n", time); TOLD
EVENT(collective_end, OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received) OPERATION("D") putchar('\n'); TOLD
EVENT(recording, OTF2_MeasurementMode mode) printf("M %" PRIu64 " %d\n", time, mode == OTF2_MEASUREMENT_ON); TOLD
EVENT(flushed, OTF2_TimeStamp end) printf("B %" PRIu64 " %" PRIu64 "\n", time, end); TOLD
EVENT(started, uint64_t request) REQUEST("K") TOLD
EVENT(complete, OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received, uint64_t request) OPERATION("N") WITH_REQUEST TOLD

static OTF2_GlobalDefReaderCallbacks *definitions(void)
{
    OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
    check(OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, clock_properties));
    check(OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, string));
    check(OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, node));
    check(OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, process));
    check(OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, location));
    check(OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, region));
    check(OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, group));
    check(OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, comm));
    check(OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, intercomm));
    return c;
}

static OTF2_CallbackCode clock_offset(void *user, OTF2_TimeStamp time, int64_t offset, double deviation)
{
    (void)user, (void)time, (void)offset, (void)deviation;
    compared++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_DefReaderCallbacks *local_definitions(void)
{
    OTF2_DefReaderCallbacks *c = OTF2_DefReaderCallbacks_New();
    check(OTF2_DefReaderCallbacks_SetClockOffsetCallback(c, clock_offset));
    return c;
}

/* Those of a process one after the other, else in the order of the archive. */
static int by_process(const void *a, const void *b)
{
    const struct location *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static OTF2_EvtReaderCallbacks *events(void)
{
    OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();
    check(OTF2_EvtReaderCallbacks_SetEnterCallback(c, enter));
    check(OTF2_EvtReaderCallbacks_SetLeaveCallback(c, leave));
    check(OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, sent));
    check(OTF2_EvtReaderCallbacks_SetMpiRecvCallback(c, received));
    check(OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, isend));
    check(OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(c, irecv));
    check(OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(c, isend_complete));
    check(OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(c, posted));
    check(OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(c, cancelled));
    check(OTF2_EvtReaderCallbacks_SetMpiRequestTestCallback(c, tested));
    check(OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(c, collective_begin));
    check(OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(c, collective_end));
    check(OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(c, recording));
    check(OTF2_EvtReaderCallbacks_SetBufferFlushCallback(c, flushed));
    check(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(c, started));
    check(OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(c, complete));
    return c;
}

int read_archive(const char *anchor)
{
    OTF2_Error_RegisterCallback(quiet, NULL);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    if (!reader)
        failed("this is no OTF2 archive, or its anchor file is damaged");
    check(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    if (!global)
        failed("the definitions are missing");
    uint64_t count;
    check(OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, definitions(), NULL));
    check(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count));
    if (known > 0)
        qsort(locations, known, sizeof *locations, by_process);
    for (size_t i = 0; i < known; i++)
        check(OTF2_Reader_SelectLocation(reader, locations[i].id));
    bool local = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    check(OTF2_Reader_OpenEvtFiles(reader));
    for (size_t i = 0; i < known; i++) {
        OTF2_DefReader *d = local ? OTF2_Reader_GetDefReader(reader, locations[i].id) : NULL;
        compared = 0;
        if (d) {
            check(OTF2_Reader_RegisterDefCallbacks(reader, d, local_definitions(), NULL));
            check(OTF2_Reader_ReadAllLocalDefinitions(reader, d, &count));
            check(OTF2_Reader_CloseDefReader(reader, d));
        }
        OTF2_EvtReader *e = OTF2_Reader_GetEvtReader(reader, locations[i].id);
        if (!e)
            failed("the events of a location are missing");
        printf("k %" PRIu64 "\nl %" PRIu64 "\n", compared, locations[i].id);
        check(OTF2_EvtReader_ApplyMappingTables(e, true));
        check(OTF2_EvtReader_ApplyClockOffsets(e, true));
        check(OTF2_Reader_RegisterEvtCallbacks(reader, e, events(), NULL));
        told = 0;
        check(OTF2_Reader_ReadAllLocalEvents(reader, e, &count));
        untold += count - told;
        check(OTF2_Reader_CloseEvtReader(reader, e));
    }
    printf("u %" PRIu64 "\n.\n", untold);
    check(OTF2_Reader_Close(reader));
    if (fflush(stdout) != 0)
        failed("standard output cannot be written");
    return 0;
}
