"""Storage of finished trials' networks: in a folder, or in the driver's memory."""

import re

from sparkdl.data import files
from sparkdl.errors import ConfigError
from sparkdl.training.network import Network
from sparkdl.training.saving.manifest import as_text


class Models:
    """The network of each finished trial.

    Parameters
    ----------
    path : str or None
        Folder, local or a URI. None: networks are kept in memory.
    """

    def __init__(self, path):
        self._path, self._networks = None if path is None else as_text(path), {}

    def check(self, trials):
        """Raises ConfigError if the folder has networks of a study with more trials."""
        strange = [number for number in self._listed() if number >= trials]
        if strange:
            raise ConfigError(
                f"Search.path must be a folder of this study, got {self._path} with the network "
                f"of trial {strange[0]}, and the study has {trials}; give another folder, or that "
                "study"
            )

    def put(self, number, network):
        """Stores the network of a trial."""
        if self._path is None:
            self._networks[number] = network
        else:
            network.save(self._place(number), overwrite=True)

    def get(self, number):
        """Returns the network of a trial."""
        if self._path is not None:
            return Network.load(self._place(number))
        if number not in self._networks:
            raise ConfigError(
                f"Search.path must be given where a study is continued: trial {number} is of an "
                "earlier search, which has left no network in a folder"
            )
        return self._networks[number]

    def _place(self, number):
        return f"{self._path}/trial-{number:05d}"

    def _listed(self):
        if self._path is None or not files.exists(self._path):
            return []
        matches = (re.fullmatch(r"trial-(\d{5,})", name) for name in files.list(self._path))
        return sorted(int(match[1]) for match in matches if match)
