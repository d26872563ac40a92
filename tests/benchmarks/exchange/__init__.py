"""Exchange between processes: sparkdl against bare sockets, Open MPI, gloo, xgboost; slow links.

Each side has processes of its own and each peer an environment of its own, made on the first run.
Sides take turns, round after round; a ratio is the median over the rounds of their time by ours,
so above 1 sparkdl is faster. Between its turns a process waits in the kernel. A bar that is not
reached is marked MISSED. `--only` takes some of the measures.
"""


def main(arguments):
    from tests.benchmarks.exchange import table  # peers' processes import this package alone

    table.main(arguments)
