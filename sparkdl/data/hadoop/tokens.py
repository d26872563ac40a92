"""Delegation tokens, by which YARN's containers speak for a user without a Kerberos ticket.

References
----------
Hadoop's classes Credentials, Token and WritableUtils: the file. SecurityUtil: a token's service is
the NameNode's IP address and port, its host and port if hadoop.security.token.service.use_ip is
false, or ha-hdfs: and a name service.
"""

import base64
import io
import os
import re
import socket
from contextlib import suppress
from pathlib import Path

from sparkdl.errors import DataError, text_of

LOCATION = "HADOOP_TOKEN_FILE_LOCATION"
LINK = re.compile(r"(?<=^hdfs://)[^/]+:\d+")  # the host and port in a link of viewfs
MAGIC, KIND = b"HDTS\0", b"HDFS_DELEGATION_TOKEN"


def named_in_tokens(address):
    """Returns host:port as this process's tokens name it, or unchanged.

    hdfs-native compares it with a token's service as texts.
    """
    services, (host, _, port) = {service for service, _ in own_tokens()}, address.rpartition(":")
    if services and address not in services:
        for ip in addresses(host):
            if f"{ip}:{port}" in services:
                return f"{ip}:{port}"
    return address


def links_named_in_tokens(properties):
    """Returns the links of viewfs among these properties, with hosts as `named_in_tokens`."""
    return {
        name: LINK.sub(lambda found: named_in_tokens(found[0]), value)
        for name, value in properties.items()
        if name.startswith("fs.viewfs.mounttable.")
    }


def token_for(hosts, service):
    """Returns this process's token for one of the hosts or a name service, as in URLs, or None."""
    known = {ip for host in hosts for ip in (host, *addresses(host))}
    for found, token in own_tokens():
        if found == f"ha-hdfs:{service}" or found.rpartition(":")[0] in known:
            return token
    return None


def own_tokens():
    """Returns [(service, token as in URLs)] of this process's tokens of HDFS.

    Raises DataError if their file is damaged.
    """
    try:
        return list(file_tokens(file_content()))
    except ValueError as error:  # an end in the middle, or no text
        place = os.environ[LOCATION]
        raise DataError(
            f"{place}: cannot be read as delegation tokens: {text_of(error)}"
        ) from error


def file_content():
    """Returns the bytes of this process's token file; b"" if there is none."""
    with suppress(OSError):
        return Path(os.environ[LOCATION]).read_bytes() if os.environ.get(LOCATION) else b""
    return b""


def file_tokens(content):
    """Yields (service, token as in URLs) for each token of HDFS in a file that YARN has written."""
    if content.startswith(MAGIC):
        file = io.BytesIO(content.removeprefix(MAGIC))
        for _ in range(read_integer(file)):
            read_piece(file)  # an alias
            start = file.tell()
            _identifier, _password, kind, service = [read_piece(file) for _ in range(4)]
            if kind == KIND:
                token = file.getvalue()[start : file.tell()]
                yield service.decode(), base64.urlsafe_b64encode(token).decode().rstrip("=")


def read_piece(file):
    return file.read(read_integer(file))


def read_integer(file):
    """Reads a non-negative integer as written by WritableUtils.writeVLong."""
    [first] = file.read(1)
    return first if first < 128 else int.from_bytes(file.read(144 - first))


def addresses(host):
    """Returns the IPv4 addresses of a host; none if it is unknown."""
    with suppress(OSError):
        found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
        return [place[0] for *_, place in found]
    return []
