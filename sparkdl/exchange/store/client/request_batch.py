"""Requests to several servers in one call: arrays by key and server."""

from collections import defaultdict

import numpy as np

from sparkdl.errors import ConfigError


class Requests:
    """Requests to each server: keys, an array for each key, and further facts about them."""

    def __init__(self):
        self.keys, self._arrays = defaultdict(list), defaultdict(list)
        self._facts = defaultdict(lambda: defaultdict(list))

    def add(self, server, key, array, **facts):
        self.keys[server].append(key)
        self._arrays[server].append(array)
        for name, fact in facts.items():
            self._facts[server][name].append(fact)

    def with_arrays(self, verb, **more):
        return {i: (self._meta(i, verb, more), self._arrays[i], None) for i in self.keys}

    def await_keys(self):
        return {i: (self._meta(i, "await_keys", {}), (), None) for i in self.keys}

    def pull(self):
        return {i: (self._meta(i, "pull", {}), (), self._arrays[i]) for i in self.keys}

    def _meta(self, server, verb, more):
        return {"verb": verb, "keys": self.keys[server]} | self._facts[server] | more


def pair_keys_and_vectors(key, value, writeable=False):
    """Returns [(name, flat view)] for a key and an array, or for lists of both."""
    keys, values = (key, value) if isinstance(key, list | tuple) else ([key], [value])
    if len(keys) != len(values) or len(set(keys)) != len(keys):
        raise ConfigError(f"keys must differ and have a value each, got {len(values)} for {keys}")
    return [(str(k), flat(str(k), array, writeable)) for k, array in zip(keys, values, strict=True)]


def flat(key, array, writeable):
    array = array if writeable else np.asarray(array)
    if not (isinstance(array, np.ndarray) and array.flags.c_contiguous):
        raise ConfigError(f"array for {key!r} must be contiguous, and a numpy array")
    if writeable and not array.flags.writeable:
        raise ConfigError(f"array for {key!r} must be writable")
    return array.reshape(-1)
