"""What processes of a job do together: they find each other, exchange vectors, keep values.

Only numpy vectors and plain bytes travel: no pickle, checked lengths, callers known by a secret.
"""

from sparkdl.exchange.endpoint import Endpoint
from sparkdl.exchange.group import Group
from sparkdl.exchange.meeting import AddressRendezvous, RendezvousServer
from sparkdl.exchange.rendezvous import FileRendezvous, Rendezvous
from sparkdl.exchange.store import KeyValueStore, Places, StoreServer, TwoLevelStore
from sparkdl.exchange.tls import Tls
from sparkdl.exchange.wire import Wire
