"""Tables of ids: steps of DLRM and Wide & Deep beside torch, and a table from 10^5 to 10^8 ids.

Every network reads 26 fields of ids, each with a table of 100,000 rows, drawn by Zipf's law, and 13
numbers. Torch has them as EmbeddingBag(sparse=True): "by field", as most people write it, and
"one table" for all fields, whose ids are offset, which is less work. Both sides get their batches
made, as they like them. Each is a process of its own; bursts of steps alternate. Ratios are medians
over the rounds of torch by ours, so above 1 sparkdl is faster.

    python build.py bench tables --threads 1
    OMP_NUM_THREADS=1 python build.py bench tables rows
    python build.py bench tables hosts
    python build.py bench tables driver
"""


def main(arguments):
    # Not above: torch's processes, which import this package, have no sparkdl.
    from tests.benchmarks.tables import driver, hosts, networks, rows

    parts = {"rows": rows, "hosts": hosts, "driver": driver}
    if arguments[:1] and arguments[0] in parts:
        parts[arguments[0]].main(arguments[1:])
    else:
        networks.main(arguments)
