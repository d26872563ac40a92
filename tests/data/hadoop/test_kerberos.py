"""Failures of Kerberos, as its libraries word them.

The texts are those of MIT Kerberos 1.20, hdfs-native 0.14 and Hadoop 3.5, seen on a secure HDFS.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest
from hdfs import HdfsError
from requests import RequestException

from sparkdl.data.hadoop import base, kerberos, native, tokens, web_client, web_errors
from sparkdl.data.hadoop.native_calls import as_os_error
from sparkdl.data.hadoop.streams import NoAnswer, RequestRefused, Starting, Unreachable
from tests.data.hadoop.folders import configured

CODES = 'GssMajorCodes { raw: "0x000d0000", routine_error: "GSS_S_FAILURE" }'
VAGUE = "Unspecified GSS failure.  Minor code may provide more information"
NONE = "No Kerberos credentials available (default cache: FILE:/tmp/krb5cc_0)"
FAILURES = [  # (reason, cure, kind)
    (NONE, kerberos.GET_TICKET, NoAnswer),
    ("Ticket expired", kerberos.GET_TICKET, NoAnswer),
    ("Clock skew too great", kerberos.SET_CLOCK, NoAnswer),
    ('Cannot find KDC for realm "A.B"', kerberos.CHECK, NoAnswer),
    ("Server krbtgt/A@B not found in Kerberos database", kerberos.CHECK, NoAnswer),
    ("Cannot contact any KDC for realm 'A.B'", kerberos.CHECK, Unreachable),
]
SECURE = {"hadoop.security.authentication": "kerberos"}


def of_hdfs_native(reason):
    escaped = reason.replace('"', '\\"')
    return f'GSSAPIError({CODES}, 2529638944, "{VAGUE}: {escaped}")'


def of_requests(reason):
    return (
        f"ctx step failed: SpnegoError (4294967295): Major (851968): {VAGUE}, "
        f"Minor (2529638944): {reason}, Context: Processing security token"
    )


@pytest.mark.parametrize("reason, cure, kind", FAILURES, ids=[row[0] for row in FAILURES])
@pytest.mark.parametrize("worded", [of_hdfs_native, of_requests])
def test_a_failure_has_a_reason_and_a_cure(monkeypatch, worded, reason, cure, kind):
    monkeypatch.delenv(tokens.LOCATION, raising=False)
    monkeypatch.setattr(kerberos.platform, "node", lambda: "host")
    error = kerberos.failure(worded(reason))
    assert (type(error), str(error)) == (kind, f"Kerberos on host: {reason}; {cure}")


def test_a_container_of_yarn_lacks_a_token_not_a_ticket(monkeypatch):
    monkeypatch.setenv(tokens.LOCATION, "/container_tokens")
    assert str(as_os_error(of_hdfs_native(NONE))).endswith(kerberos.GET_TOKEN)


def test_other_texts_are_none_of_kerberos():
    assert kerberos.failure("Connection refused (os error 111)") is None


PACKAGE = "org.apache.hadoop"
ANSWERS = {
    'FatalRPCError("javax.security.sasl.SaslException", "GSS initiate failed")': (
        RequestRefused,
        "SaslException: GSS initiate failed; the NameNode's log says why",
    ),
    f'FatalRPCError("{PACKAGE}.security.token.SecretManager$InvalidToken", "token is expired")': (
        RequestRefused,
        "InvalidToken: token is expired; delegation tokens end",
    ),
    f'FatalRPCError("{PACKAGE}.ipc.RetriableException", "not started")': (
        Starting,
        "RetriableException: not started",
    ),
}


@pytest.mark.parametrize("text", ANSWERS)
def test_a_name_node_that_refuses_the_connection_is_not_asked_again(text):
    kind, words = ANSWERS[text]
    error = as_os_error(text)
    assert type(error) is kind
    assert str(error).startswith(words)


PAGE = b"<html>\n<head>\n<title>Error 403 GSSException: (Clock skew too great (37))</title>\n<b>no"
PAGES = {
    "/a is in safe mode.": "/a is in safe mode.",
    str(PAGE): f"Error 403 GSSException: (Clock skew too great (37)); {kerberos.SET_CLOCK}",
    str(b""): web_errors.UNTOLD,
    "Authentication failure. Check your credentials.": (
        f"Authentication failure. Check your credentials; {kerberos.SET_CONFIGURATION}"
    ),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_web_server_is_one_line(page):
    with pytest.raises(RequestRefused) as error, web_errors.plain("/a"):
        raise HdfsError(page)
    assert str(error.value) == PAGES[page]


def secure_client(tmp_path, monkeypatch, header):
    """Returns the client of swebhdfs:// whose Kerberos library has the method `header`."""

    def new(urls, session, **options):
        session.auth = SimpleNamespace(generate_request_header=header)
        return session.auth

    module = ModuleType("hdfs.ext.kerberos")
    module.KerberosClient = new
    monkeypatch.setitem(sys.modules, "hdfs.ext.kerberos", module)
    configured(tmp_path, monkeypatch, core=SECURE)
    return web_client.new_client("swebhdfs", "nn")


def test_without_a_ticket_webhdfs_says_so(tmp_path, monkeypatch):
    """The library would send the server's answer on, which has no reason."""

    def header(response, host):
        raise RequestException(of_requests(host))

    client = secure_client(tmp_path, monkeypatch, header)
    with pytest.raises(RequestRefused, match="^Kerberos on .*: Ticket expired; run kinit"):
        client.generate_request_header(None, "Ticket expired")


def test_other_errors_of_its_library_are_raised_as_they_are(tmp_path, monkeypatch):
    error = RequestException("something else")

    def header(response, host):
        raise error

    client = secure_client(tmp_path, monkeypatch, header)
    with pytest.raises(RequestException) as raised:
        client.generate_request_header(None, "nn")
    assert raised.value is error


def test_a_configuration_with_kerberos_is_not_to_be_changed(tmp_path, monkeypatch):
    text = "Authentication failure. Check your credentials."
    configured(tmp_path, monkeypatch, core=SECURE)
    assert kerberos.with_cure(text) == text


def test_a_configuration_without_kerberos_is_named(tmp_path, monkeypatch):
    """A NameNode with Kerberos hangs up on a client without."""

    class Client:
        def get_file_info(self, path):
            raise OSError(native.HUNG_UP)

    monkeypatch.setattr(native.NativeFiles, "client", Client())
    monkeypatch.setattr(base, "_name_nodes", {})
    monkeypatch.setattr("sparkdl.data.hadoop.name_node.CONNECT", 0.0)
    for core, ends in ({}, kerberos.SET_CONFIGURATION), (SECURE, "for 0 s"):
        configured(tmp_path, monkeypatch, core=core)
        with pytest.raises(RequestRefused, match=f"{native.HUNG_UP}.*{ends}$"):
            native.NativeFiles("hdfs", "nn").info("/a")
