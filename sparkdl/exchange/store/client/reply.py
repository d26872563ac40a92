"""Check of a server's reply, which may carry an error."""

from sparkdl.error_messages import error_from_json


def check_reply(meta, whose):
    """Returns the reply, or raises its error, attributed to `whose`."""
    if "error" in meta:
        raise error_from_json(meta, whose)
    return meta
