"""What whole numbers of torch's types floats can stand for, which are all that layers compute."""

from sparkdl.engine.dtypes import is_narrow
from sparkdl.errors import UnsupportedError

SMALL = {"torch.uint8", "torch.int8", "torch.int16"}  # torch's arithmetic wraps around in them
WHOLE = SMALL | {"torch.int32", "torch.int64"}
LOOK_UPS = {"embedding", "eq", "ne"}  # exact with whole numbers that floats have
IN_RANGE = {  # operations whose results never wrap around
    *("amax", "cat", "chunk", "clamp", "clamp_max", "clamp_min", "max", "pad", "relu", "select"),
    *("slice", "split", "split_with_sizes", "unbind"),
}


def check_whole(name, kinds, result, dtype, moves):
    """Refuses an operation that floats do not compute as torch does.

    Parameters
    ----------
    name : str
        Of the operation.
    kinds : set of str
        Types of the computed tensors that it reads.
    result : str
        Type of its result.
    dtype : str
        Of the network.
    moves : bool
        Whether its layers leave each number as it is.

    Raises
    ------
    UnsupportedError
        If the result would wrap around in torch, or if 16-bit floats would round whole numbers.
    """
    if result in SMALL and not moves and name not in IN_RANGE:
        raise UnsupportedError(f"arithmetic in {result}, which wraps around, is not supported")
    whole = not WHOLE.isdisjoint(kinds | {result})
    exact = name in LOOK_UPS or (moves and name != "to")
    if whole and is_narrow(dtype) and not exact:
        reason = f"computing with whole numbers in {dtype}, which rounds them,"
        raise UnsupportedError(f"{reason} is not supported")
