"""MPI from Python: frames of the interpreter and of mpi4py are those of C functions."""
from mpi4py import MPI


def inner():
    MPI.COMM_WORLD.Barrier()


def outer():
    inner()


for _ in range(10):
    outer()
MPI.COMM_WORLD.Barrier()
