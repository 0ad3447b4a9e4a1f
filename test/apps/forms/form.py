"""The program of form.c through mpi4py, whose MPI library is loaded late."""
from mpi4py import MPI
import array

N = 100
world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
right, left = (rank + 1) % ranks, (rank + ranks - 1) % ranks
a, b = array.array("d", [rank] * N), array.array("d", [0] * N)
everything, other = array.array("d", [0] * 64 * N), array.array("d", [0] * 64 * N)


def part(buffer, count):
    return [buffer, count, MPI.DOUBLE]


if rank % 2 == 0:
    world.Send(part(a, N), right, 5)
    world.Recv(part(b, N), MPI.ANY_SOURCE, 5, MPI.Status())
else:
    world.Recv(part(b, N), MPI.ANY_SOURCE, MPI.ANY_TAG)
    world.Ssend(part(a, N), right, 5)
r = [world.Irecv(part(b, N), left, 6), world.Irecv(part(everything, 20), right, 7),
     world.Isend(part(a, 50), right, 6), world.Isend(part(a, 20), left, 7)]
MPI.Request.Waitall(r)
r = [world.Irecv(part(b, N), left, 8), world.Irecv(part(everything, N), right, 9),
     world.Isend(part(a, 1), right, 8), world.Isend(part(a, 2), left, 9)]
sends = r[2:]
MPI.Request.Waitany(sends, MPI.Status())
MPI.Request.Waitany(sends)
MPI.Request.Waitall(r, [MPI.Status() for _ in r])
world.Sendrecv(part(a, 3), MPI.PROC_NULL, 1, part(b, 3), MPI.PROC_NULL, 1)
world.Sendrecv(part(a, 30), left, 1, part(b, N), right, 1, MPI.Status())
p = [world.Send_init(part(a, 4), right, 2), world.Recv_init(part(b, 4), left, 2)]
for _ in range(3):
    MPI.Prequest.Startall(p)
    MPI.Request.Waitall(p)
p[0].Free()
p[1].Free()
request = world.Isend(part(a, 11), right, 3)
world.Probe(MPI.ANY_SOURCE, 3, MPI.Status())
world.Recv(part(b, 11), left, 3)
request.Wait()
world.Barrier()
world.Bcast(part(a, N), 1)
world.Reduce(part(a, 25), part(b, 25), MPI.SUM, 0)
world.Allreduce(part(a, N), part(b, N), MPI.MAX)
world.Allreduce(MPI.IN_PLACE, part(a, 7), MPI.SUM)
world.Allgather(part(a, 5), part(everything, 5))
world.Allgather(MPI.IN_PLACE, part(everything, 5))
world.Gatherv(part(a, 10 + rank), [everything, ([10 + i for i in range(ranks)], [i * N for i in range(ranks)]), MPI.DOUBLE], 0)
world.Alltoall(part(everything, 2), part(other, 2))
world.Ibarrier().Wait()
half = world.Split(rank % 2, rank)
half.Allreduce(part(a, 3), part(b, 3), MPI.SUM)
copy = half.Dup()
copy.Bcast(part(a, 9), 0)
copy.Free()
copy = world.Dup()
copy.Sendrecv(part(a, 6), right, 4, part(b, 6), left, 4)
copy.Free()
half.Free()
column = MPI.DOUBLE.Create_vector(10, 1, 2)
column.Commit()
world.Sendrecv([a, 2, column], right, 10, part(b, 20), left, 10)
column.Free()
MPI.COMM_SELF.Bcast([array.array("i", [0]), 1, MPI.INT], 0)
