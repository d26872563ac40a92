"""Communication among the processes of a job: rendezvous, collectives, key-value stores.

Only numpy vectors and plain bytes travel: no pickle, checked lengths, callers known by a secret.
"""

from sparkdl.exchange.endpoint import Endpoint
from sparkdl.exchange.group import Group
from sparkdl.exchange.meeting import AddressRendezvous, RendezvousServer
from sparkdl.exchange.rendezvous import FileRendezvous, Rendezvous
from sparkdl.exchange.store import KeyValueStore, Places, StoreServer, TwoLevelStore
from sparkdl.exchange.tls import Tls
from sparkdl.exchange.wire import Wire
