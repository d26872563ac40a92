"""Bare sockets: the bytes of a ring all-reduce without its sums, and a ping-pong.

Each process sends the total bytes of a ring all-reduce to its right neighbor while receiving as
many from its left, in sends as large as the kernel accepts, with one thread per direction or one
for both. Which is faster depends on the free cores.
"""

import select
import socket
from threading import Thread

import numpy as np

from tests.benchmarks.exchange.member import found, left, place, serve

BUFFER = 4 << 20


class Ring:
    """Connections to the neighbors."""

    def __init__(self, rank, size):
        self.rank, self.size, self.taken = rank, size, np.empty(0, np.uint8)
        with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
            left(f"port{rank}", str(listener.getsockname()[1]))
            port = int(found(f"port{(rank + 1) % size}"))
            self.right = fast(socket.create_connection(("127.0.0.1", port)))
            self.left = fast(listener.accept()[0])

    def two_threads(self, vector):
        """Sends and receives 2 (R - 1) / R of the vector's bytes at the same time."""
        sending, taking = self.parts(vector)
        sender = Thread(target=self.send, args=(sending,))
        sender.start()
        for part in taking:
            self.receive(part)
        sender.join()

    def one_thread(self, vector):
        """Does the same with poll."""
        sending, taking = self.parts(vector)
        ways = {
            self.right.fileno(): (self.right.send, sending, select.POLLOUT),
            self.left.fileno(): (self.left.recv_into, taking, select.POLLIN),
        }
        poll = select.poll()
        for number, (_, _, event) in ways.items():
            poll.register(number, event)
        self.waiting(False)
        while sending or taking:
            for number, _ in poll.poll():
                move, parts, _ = ways[number]
                parts[0] = parts[0][move(parts[0]) :]
                if not parts[0]:
                    parts.pop(0)
                if not parts:
                    poll.unregister(number)
        self.waiting(True)

    def waiting(self, blocking):
        for one in (self.left, self.right):
            one.setblocking(blocking)

    def parts(self, vector):
        """Returns views of the bytes to send and of the receive buffer, as many as a ring needs."""
        data = vector.view(np.uint8)
        if len(self.taken) != len(data):
            self.taken = np.zeros_like(data)
        total = 2 * (self.size - 1) * len(data) // self.size
        return parts(data, total), parts(self.taken, total)

    def send(self, parts):
        for part in parts:
            self.right.sendall(part)

    def receive(self, part):
        got = 0
        while got < len(part):
            got += self.left.recv_into(part[got:])

    def ping_pong(self, vector):
        """Sends the vector's bytes to the neighbor and back."""
        data = vector.view(np.uint8)
        if self.rank == 0:
            self.right.sendall(data)
            self.receive(data)
        else:
            self.receive(data)
            self.right.sendall(data)


def parts(data, total):
    """Returns views of `data` with `total` bytes in all, repeating it as needed."""
    return [memoryview(data)[: min(len(data), total - at)] for at in range(0, total, len(data))]


def fast(one):
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        one.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    return one


def main():
    rank, size = place()
    ring = Ring(rank, size)
    actions = {"two_threads": ring.two_threads, "one_thread": ring.one_thread}
    actions["ping_pong"] = ring.ping_pong
    serve(rank, "", actions)


if __name__ == "__main__":
    main()
