/*
 * marple-otf2 DIRECTORY: writes the trace that standard input tells of as an OTF2 archive. `marple export --to otf2`
 * starts it; it is a program of its own so that Marple needs neither the library nor C to run without it. With --read it reads one,
 * see read.c.
 *
 * Input is lines of numbers behind a letter; texts are LENGTH:BYTES. First the events, in the order of time within a
 * location, then the definitions, then a single dot:
 *
 *   l location                                what follows happened there
 *   E L time region                           enter, leave
 *   S R time peer comm tag bytes              a message is sent, or has been received
 *   I Q time peer comm tag bytes request      a message is begun to be sent; one that was begun to be received has come
 *   J P X time request                        such a send is complete; a receive begins; a request is cancelled
 *   V time metric value                       what a metric has come to
 *   C time                                    a collective operation begins
 *   D time operation comm root sent received  and ends
 *
 *   d text                                    the archive's description
 *   t ticks-per-second start length realtime-ns
 *   s id text                                 the texts that all others refer to
 *   n id name class parent                    machine or host; parent 4294967295 for none
 *   g id name node                            process
 *   o id name process                         thread
 *   r id name kind                            region: 0 the program's own, 1 MPI function, 2 other function
 *   m id name unit                            metric: a sum since the location's beginning
 *   p id name locations count member...       group of ranks; locations is 1 for the list that ranks are places in
 *   c id name group                           communicator
 *
 * Exit code 0 if the archive is whole.
 */
#include "otf2.h"

static unsigned long line = 1;

static void fail(const char *what)
{
    fprintf(stderr, "marple-otf2: line %lu: %s\n", line, what);
    exit(1);
}

static void check(OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS)
        fail(OTF2_Error_GetDescription(code));
}

static uint64_t number(void)
{
    uint64_t x;
    if (scanf("%" SCNu64, &x) != 1)
        fail("expected a number");
    return x;
}

/* text is the caller's to free. */
static char *text(void)
{
    uint64_t size = number();
    if (size > 1 << 24 || getchar() != ':')
        fail("expected LENGTH:BYTES");
    char *s = malloc(size + 1);
    if (s == NULL || fread(s, 1, size, stdin) != size)
        fail("the text ends too early");
    s[size] = 0;
    return s;
}

static OTF2_FlushType before_flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
    (void)user, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}

static OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};

/* Numbers of events, by location: places in the order in which locations came. */
static struct place {
    uint64_t location, events;
} *places;
static size_t count;

static uint64_t events_of(uint64_t location)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].location == location)
            return places[i].events;
    return 0;
}

static void close_events(OTF2_Archive *archive, OTF2_EvtWriter *w)
{
    if (w == NULL)
        return;
    check(OTF2_EvtWriter_GetNumberOfEvents(w, &places[count - 1].events));
    check(OTF2_Archive_CloseEvtWriter(archive, w));
}

static OTF2_EvtWriter *open_events(OTF2_Archive *archive)
{
    places = realloc(places, (count + 1) * sizeof *places);
    if (places == NULL)
        fail("no memory");
    places[count++] = (struct place){.location = number()};
    OTF2_EvtWriter *w = OTF2_Archive_GetEvtWriter(archive, places[count - 1].location);
    if (w == NULL)
        fail("the location cannot be written");
    return w;
}

static void event(OTF2_EvtWriter *w, int kind)
{
    if (w == NULL)
        fail("an event before any location");
    uint64_t time = number(), a[5];
    int more = kind == 'C' ? 0 : strchr("ELJPX", kind) ? 1 : kind == 'V' ? 2 : strchr("DIQ", kind) ? 5 : 4;
    for (int i = 0; i < more; i++)
        a[i] = number();
    switch (kind) {
    case 'E': check(OTF2_EvtWriter_Enter(w, NULL, time, a[0])); break;
    case 'L': check(OTF2_EvtWriter_Leave(w, NULL, time, a[0])); break;
    case 'S': check(OTF2_EvtWriter_MpiSend(w, NULL, time, a[0], a[1], a[2], a[3])); break;
    case 'R': check(OTF2_EvtWriter_MpiRecv(w, NULL, time, a[0], a[1], a[2], a[3])); break;
    case 'I': check(OTF2_EvtWriter_MpiIsend(w, NULL, time, a[0], a[1], a[2], a[3], a[4])); break;
    case 'Q': check(OTF2_EvtWriter_MpiIrecv(w, NULL, time, a[0], a[1], a[2], a[3], a[4])); break;
    case 'J': check(OTF2_EvtWriter_MpiIsendComplete(w, NULL, time, a[0])); break;
    case 'P': check(OTF2_EvtWriter_MpiIrecvRequest(w, NULL, time, a[0])); break;
    case 'X': check(OTF2_EvtWriter_MpiRequestCancelled(w, NULL, time, a[0])); break;
    case 'V':
        check(OTF2_EvtWriter_Metric(w, NULL, time, a[0], 1, &(OTF2_Type){OTF2_TYPE_UINT64}, &(OTF2_MetricValue){.unsigned_int = a[1]}));
        break;
    case 'C': check(OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, time)); break;
    case 'D': check(OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, time, a[0], a[1], a[2], a[3], a[4])); break;
    }
}

