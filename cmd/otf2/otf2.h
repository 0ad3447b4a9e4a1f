/* What both halves of marple-otf2 include. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <otf2/otf2.h>

#if OTF2_VERSION_MAJOR < 3
#error "OTF2 3.0 or later is needed"
#endif

int read_archive(const char *anchor);
