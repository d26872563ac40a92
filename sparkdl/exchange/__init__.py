"""Communication among the processes of a job: rendezvous, collectives, key-value stores.

Only numpy vectors and plain bytes travel: no pickle, checked lengths, callers known by a secret.
"""
