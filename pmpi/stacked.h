/* Other PMPI tools in the same process, before ours. */
#ifndef MRL_STACKED_H
#define MRL_STACKED_H

/* Makes the calls they take come here too. Called when the MPI library is known, before MPI_Init. */
void mrl_stacked(void);

#endif
