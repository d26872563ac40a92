"""What takes the place of the modules `socket` and `select`, and of what `os` has of pipes."""

import os
import select
import socket

from tests.chaos.simulation.network import Connection, Listener, dial
from tests.chaos.simulation.world import TICK, Waitable

KINDS = "AF_INET AF_INET6 AF_UNIX SOCK_STREAM SHUT_RD SHUT_WR SHUT_RDWR SOL_SOCKET SO_RCVLOWAT"
KINDS += " SO_SNDBUF SO_RCVBUF SO_REUSEADDR IPPROTO_TCP TCP_NODELAY"


def modules(network):
    """Returns (socket, select, os) of a network's world, as modules have them."""
    world = network.world

    class Socket:
        family = socket.AF_INET

        def __init__(self, kind=None, connection=None):
            self.end, self._timeout, self._address = connection, None, None

        def fileno(self):
            return self.end.number

        def setblocking(self, flag):
            self._timeout = None if flag else 0.0

        def settimeout(self, seconds):
            self._timeout = seconds

        def setsockopt(self, level, option, value):
            if option == socket.SO_RCVLOWAT:
                self.end.least = value
                self.end.touch()

        def bind(self, address):
            self._address = (address[0], address[1] or 1024 + next(network.numbers))

        def listen(self, backlog):
            self.end = Listener(network, world.current.process, self._address)

        def getsockname(self):
            return self._address or ("", id(self))

        def getpeername(self):
            return (self.end.peer.process.name, 1)

        def connect(self, address):
            until = self._until()
            self.end = dial(network, world.current.process, address, until)

        def accept(self):
            until = self._until()
            while not self.end.backlog:
                if self.end.is_closed:
                    raise OSError(22, "Invalid argument")
                self._wait(until)
            there = self.end.backlog.pop(0)
            return Socket(connection=there), there.peer.process.address

        def send(self, data):
            return self.sendmsg([data])

        def sendmsg(self, views):
            world.check()
            data, until = b"".join(views), self._until()
            while not (sent := self.end.push(data)) and data:
                self._wait(until)
            return sent

        def sendall(self, data):
            while data:
                data = data[self.send(data) :]

        def recv(self, count):
            world.check()
            until = self._until()
            while not (part := self._taken(count)) and not self.end.has_end:
                self._wait(until)
            return part

        def recv_into(self, view):
            part = self.recv(len(view))
            view[: len(part)] = part
            return len(part)

        def recvmsg_into(self, views):
            part, at = self.recv(sum(map(len, views))), 0
            for view in views:
                piece = part[at : at + len(view)]
                view[: len(piece)] = piece
                at += len(piece)
            return len(part), [], 0, None

        def shutdown(self, how):
            world.check()
            if isinstance(self.end, Listener):
                self.end.close()
                return
            if self.end is None or self.end.is_closed or self.end.is_reset:
                raise OSError(107, "Transport endpoint is not connected")
            if how != socket.SHUT_RD:
                self.end.shut()
            if how != socket.SHUT_WR:
                self.end.has_end = True
            self.end.touch()

        def close(self):
            if self.end is not None and not world.is_over:
                self.end.close()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def _taken(self, count):
            if self.end.is_closed:
                raise OSError(9, "Bad file descriptor")
            return self.end.take(count)

        def _until(self):
            return None if self._timeout is None else world.now + self._timeout

        def _wait(self, until):
            if self._timeout == 0.0:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            if until is not None and world.now >= until:
                raise TimeoutError("timed out")
            world.wait([self.end], until)

    class Poll(Waitable):
        def __init__(self):
            super().__init__()
            self.masks, self.candidates = {}, set()

        def register(self, thing, mask=select.POLLIN | select.POLLOUT):
            number = thing if isinstance(thing, int) else thing.fileno()
            network.by_number[number].pollers[self] = None
            self.masks[number] = mask
            self.candidates.add(number)

        modify = register

        def unregister(self, thing):
            number = thing if isinstance(thing, int) else thing.fileno()
            del self.masks[number]

        def poll(self, milliseconds=None):
            world.check()
            until = None if milliseconds is None else world.now + milliseconds / 1000
            if until is not None and milliseconds > 0:
                until = max(until, world.now + TICK)  # a remainder below what numbers tell apart
            while not (events := self._events()) and (until is None or world.now < until):
                world.wait([self], until)
            return events

        def _events(self):
            events = [(number, self._event(number)) for number in sorted(self.candidates)]
            events = [(number, event) for number, event in events if event]
            self.candidates = {number for number, _ in events}
            return events

        def _event(self, number):
            end, mask = network.by_number.get(number), self.masks.get(number)
            if end is None or mask is None:
                return 0
            event = mask & (select.POLLIN * end.is_readable | select.POLLOUT * (end.is_writable))
            return event | select.POLLHUP * end.is_over | select.POLLERR * end.is_reset

    class SocketModule:
        @staticmethod
        def getaddrinfo(host, port, type=None):
            return [(socket.AF_INET, None, None, "", (host, port))]

        @staticmethod
        def gethostname():
            return world.current.process.name

    class Select:
        POLLIN, POLLOUT = select.POLLIN, select.POLLOUT  # those that the exchange names
        poll = Poll

    class Os:
        environ, sched_yield = os.environ, staticmethod(world.give_way)

        @staticmethod
        def pipe():
            ends = [Connection(network, world.current.process) for _ in range(2)]
            ends[0].peer, ends[1].peer = ends[1], ends[0]
            return [end.number for end in ends]

        @staticmethod
        def set_blocking(number, flag):
            """They never wait here."""

        @staticmethod
        def write(number, data):
            end = network.by_number[number]
            end.peer.inbox += data
            end.unread += len(data)
            end.peer.touch()

        @staticmethod
        def read(number, count):
            return network.by_number[number].take(count)

        @staticmethod
        def close(number):
            if not world.is_over:
                network.by_number[number].close()

    SocketModule.socket = Socket
    for name in KINDS.split():
        setattr(SocketModule, name, getattr(socket, name))
    return SocketModule, Select, Os


def unconfirmed(sock, operation, buffer):
    """What takes the place of `fcntl.ioctl`: the bytes that have not arrived."""
    count = 0 if sock.end.is_reset else sock.end.in_flight
    return count.to_bytes(len(buffer), "little")
