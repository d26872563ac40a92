"""sparkdl caffe device_query: the processor and the GPUs of this machine."""

import os
import platform
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from sparkdl.nn.execution.timing import peak
from sparkdl.training.rounds.replica import limit_threads

GPU_FIELDS = "index,name,memory.total,compute_cap,driver_version"
TIMEOUT = 20  # seconds for nvidia-smi


def device_query(arguments):
    """Prints the devices, one line each."""
    print("\n".join([*processor(), *gpus()]))


def processor():
    """Yields the processor's name, cores available to this process, memory and matmul speed."""
    limit_threads()
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield f"processor: {processor_name()}"
    yield f"  cores: {cores} of {os.cpu_count()}"
    yield f"  memory: {memory / 2**30:.1f} GiB"
    yield f"  large matrix product: {peak() / 1e9:.0f} GFLOP/s"


def processor_name():
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def gpus():
    """Returns a line for each GPU that the driver knows, or the reason why there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ["GPUs: none (there is no nvidia-smi)"]
    command = [program, f"--query-gpu={GPU_FIELDS}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return [f"GPUs: nvidia-smi did not answer in {TIMEOUT} seconds"]
    if done.returncode:
        return [f"GPUs: {(done.stdout or done.stderr).strip() or 'none'}"]
    names = ("GPU", "name", "memory", "compute capability", "driver")
    rows = [zip(names, line.split(", "), strict=False) for line in done.stdout.splitlines()]
    return [", ".join(f"{name} {value}" for name, value in row) for row in rows]
