"""HTTP requests to the daemons."""

import getpass
import json
import urllib.request

PATIENCE = 120.0  # seconds to wait for a reply
USER = getpass.getuser()


def answer(address, method="GET", data=None):
    """Returns the bytes of a reply; `data` is bytes, or an object to send as JSON."""
    headers = {}
    if data is not None and not isinstance(data, bytes):
        data, headers = json.dumps(data).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(address, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return reply.read()
