"""A proxy between two processes that flips one bit of the traffic."""

import json
import socket
import threading
from contextlib import ExitStack, contextmanager

BLOCK = 1 << 16


class Proxy:
    """Forwards all traffic between `address` and those who dial `self.address`.

    Parameters
    ----------
    flip : int or None
        Index of the byte, in the first caller's traffic, in which one bit is flipped.
    """

    def __init__(self, address, flip=None):
        self.target, self.flip, self.flipped = address, flip, False
        self._open, self._listener = ExitStack(), socket.create_server(("127.0.0.1", 0))
        self._open.enter_context(self._listener)
        self.address = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Closes all connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._open.close()

    def _accept(self):
        flip = self.flip
        while True:
            try:
                caller, _ = self._listener.accept()
                there = socket.create_connection(self.target)
            except OSError:  # the proxy is closed, or nothing listens there
                return
            self._open.enter_context(caller)
            self._open.enter_context(there)
            for one, other, byte in ((caller, there, flip), (there, caller, None)):
                threading.Thread(target=self._hand_on, args=(one, other, byte), daemon=True).start()
            flip = None

    def _hand_on(self, one, other, flip):
        passed = 0
        try:
            while part := bytearray(one.recv(BLOCK)):
                if flip is not None and passed <= flip < passed + len(part):
                    part[flip - passed] ^= 1 << flip % 8
                    self.flipped = True
                passed += len(part)
                other.sendall(part)
            other.shutdown(socket.SHUT_WR)
        except OSError:  # one side has hung up
            pass


class OnTheWay:
    """A rank's rendezvous that announces a Proxy in place of rank 0's address."""

    def __init__(self, rendezvous, flip=None):
        self.rendezvous, self.rank, self.size = rendezvous, rendezvous.rank, rendezvous.size
        self.flip, self.proxy = flip, None

    def all_gather(self, text, timeout):
        if self.rank == 0:
            text, self.proxy = through_proxy(text, self.flip)
        return self.rendezvous.all_gather(text, timeout)


def through_proxy(text, flip):
    """Returns (a member's text with the address of a Proxy, the Proxy)."""
    member = json.loads(text)
    proxy = Proxy((member["address"], member["port"]), flip)
    address, port = proxy.address
    return json.dumps(member | {"address": address, "port": port}), proxy


@contextmanager
def closing_proxies(places):
    """Yields the rendezvous of all ranks, then closes their proxies."""
    try:
        yield places
    finally:
        for place in places:
            if place.proxy is not None:
                place.proxy.close()
