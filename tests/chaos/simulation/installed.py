"""The modules of sparkdl.exchange over the clock, threads and network of a world."""

import importlib
import pkgutil
import select
import socket
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import sparkdl.exchange
from sparkdl.exchange import group
from sparkdl.exchange.connections import endpoint
from sparkdl.exchange.links import link, link_watch
from sparkdl.exchange.liveness.heartbeat import Heartbeat
from sparkdl.exchange.messages import wire
from tests.chaos.simulation import sockets, threads

for found in pkgutil.walk_packages(sparkdl.exchange.__path__, "sparkdl.exchange."):
    if not found.name.startswith(("sparkdl.exchange.devices", "sparkdl.exchange.cost_model")):
        importlib.import_module(found.name)


class Heartbeats:
    """The heartbeat of each process, which else is one object of its interpreter."""

    def __init__(self, world):
        self._world, self._of = world, {}

    @property
    def _own(self):
        return self._of.setdefault(self._world.current.process, Heartbeat())

    def add(self, target, every):
        self._own.add(target, every)

    def discard(self, target):
        self._own.discard(target)


@contextmanager
def installed(network):
    """In here the exchange runs in the network's world."""
    world = network.world
    threading_, time_, own = threads.modules(world)
    socket_, select_, os_ = sockets.modules(network)
    own |= {time: time_, threading: threading_, socket: socket_, select: select_}
    ours = {id(thing): replacement for thing, replacement in own.items()}
    heartbeats, changed = Heartbeats(world), []
    for name, module in list(sys.modules.items()):
        if name.startswith("sparkdl.exchange."):
            uses = [(key, ours.get(id(thing))) for key, thing in vars(module).items()]
            changed += [(module, key, replacement) for key, replacement in uses if replacement]
    changed += [(link_watch, "os", os_), (link_watch, "AWAKE", 0.0)]
    changed += [(link, "fcntl", SimpleNamespace(ioctl=sockets.unconfirmed))]
    changed += [(endpoint, "own_address", lambda *_: world.current.process.name)]
    changed += [(module, "HEARTBEAT", heartbeats) for module in (group, wire)]
    kept = [(module, key, getattr(module, key)) for module, key, _ in changed]
    for module, key, value in changed:
        setattr(module, key, value)
    try:
        yield
    finally:
        for module, key, value in kept:
            setattr(module, key, value)
