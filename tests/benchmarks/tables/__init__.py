"""Tables of ids: steps of DLRM and Wide & Deep against torch, and a table of 10^5 to 10^8 ids.

Every network reads 26 fields of ids, each with a table of 100,000 rows, Zipf-distributed, and 13
numbers. Torch uses EmbeddingBag(sparse=True): "by field", as most people write it, and "one table"
for all fields, with offset ids, which is less work. Batches are prepared in advance in each side's
format. Each side has its own process; bursts of steps alternate. A ratio is the median over rounds
of torch's time to ours: above 1 sparkdl is faster.

    python build.py bench tables --threads 1
    OMP_NUM_THREADS=1 python build.py bench tables rows
    python build.py bench tables hosts
    python build.py bench tables driver
"""


def main(arguments):
    # Not at the top: torch's processes import this package without sparkdl.
    from tests.benchmarks.tables import driver, hosts, networks, rows

    parts = {"rows": rows, "hosts": hosts, "driver": driver}
    if arguments[:1] and arguments[0] in parts:
        parts[arguments[0]].main(arguments[1:])
    else:
        networks.main(arguments)
