"""Hadoop's configuration files, for daemons and clients."""

import random
import socket
from xml.sax.saxutils import escape

HOST = "127.0.0.1"
NOT_GIVEN_OUT = range(20000, 32000)  # the kernel's ephemeral ports are higher


def write(path, properties):
    """Writes a file such as core-site.xml from {name: value}."""
    rows = (
        f"<property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"
        for name, value in properties.items()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(['<?xml version="1.0"?>', "<configuration>", *rows, "</configuration>\n"])
    )


def addresses(*names):
    """Returns {name: "127.0.0.1:port"} with free ports."""
    free = filter(is_free, random.SystemRandom().sample(NOT_GIVEN_OUT, 100))
    return {name: f"{HOST}:{port}" for name, port in zip(names, free)}


def is_free(port):
    with socket.socket() as one:
        return one.connect_ex((HOST, port)) != 0
