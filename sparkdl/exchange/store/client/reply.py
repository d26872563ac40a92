"""Checks a server's reply and raises the error in it."""

from sparkdl.error_messages import error_from_json


def check_reply(meta, whose):
    """Returns the reply; raises the error of `whose` in it."""
    if "error" in meta:
        raise error_from_json(meta, whose)
    return meta