static void group(OTF2_GlobalDefWriter *w)
{
    uint64_t id = number(), name = number(), locations = number(), size = number();
    uint64_t *members = calloc(size + 1, sizeof *members);
    if (members == NULL)
        fail("no memory");
    for (uint64_t i = 0; i < size; i++)
        members[i] = number();
    check(OTF2_GlobalDefWriter_WriteGroup(w, id, name, locations ? OTF2_GROUP_TYPE_COMM_LOCATIONS : OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, size, members));
    free(members);
}

static void describe(OTF2_Archive *archive)
{
    char *s = text();
    check(OTF2_Archive_SetDescription(archive, s));
    free(s);
}

static void definition(OTF2_GlobalDefWriter *w, int kind)
{
    if (kind == 'p') {
        group(w);
        return;
    }
    uint64_t id = number();
    if (kind == 's') {
        char *s = text();
        check(OTF2_GlobalDefWriter_WriteString(w, id, s));
        free(s);
        return;
    }
    uint64_t name = number(), a = kind == 'n' || kind == 't' ? number() : 0, b = number();
    switch (kind) {
    case 't': check(OTF2_GlobalDefWriter_WriteClockProperties(w, id, name, a, b)); break;
    case 'n': check(OTF2_GlobalDefWriter_WriteSystemTreeNode(w, id, name, a, b)); break;
    case 'g':
        check(OTF2_GlobalDefWriter_WriteLocationGroup(w, id, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, b, OTF2_UNDEFINED_LOCATION_GROUP));
        break;
    case 'o': check(OTF2_GlobalDefWriter_WriteLocation(w, id, name, OTF2_LOCATION_TYPE_CPU_THREAD, events_of(id), b)); break;
    case 'r':
        check(OTF2_GlobalDefWriter_WriteRegion(w, id, name, name, 0, b ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_CODE,
                                               b == 1 ? OTF2_PARADIGM_MPI : b ? OTF2_PARADIGM_COMPILER : OTF2_PARADIGM_USER,
                                               OTF2_REGION_FLAG_NONE, 0, 0, 0));
        break;
    case 'm': /* of which each is a class of its own */
        check(OTF2_GlobalDefWriter_WriteMetricMember(w, id, name, 0, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64,
                                                     OTF2_BASE_DECIMAL, 0, b));
        check(OTF2_GlobalDefWriter_WriteMetricClass(w, id, 1, &(OTF2_MetricMemberRef){id}, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
        break;
    case 'c': check(OTF2_GlobalDefWriter_WriteComm(w, id, name, b, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE)); break;
    default: fail("expected an event, a definition or the dot");
    }
}

static OTF2_GlobalDefWriter *definitions(OTF2_Archive *archive)
{
    check(OTF2_Archive_CloseEvtFiles(archive));
    check(OTF2_Archive_OpenDefFiles(archive));
    for (size_t i = 0; i < count; i++)
        check(OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, places[i].location)));
    check(OTF2_Archive_CloseDefFiles(archive));
    OTF2_GlobalDefWriter *w = OTF2_Archive_GetGlobalDefWriter(archive);
    if (w == NULL)
        fail("the definitions cannot be written");
    return w;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--read") == 0)
        return read_archive(argv[2]);
    if (argc != 2) {
        fprintf(stderr, "usage: marple-otf2 DIRECTORY | marple-otf2 --read ANCHOR\n");
        return 2;
    }
    OTF2_Archive *archive = OTF2_Archive_Open(argv[1], "traces", OTF2_FILEMODE_WRITE, 1 << 20, 4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive == NULL)
        fail("the archive cannot be made");
    check(OTF2_Archive_SetFlushCallbacks(archive, &flush, NULL));
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    check(OTF2_Archive_SetCreator(archive, "marple"));
    check(OTF2_Archive_OpenEvtFiles(archive));
    OTF2_EvtWriter *events = NULL;
    OTF2_GlobalDefWriter *global = NULL;
    for (int kind; (kind = getchar()) != '.';) {
        switch (kind) {
        case '\n': line++; break;
        case EOF: fail("the input ends too early"); break;
        case 'l':
            close_events(archive, events);
            events = open_events(archive);
            break;
        case 'E': case 'L': case 'S': case 'R': case 'C': case 'D': case 'I': case 'Q': case 'J': case 'P': case 'X': case 'V': event(events, kind); break;
        case 'd': describe(archive); break;
        default:
            if (global == NULL) {
                close_events(archive, events);
                events = NULL;
                global = definitions(archive);
            }
            definition(global, kind);
        }
    }
    check(OTF2_Archive_Close(archive));
    free(places);
    return 0;
}
