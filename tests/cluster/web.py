"""Replies of the daemons over HTTP."""

import getpass
import json
import urllib.request

PATIENCE = 120.0  # seconds for an answer
USER = getpass.getuser()


def answer(address, method="GET", data=None):
    """The bytes that an address answers; `data` are bytes, or something to say as JSON."""
    headers = {}
    if data is not None and not isinstance(data, bytes):
        data, headers = json.dumps(data).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(address, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return reply.read()
