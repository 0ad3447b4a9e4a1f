/*
 * Names of values wherever they may lie: at the end of a page that nothing follows, longer than a word, and at an
 * address where another name was before. Every invocation gives a value under one name, which says what it is.
 */
#include <marple.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct marple_method give = MARPLE_METHOD("Names", "give");

static void invoke(const char *name, int64_t value)
{
    struct marple_invocation call;
    marple_invocation_begin(&call, &give, NULL);
    marple_integer(&call, name, value);
    marple_invocation_end(&call);
}

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || munmap(pages + page, page))
        return 1;
    for (int round = 0; round < 3; round++) {
        char buffer[300];
        for (int length = 1; length <= 20; length++) { /* the last one, as others were at this address before */
            for (int last = 0; last < 2; last++) {
                snprintf(buffer, sizeof buffer, "%.*s%c", length - 1, "an often used name of a value", last ? 'y' : 'x');
                invoke(buffer, 100 * length + last);
                char *end = pages + page - strlen(buffer) - 1;
                strcpy(end, buffer);
                invoke(end, 100 * length + last);
            }
        }
        memset(buffer, 'n', sizeof buffer);
        buffer[255] = 0; /* the longest that is told apart */
        invoke(buffer, 9);
    }
    return 0;
}
