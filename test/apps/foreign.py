# A trace in OTF2 as Score-P writes one: 50 times, rank 1 waits 800 µs in MPI_Recv for rank 0, which computes in solve.
import otf2, sys
from otf2.enums import *
US = 2500 # ticks
with otf2.writer.open(sys.argv[1], timer_resolution=2500000000) as trace:
    d = trace.definitions
    machine = d.system_tree_node("cluster", class_name="machine")
    threads = []
    for rank in range(2):
        node = d.system_tree_node(f"n{rank}", class_name="node", parent=machine)
        group = d.location_group(f"MPI Rank {rank}", system_tree_parent=node)
        threads.append(d.location("Master thread", group=group))
    everyone = d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=threads)
    ranks = d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[0, 1])
    world = d.comm("MPI_COMM_WORLD", group=ranks)
    mpi = {n: d.region(n, paradigm=Paradigm.MPI, region_role=RegionRole.FUNCTION) for n in ("MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Finalize")}
    main = d.region("main", paradigm=Paradigm.COMPILER)
    solve = d.region("solve", paradigm=Paradigm.COMPILER)
    begin = 10**12
    for rank, thread in enumerate(threads):
        w = trace.event_writer_from_location(thread)
        w.enter(begin, main)
        w.enter(begin + 1 * US, mpi["MPI_Init"])
        w.leave(begin + 100 * US, mpi["MPI_Init"])
        for step in range(50):
            at = begin + (100 + 1000 * step) * US
            if rank == 0:
                w.enter(at, solve)
                w.leave(at + 900 * US, solve)
                w.enter(at + 900 * US, mpi["MPI_Send"])
                w.mpi_send(at + 900 * US, 1, world, 7, 80)
                w.leave(at + 950 * US, mpi["MPI_Send"])
            else:
                w.enter(at + 100 * US, mpi["MPI_Recv"])
                w.mpi_recv(at + 960 * US, 0, world, 7, 80)
                w.leave(at + 960 * US, mpi["MPI_Recv"])
        end = begin + (100 + 1000 * 50) * US
        w.enter(end, mpi["MPI_Finalize"])
        w.leave(end + 10 * US, mpi["MPI_Finalize"])
        w.leave(end + 11 * US, main)
