"""A key-value store over the processes of a job: see `store.KeyValueStore`."""

from sparkdl.exchange.store.levels import TwoLevelStore
from sparkdl.exchange.store.options import MODES, StoreOptions
from sparkdl.exchange.store.part import Circumstances, Outcome
from sparkdl.exchange.store.places import DRIVER, Places
from sparkdl.exchange.store.server import StoreServer
from sparkdl.exchange.store.store import KeyValueStore

__all__ = [
    "DRIVER",
    "MODES",
    "Circumstances",
    "KeyValueStore",
    "Outcome",
    "Places",
    "StoreOptions",
    "StoreServer",
    "TwoLevelStore",
]
