"""GPUs that this process may take, set by whoever started it."""

from dataclasses import dataclass


@dataclass
class DeviceGrant:
    """The GPUs that a process may take.

    Parameters
    ----------
    addresses : tuple of str
        That its cluster dealt to its task; none where it deals out no GPUs.
    turn : int
        Among the processes of this machine that share the GPUs they see: the first takes the first.
    """

    addresses: tuple[str, ...] = ()
    turn: int = 0


GRANT = DeviceGrant()


def grant_devices(addresses, turn=0):
    """Sets the GPUs that this process may take, before their backend is used; see DeviceGrant."""
    GRANT.addresses, GRANT.turn = tuple(addresses), turn
