"""A call to the NameNode's RPC protocol, which saves the JVM of a Hadoop command."""

import socket
import struct

from tests.cluster.web import PATIENCE, USER
from tests.support.protobuf import field, varint

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
START = b"hrpc\x09\x00\x00"  # version 9, no service class, no authentication
CLIENT = bytes(16)
PROTOBUF, FINAL = 2, 0
OF_CONNECTION, OF_CALL = 5, 0  # -3 and 0, in protobuf's zigzag
SUCCESS = 0


def call(address, method, *arguments):
    """Calls a method of the NameNode at "host:port"; RuntimeError has its reply if it refuses.

    Parameters
    ----------
    arguments : int or str
        Fields of the request, numbered from 1.
    """
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as line:
        line.sendall(START + framed(header(OF_CONNECTION), message({2: {1: USER}, 3: PROTOCOL})))
        asked = message({1: method, 2: PROTOCOL, 3: 1})
        line.sendall(framed(header(OF_CALL), asked, message(dict(enumerate(arguments, 1)))))
        with line.makefile("rb") as reply:
            [size] = struct.unpack(">I", reply.read(4))
            check(method, reply.read(size))


def header(number):
    return message({1: PROTOBUF, 2: FINAL, 3: number, 4: CLIENT})


def message(fields):
    """Encodes {number: value} as protobuf; a dictionary is a nested message."""
    contents = {n: message(one) if isinstance(one, dict) else one for n, one in fields.items()}
    return b"".join(field(number, content) for number, content in contents.items())


def framed(*messages):
    data = b"".join(varint(len(each)) + each for each in messages)
    return struct.pack(">I", len(data)) + data


def check(method, reply):
    """Raises unless the reply succeeded; a header size of two bytes means an error message."""
    _, _, named, status = reply[1 + (reply[0] >> 7) :][:4]
    if (named, status) != (2 << 3, SUCCESS):
        raise RuntimeError(f"{method} was refused: {reply.decode(errors='replace')}")
