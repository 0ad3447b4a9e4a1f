"""Computes in the main thread and in another one, each for a part of a second of CPU time, whatever else runs."""
import sys
import threading
import time

from mpi4py import MPI


def solve(seconds, clock):
    begin, total = clock(), 0.0
    while clock() - begin < seconds:
        for i in range(2000):
            total += i * 0.5  # computed
    return total


def besides(seconds):
    solve(seconds, time.thread_time)  # besides


MPI.COMM_WORLD.Barrier()
thread = threading.Thread(target=besides, args=(float(sys.argv[1]),))
thread.start()
solve(float(sys.argv[1]), time.thread_time)  # main
thread.join()
MPI.COMM_WORLD.Barrier()
