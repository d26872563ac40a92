"""Key-value store over the processes of a job; see `store.KeyValueStore`."""

from sparkdl.exchange.store.server.key_part import Outcome, UpdateContext
from sparkdl.exchange.store.server.options import MODES, StoreOptions
from sparkdl.exchange.store.server.places import DRIVER, Places
from sparkdl.exchange.store.server.store_server import StoreServer
from sparkdl.exchange.store.store import KeyValueStore
from sparkdl.exchange.store.two_level_store import TwoLevelStore

__all__ = [
    "DRIVER",
    "MODES",
    "UpdateContext",
    "KeyValueStore",
    "Outcome",
    "Places",
    "StoreOptions",
    "StoreServer",
    "TwoLevelStore",
]
