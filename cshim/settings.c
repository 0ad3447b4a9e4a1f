/*
 * Settings arrive as MARPLE_* variables; `marple exec` turns flags and configuration files into them.
 * The list is generated from the one table (analysis/setting). A bad value is reported once and its
 * preset used: a typing error must not cost anybody a run.
 */
#include "core.h"
#include "shim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_text(char *field, size_t size, const char *variable, const char *preset)
{
    const char *value = getenv(variable);
    if (value && strlen(value) >= size) {
        mrl_say("%s is longer than %zu bytes; using \"%s\"", variable, size - 1, preset);
        value = NULL;
    }
    strcpy(field, value ? value : preset);
}

static int64_t read_number(const char *variable, int64_t preset, int64_t least, int64_t most, const char *const *names)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return preset;
    for (int i = 0; names[i]; i++)
        if (strcmp(value, names[i]) == 0)
            return least + i;
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || *end || number < least || number > most) {
        char words[64] = "";
        for (int i = 0; names[i]; i++) {
            strncat(words, names[i], sizeof words - strlen(words) - 1);
            strncat(words, ", ", sizeof words - strlen(words) - 1);
        }
        mrl_say("%s=\"%.60s\": expected %sa whole number from %lld to %lld; using %lld", variable, value, words,
                (long long)least, (long long)most, (long long)preset);
        return preset;
    }
    return number;
}

static int read_choice(const char *variable, int preset, const char *const *choices)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return preset;
    char expected[256] = "";
    size_t used = 0;
    for (int i = 0; choices[i]; i++) {
        if (strcmp(value, choices[i]) == 0)
            return i;
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s", i ? ", " : "", choices[i]);
        if (used >= sizeof expected)
            used = sizeof expected - 1;
    }
    mrl_say("%s=\"%.60s\": expected one of %s; using %s", variable, value, expected, choices[preset]);
    return preset;
}

/* The same for all processes of a job, without asking each other. A run outside of any job is always measured. */
static bool chosen(int64_t one_in)
{
    const char *job = mrl_job_id();
    return !job || mrl_hash(MRL_HASH, job) % (uint64_t)one_in == 0;
}

/*
 * Nobody has asked for a report who could be told of trouble, so nothing is said. What finds wait states (logs, and their
 * replay at the end) costs most, and is left out unless the site asks for it.
 */
static void measure_for_site(struct mrl_settings *s)
{
    if (!getenv("MARPLE_LOG"))
        s->log = 0;
    s->trace = s->keep_raw = 0;
    s->report = MRL_REPORT_NONE;
    s->enable = s->enable && *s->spool && chosen(s->site);
}

void mrl_settings_read(void)
{
    const char *site = getenv("MARPLE_SITE");
    mrl.quiet = site && atoi(site) > 0;
    mrl_say_begin();
    struct mrl_settings *s = &mrl.settings;
#define MRL_TEXT(field, variable, preset) read_text(s->field, sizeof s->field, variable, preset);
#define MRL_NUMBER(field, variable, preset, least, most, ...) \
    s->field = read_number(variable, preset, least, most, (const char *const[]){__VA_ARGS__});
#define MRL_CHOICE(field, variable, preset, ...) \
    s->field = read_choice(variable, preset, (const char *const[]){__VA_ARGS__});
#include "settings.gen.h"
    mrl.quiet = s->site != 0;
    if (s->site)
        measure_for_site(s);
    if (s->trace) {
        s->keep_raw = 1;
        s->log = s->log > s->trace ? s->log : s->trace;
    }
    if (getenv("MARPLE_CONFIG") && !getenv("MARPLE_EXEC"))
        mrl_say("MARPLE_CONFIG is read by `marple exec`; a preloaded library takes MARPLE_* variables only");
}
