"""Exchange between processes: sparkdl against bare sockets, Open MPI, gloo, xgboost; slow links.

Each side has its own processes, and each peer its own environment, created on the first run. Sides
alternate, round after round; a ratio is the median over rounds of their time to ours: above 1
sparkdl is faster. Idle processes block in the kernel. Bars not reached are marked MISSED. `--only`
selects measures.
"""


def main(arguments):
    from tests.benchmarks.exchange import table  # peer processes import only this package

    table.main(arguments)
