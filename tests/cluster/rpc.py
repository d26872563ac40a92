"""A call of the NameNode's protocol, as Hadoop's own commands do it, each of which starts a JVM."""

import socket
import struct

from tests.cluster.web import PATIENCE, USER
from tests.support.protobuf import field, varint

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
START = b"hrpc\x09\x00\x00"  # version 9, no class of service, nobody proves who he is
CLIENT = bytes(16)
PROTOBUF, FINAL = 2, 0
OF_CONNECTION, OF_CALL = 5, 0  # -3 and 0, in protobuf's zigzag
SUCCESS = 0


def call(address, method, *arguments):
    """Have the NameNode at "host:port" do it. Raises RuntimeError, with its words, if it refuses.

    Parameters
    ----------
    arguments : int or str
        The fields of the request, numbered from 1.
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
    """Protobuf's bytes of {number: value}; a dictionary is a message within."""
    contents = {n: message(one) if isinstance(one, dict) else one for n, one in fields.items()}
    return b"".join(field(number, content) for number, content in contents.items())


def framed(*messages):
    data = b"".join(varint(len(each)) + each for each in messages)
    return struct.pack(">I", len(data)) + data


def check(method, reply):
    """Of a reply's header its size comes first, in two bytes where it has an error's words; then
    the call, then the status."""
    _, _, named, status = reply[1 + (reply[0] >> 7) :][:4]
    if (named, status) != (2 << 3, SUCCESS):
        raise RuntimeError(f"{method} was refused: {reply.decode(errors='replace')}")
