/* What a program calls of TAU, with TAU's names; and of the stand-in for it. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>

void Tau_start(const char *name);
void Tau_stop(const char *name);
void Tau_phase(const char *name, bool begins);
void Tau_trigger_userevent(const char *name, double value);
void Tau_metadata(const char *name, const char *value);

#endif
