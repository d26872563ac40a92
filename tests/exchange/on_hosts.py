"""One rank of a group on two hosts: python -m tests.exchange.on_hosts FOLDER RANK SIZE TOWARD."""

import json
import sys

import numpy as np

from sparkdl.exchange.group import Group
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from tests.exchange.crew import SECRET

COUNT = 1_000_000


def main(folder, rank, size, toward):
    place = FileRendezvous(folder, int(rank), int(size))
    with Group.form(place, SECRET, timeout=30.0, toward=toward) as group:
        flat = group.split(0, shared_memory=False)
        before = group.sent_bytes
        total = group.all_reduce(np.ones(COUNT, np.float32))[-1]
        levels = group.sent_bytes - before
        flat.all_reduce(np.ones(COUNT, np.float32))
        print(json.dumps([float(total), levels, group.sent_bytes - before - levels]))


if __name__ == "__main__":
    main(*sys.argv[1:])
