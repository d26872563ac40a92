"""gloo, as torch.distributed runs it on CPUs."""

import torch
import torch.distributed as dist

from tests.benchmarks.exchange.member import folder, place, serve


def all_reduce(vector):
    dist.all_reduce(torch.from_numpy(vector))
    return vector


def main():
    rank, size = place()
    where = f"file://{folder() / 'gloo'}"
    dist.init_process_group("gloo", init_method=where, rank=rank, world_size=size)
    serve(rank, f"torch {torch.__version__}", {"all_reduce": all_reduce})
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
