"""The exchange in a world of its own: its clock, network, threads and faults follow from a seed.

The code of sparkdl.exchange runs as it is, over modules `time`, `threading`, `socket` and `select`
of that world. One thread runs at a time, and gives way only where it would wait.
"""
