"""MPI from Python, in all the ways that make call paths difficult. Arguments: an MPI library, or mpi4py."""
import ctypes
import sys
import threading

if sys.argv[1] == "mpi4py":
    from mpi4py import MPI

    barrier = MPI.COMM_SELF.Barrier
    finalize = MPI.Finalize
else:
    ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
    mpi = ctypes.CDLL(None)
    if "mpich" in sys.argv[1]:
        own = ctypes.c_int(0x44000001)
    else:
        own = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_self")))
    mpi.MPI_Init_thread(None, None, 3, ctypes.byref(ctypes.c_int()))
    finalize = mpi.MPI_Finalize

    def barrier():
        mpi.MPI_Barrier(own)


def lines():
    barrier()  # first
    for _ in range(10):
        barrier()  # second
        barrier()  # third


class Größe:
    def schritt(self):
        lines()  # schritt

    def __call__(self, _):
        barrier()  # called by C
        return 0


def generated(n):
    for _ in range(n):
        barrier()  # generator
        yield


def deep(n):
    if n:
        deep(n - 1)  # deeper
    else:
        barrier()  # deepest


def hostile():
    barrier()  # hostile


def in_thread():
    for _ in range(20):
        barrier()  # thread


size = Größe()
for _ in range(5):
    size.schritt()  # loop
sorted([3, 2, 1], key=size)  # sorted
for _ in generated(7):  # for
    pass
sys.setrecursionlimit(6000)
deep(5000)  # deep

# Code that is freed, and whose memory other code gets.
for i in range(60):
    space = {"barrier": barrier}
    exec("\n" * (i % 3) + "def f%d():\n    barrier()\nf%d()\n" % (i, i), space)  # exec

name = "\x1b[31m\n\u202ered" + "x" * 10000
code = hostile.__code__.replace(co_name=name, co_filename="/" + "é" * 300 + "/end.py")
if sys.version_info >= (3, 11):
    code = code.replace(co_qualname=name)
hostile.__code__ = code
hostile()  # calls hostile

if sys.argv[1] != "mpi4py" or MPI.Query_thread() == MPI.THREAD_MULTIPLE:
    threads = [threading.Thread(target=in_thread) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
finalize()
