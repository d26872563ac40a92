"""Check that a state fits a network, and that its slots belong to the network's optimizers."""

from sparkdl.errors import ConfigError
from sparkdl.nn.networks.base import Conf
from sparkdl.training.saving.state import TrainState

CURE = "replace_optimizer(network, optimizer) keeps the weights, and begins the optimizer anew"
LONGEST = 80  # characters of a text of optimizers in an error


def slots_owner(conf: Conf) -> str:
    """Returns a text of a network's optimizers, with the number of parameters that each moves.

    Adjacent optimizers of one kind that keep at most one vector are merged: their slots are the
    same. Empty if another framework's optimizer trains.
    """
    if conf.has_own_optimizer:
        return ""
    kinds: list[tuple[str, int]] = []
    for group in conf.groups:
        kind, size = group.optimizer.type_name, group.layout.size
        kind += "" if group.optimizer.ema_decay is None else " with an average"
        if len(group.slots) < 2 and kinds and kinds[-1][0] == kind:
            size += kinds.pop()[1]
        kinds.append((kind, size))
    owners = [f"{kind} for {size} numbers" for kind, size in kinds]
    tables = getattr(conf, "tables", {})
    owners += [f"{optimizer.type_name} for table {name}" for name, optimizer in tables.items()]
    return ", ".join(owners)


def check_state(conf: Conf, state: TrainState) -> None:
    """Raises ConfigError if a state's parameters, buffers or slots do not fit a network.

    Slots of the right length may still belong to another optimizer, if the state says so.
    """
    owner = slots_owner(conf)
    for name in ("params", "buffers"):
        size, given = getattr(conf, f"{name}_layout").size, getattr(state, name).size
        if given != size:
            raise ConfigError(
                f"Network.state must be of this conf, with {size} numbers in {name}, got {given}; "
                "replace_output takes weights over to another network"
            )
    if state.slots_owner and owner and state.slots_owner != owner:
        raise ConfigError(
            f"Network.state must have slots of {brief_owner(owner)}, got slots of "
            f"{brief_owner(state.slots_owner)}; {CURE}"
        )
    if state.slots.size != conf.slots_layout.size:
        raise ConfigError(
            f"Network.state must have {conf.slots_layout.size} numbers in slots, as its optimizer "
            f"keeps them, got {state.slots.size}; {CURE}"
        )


def brief_owner(owner: str) -> str:
    """Returns a text of optimizers, truncated if long."""
    return owner if len(owner) <= LONGEST else f"{owner[:LONGEST]}..."
