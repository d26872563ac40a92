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
        Host name, for messages.
    address : str
        IP address that it listens at.
    port : int
    machine : str
        Identifier of the running machine, as far as processes can tell.
    group : str
        Proposed name for the group; that of rank 0 is used.
    """

    rank: int
    host: str
    address: str
    port: int
    machine: str
    group: str

    def to_json(self):
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text):
        """Parses a JSON text into a GroupMember; raises DataError if it is invalid."""
        try:
            parsed = json.loads(text)
            complete = all(type(parsed[field.name]) is field.type for field in fields(cls))
            if complete and len(parsed) == len(fields(cls)):
                return cls(**parsed)
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        # Not quoted: the rendezvous may contain data that must not be shown.
        raise DataError(
            f"a member must be described as JSON, got {len(text)} characters that are not"
        )
