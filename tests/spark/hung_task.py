"""A task whose GPU process hangs; it prints the id of that process and waits to be killed."""

from functools import partial

from sparkdl.spark.gpu_process.process import GpuProcess
from tests.spark.elsewhere import hang
from tests.support.cuda.spawned import OnHost


def main():
    process = GpuProcess((), 0)
    process.send("cuda", partial(hang, OnHost()), None)
    while process.receive(200.0, "the item that it is asked for")[0] != "next":
        pass
    process.send(1)
    print(process._process.pid, flush=True)
    process.receive(None, "its end")


if __name__ == "__main__":
    main()
