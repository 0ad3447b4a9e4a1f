/* Other PMPI tools in the same process, before ours. */
#ifndef MRL_STACKED_H
#define MRL_STACKED_H

#include <stdbool.h>

/* Makes the calls they take come here too. Called when the MPI library is known, before MPI_Init. */
void mrl_stacked(void);

/* Redirects an object's references to a function. False: it has none. */
struct link_map;
bool mrl_redirect(const struct link_map *object, const char *function, void *to);

#endif
