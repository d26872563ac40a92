"""What a core of a server does in a second, for choices that need no more than an estimate."""

FLOPS = 6e10  # in a product that fits its caches
BYTES = 1.5e10  # that it reads and writes
