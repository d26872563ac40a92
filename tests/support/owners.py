"""Files of other users, for tests that run as any user."""

import os

UID = 4  # place in a status


def give_to(owner, path, monkeypatch):
    """Has os.lstat say that a user owns what is at the path, and not where a link leads."""
    lstat = os.lstat

    def of_owner(one, **options):
        status = lstat(one, **options)
        if os.fspath(one) != os.fspath(path):
            return status
        return os.stat_result([*status[:UID], owner, *status[UID + 1 :]])

    monkeypatch.setattr(os, "lstat", of_owner)
