/* What models need to know of a machine, one value a line: its name, a tab, the value, in SI units. marple doctor --machine reads it. */
#ifndef MACHINE_H
#define MACHINE_H

/* Ping-pong between ranks 2k and 2k+1 with the MPI library in a file. */
int messages(const char *library);

#endif
