"""Member of a group."""

import json
from dataclasses import asdict, dataclass, fields

from sparkdl.errors import DataError


@dataclass(frozen=True, kw_only=True)
class GroupMember:
    """One process of a group, as the other members know it.

    Parameters
    ----------
    rank : int
    host : str
        Its name, for people.
    address : str
        The IP address that it listens at.
    port : int
    pid : int
    machine : str
        The same for processes of one running machine, as far as these can tell.
    group : str
        The name that it proposes for the group; that of rank 0 holds.
    """

    rank: int
    host: str
    address: str
    port: int
    pid: int
    machine: str
    group: str

    def to_json(self):
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text):
        """Returns the GroupMember in a JSON text; DataError if there is none."""
        try:
            parsed = json.loads(text)
            complete = all(type(parsed[field.name]) is field.type for field in fields(cls))
            if complete and len(parsed) == len(fields(cls)):
                return cls(**parsed)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        # Not quoted: a rendezvous may hold what is not ours to show.
        raise DataError(f"a member must be described as JSON, got {len(text)} characters of other")
