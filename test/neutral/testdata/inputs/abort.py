from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    MPI.COMM_WORLD.Abort(7)
MPI.COMM_WORLD.Barrier()
