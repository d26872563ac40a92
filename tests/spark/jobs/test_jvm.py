"""A killed driver JVM becomes one of our errors; other errors stay as they are."""

import socket

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JNetworkError

from sparkdl.errors import WorkerError
from sparkdl.spark.jobs.jvm import living_jvm


def ask_nobody():
    """Calls a JVM at an address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # reserved, so nobody else listens there meanwhile
        JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.System.currentTimeMillis()


def answer_nothing():
    raise Py4JNetworkError("Answer from Java side is empty")


@pytest.mark.parametrize("call", [ask_nobody, answer_nothing])
def test_a_jvm_that_is_gone_is_named(call):
    with pytest.raises(WorkerError, match="the fit failed: the driver's JVM is gone"):
        with living_jvm("the fit"):
            call()


def test_a_connection_of_another_kind_is_left_alone():
    with pytest.raises(ConnectionRefusedError), living_jvm("the fit"):
        raise ConnectionRefusedError("somebody else's")
