"""A vector from one rank to another."""

from sparkdl.exchange.collectives.pieces import pieces, raw

PIECE = 512 << 10  # bytes


def send(call, x, to):
    """Sends flat x; ends when all of it has left this process."""
    for piece in pieces(raw(x), PIECE):
        call.send(to, piece)
    yield from ()


def receive(call, x, source):
    """Fills flat x."""
    yield from [call.receive(source, piece) for piece in pieces(raw(x), PIECE)]
