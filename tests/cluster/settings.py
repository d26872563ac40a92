"""Hadoop's configuration files, as the daemons and those who use them read them."""

import random
import socket
from xml.sax.saxutils import escape

HOST = "127.0.0.1"
NOT_GIVEN_OUT = range(20000, 32000)  # the kernel gives programs that ask for any port higher ones


def write(path, properties):
    """A file such as core-site.xml, from {name: value}."""
    rows = (
        f"<property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>"
        for name, value in properties.items()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "\n".join(['<?xml version="1.0"?>', "<configuration>", *rows, "</configuration>\n"])
    )


def addresses(*names):
    """{name: "127.0.0.1:port"}, each port free now."""
    free = filter(is_free, random.SystemRandom().sample(NOT_GIVEN_OUT, 100))
    return {name: f"{HOST}:{port}" for name, port in zip(names, free)}


def is_free(port):
    with socket.socket() as one:
        return one.connect_ex((HOST, port)) != 0
