"""Key-value store over the processes of a job; see `store.KeyValueStore`."""

from sparkdl.exchange.store.server.options import MODES, StoreOptions, require_modes
from sparkdl.exchange.store.server.places import DRIVER, Places
from sparkdl.exchange.store.server.store_server import StoreServer
from sparkdl.exchange.store.store import KeyValueStore

__all__ = [
    "DRIVER",
    "MODES",
    "KeyValueStore",
    "Places",
    "StoreOptions",
    "StoreServer",
    "require_modes",
]
