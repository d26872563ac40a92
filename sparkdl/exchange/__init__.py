"""Communication among the processes of a job: rendezvous, collectives, key-value stores.

Only numpy vectors and plain bytes travel: no pickle, checked lengths, callers known by a secret.
"""

from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.tls import Tls
from sparkdl.exchange.group import Group
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous, RendezvousServer
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous, Rendezvous
from sparkdl.exchange.store import KeyValueStore, Places, StoreServer, TwoLevelStore
