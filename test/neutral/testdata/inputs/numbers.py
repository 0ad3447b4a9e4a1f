from mpi4py import MPI

world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
parts = world.gather("rank %d" % world.rank)
right = world.sendrecv({"from": world.rank}, dest=(world.rank + 1) % world.size, source=(world.rank - 1) % world.size)
if world.rank == 0:
    print(total, parts, right)
