"""What processes of a job do together: they find each other, exchange vectors, keep values.

Only numpy vectors and plain bytes travel: no pickle, checked lengths, callers known by a secret.
"""
