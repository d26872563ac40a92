"""Point-to-point transfer of a vector."""

from sparkdl.exchange.collectives.pieces import pieces, raw

PIECE = 512 << 10  # bytes


def send(call, x, to):
    """Sends flat x; ends when all of it has been handed to the system."""
    for piece in pieces(raw(x), PIECE):
        call.send(to, piece)
    yield from ()


def receive(call, x, source):
    """Fills flat x with the sender's vector."""
    yield from [call.receive(source, piece) for piece in pieces(raw(x), PIECE)]
