"""Checks a server's reply and raises the error in it."""

from sparkdl.error_messages import error_from_json


def check_reply(meta, whose):
    """Returns the object, unless it is an error of `whose`: that is raised."""
    if "error" in meta:
        raise error_from_json(meta, whose)
    return meta
