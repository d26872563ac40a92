"""Faults of the link between two hosts: functions of the host and of an Event that ends the fault.

nftables drops the packets (apt-get install nftables).
"""

from contextlib import suppress

import psutil

from tests.chaos.process_faults import LONG, SHORT

# Spark's own ports, so that a fault may be of sparkdl's connections alone; see `SETTINGS`.
MASTER, DRIVER, DRIVER_BLOCKS, BLOCKS = 7077, 7078, 7079, 7080
OF_SPARK = f"{{ {MASTER}, {DRIVER}, {DRIVER_BLOCKS}, {BLOCKS} }}"
SETTINGS = {
    "spark.driver.port": DRIVER,
    "spark.driver.blockManager.port": DRIVER_BLOCKS,
    "spark.blockManager.port": BLOCKS,
}
RULES = """
table inet chaos {{
  chain arriving {{ type filter hook input priority 0; {arriving}; }}
  chain leaving {{ type filter hook output priority 0; {leaving}; }}
}}
"""
ARRIVING, LEAVING = "iifname eth0", "oifname eth0"
SOME = "numgen random mod 100 < 5"
OURS = f"tcp sport != {OF_SPARK} tcp dport != {OF_SPARK}"


def cutting(seconds):
    def cut(host, over):
        host.cut()
        over.wait(seconds)
        host.mend()

    return cut


def filtering(arriving, leaving, seconds=None):
    """Returns a fault made by nftables rules; None: until the end of the fit."""

    def drop(host, over):
        rules = RULES.format(arriving=arriving, leaving=leaving)
        host.run("nft", "--file", "-", input=rules)
        over.wait(seconds)
        heal(host)

    return drop


def limiting(rate):
    def slow(host, over):
        host.limit(rate)
        over.wait()
        host.limit(None)

    return slow


def reset(host, over):
    """Resets all connections of the host, including Spark's."""
    host.run("ss", "--kill", "state", "established", check=False)


def kill_executor(host, over):
    for pid, command in host.processes().items():
        if "CoarseGrainedExecutorBackend" in command:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()


def heal(host):
    """Removes whatever a fault left behind."""
    host.run("nft", "flush", "ruleset")
    host.limit(None)
    host.mend()


LINK_FAULTS = {
    "link cut, short": cutting(SHORT),
    "link cut, long": cutting(LONG),
    "nothing arrives": filtering(f"{ARRIVING} drop", "accept", LONG),
    "nothing leaves": filtering("accept", f"{LEAVING} drop", LONG),
    "sparkdl's connections silent": filtering(
        f"{ARRIVING} {OURS} drop", f"{LEAVING} {OURS} drop", LONG
    ),
    "5 % of packets lost": filtering(f"{ARRIVING} {SOME} drop", f"{LEAVING} {SOME} drop"),
    "1 Mbit/s": limiting("1mbit"),
    "connections reset": reset,
    "executor killed": kill_executor,
}
