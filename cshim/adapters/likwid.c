/*
 * LIKWID's markers: the functions likwid_marker* that the macros of likwid-marker.h call in a program that is linked with
 * liblikwid. Regions are regions. LIKWID's own are called first, and what they return is returned: under likwid-perfctr both
 * measure.
 */
#include "adapter.h"

static const struct mrl_adapter markers = {"likwid", "LIKWID"};

/* Looked up once. Where the program has the macros but no liblikwid can be found, nothing has failed. */
#define PASS_ON(name, result, region)                                    \
    static int (*_Atomic next_##name)(const char *);                     \
    static _Atomic bool asked_##name;                                    \
    if (unlikely(!asked_##name)) {                                       \
        next_##name = (int (*)(const char *))mrl_adapter_next(#name);    \
        asked_##name = true;                                             \
    }                                                                    \
    int result = next_##name ? next_##name(region) : 0

MRL_ENTRY int likwid_markerStartRegion(const char *region)
{
    PASS_ON(likwid_markerStartRegion, result, region);
    mrl_adapter_begin(&markers, region, MRL_CALLER);
    return result;
}

MRL_ENTRY int likwid_markerStopRegion(const char *region)
{
    mrl_adapter_end_innermost(&markers, region);
    PASS_ON(likwid_markerStopRegion, result, region);
    return result;
}
