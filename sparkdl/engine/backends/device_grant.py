"""The GPUs that this process may use, set by the process that started it."""

from dataclasses import dataclass


@dataclass
class DeviceGrant:
    """The GPUs that a process may use.

    Parameters
    ----------
    addresses : tuple of str
        The GPUs that the cluster assigned to its task; none if it assigns no GPUs.
    turn : int
        The rank among processes of this machine that share the visible GPUs: the first takes the
        first.
    """

    addresses: tuple[str, ...] = ()
    turn: int = 0


GRANT = DeviceGrant()


def grant_devices(addresses, turn=0):
    """Sets the GPUs that this process may use, before their backend is used; see DeviceGrant."""
    GRANT.addresses, GRANT.turn = tuple(addresses), turn
