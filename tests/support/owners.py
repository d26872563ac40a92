"""Files of other users, for tests that run as any user."""

import os

UID = 4  # place in a status


def give_to(owner, path, monkeypatch):
    """Makes os.lstat report `owner` as the owner of the path itself, not of a link's target."""
    lstat = os.lstat

    def of_owner(one, **options):
        status = lstat(one, **options)
        if os.fspath(one) != os.fspath(path):
            return status
        return os.stat_result([*status[:UID], owner, *status[UID + 1 :]])

    monkeypatch.setattr(os, "lstat", of_owner)
