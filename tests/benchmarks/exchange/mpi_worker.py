"""Open MPI through mpi4py, over TCP or shared memory depending on mpiexec's options."""

from mpi4py import MPI

from tests.benchmarks.exchange.member import serve


def all_reduce(vector):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, vector)
    return vector


def main():
    version = MPI.Get_library_version().split(",")[0]
    serve(MPI.COMM_WORLD.rank, version, {"all_reduce": all_reduce})


if __name__ == "__main__":
    main()
