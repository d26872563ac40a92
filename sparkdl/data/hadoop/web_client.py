"""Clients of WebHDFS with the library hdfs, and avoidance of failed DataNodes."""

import socket
import time
from contextlib import closing, contextmanager, suppress
from urllib.parse import urlsplit

from hdfs import HdfsError, InsecureClient, TokenClient
from requests import RequestException, Session
from requests.adapters import BaseAdapter

from sparkdl.data.hadoop import kerberos, tokens
from sparkdl.data.hadoop.configuration import WEB_PORTS, Configuration, user
from sparkdl.data.hadoop.streams import AnotherWayLeft, RequestRefused, reason
from sparkdl.data.hadoop.web_errors import failure, place_of, plain
from sparkdl.errors import needs_package

TIMEOUTS = 10.0, 60.0  # seconds to connect, and to receive further bytes
AVOIDED = 60.0  # seconds for which a failed host is avoided
AT_ONCE = 3  # failures in a row of one file's DataNodes after which another is tried at once


def new_client(scheme, authority, session=None):
    """Returns a Client for all NameNodes of a name service, of which the active one answers.

    Parameters
    ----------
    scheme, authority : str
        See WebFiles.
    session : requests.Session or None
        May have parameters for all requests.
    """
    session = session or Session()
    if scheme == "swebhdfs":
        session.mount("http://", NoHttp())
    conf, options = Configuration.read(), {"timeout": TIMEOUTS, "session": session}
    urls = ";".join(urls_of(conf, scheme, authority))
    if not conf.is_secure:
        return InsecureClient(urls, user=user(), **options)
    if token := token_of(conf, scheme, authority):
        return TokenClient(urls, token, **options)
    owner = f"{scheme}://{authority}, whose cluster knows users by Kerberos,"
    cure = "pip install 'sparkdl-hadoop[kerberos]', or use hdfs://, which needs none"
    with needs_package(owner, "requests-kerberos here", cure):
        from hdfs.ext.kerberos import KerberosClient
    client = KerberosClient(urls, **options)
    kerberos.raise_failures(session.auth)
    return client


def token_of(conf, scheme, authority):
    """Returns this process's delegation token for a cluster, or None."""
    urls = [urlsplit(url) for url in urls_of(conf, scheme, authority)]
    known = {WEB_PORTS[url.scheme] for url in urls}
    hosts = [url.hostname for url in urls if url.port in known or is_listed(conf, url.netloc)]
    default = conf.properties.get("fs.defaultFS", "").partition("://")[2].strip("/")
    return tokens.token_for(hosts, authority or default)


def is_listed(conf, address):
    """Returns whether the configuration has an address; other servers of a host get no token."""
    return address in conf.properties.values()


class NoHttp(BaseAdapter):
    """Refuses plain HTTP: swebhdfs:// must use TLS throughout, including after redirects."""

    def send(self, request, **options):
        raise RequestRefused(
            f"swebhdfs:// must be redirected to https://, got http://{place_of(request.url)}; "
            "nothing was sent there; set dfs.http.policy to HTTPS_ONLY on that node"
        )

    def close(self):
        """Does nothing: nothing is open."""


def urls_of(conf, scheme, authority):
    """Returns the URLs of the web servers of a cluster's NameNodes."""
    protocol = "https" if scheme == "swebhdfs" else "http"
    return [f"{protocol}://{one}" for one in conf.web_addresses(authority, protocol)]


class Detour:
    """Tries for one file that avoid the hosts of DataNodes that have failed.

    Until the NameNode notices that a DataNode is dead, it keeps naming it, and a host's own
    DataNode first.

    Parameters
    ----------
    files : WebFiles
    """

    def __init__(self, files):
        self._files, self._failed = files, {}  # {address: time of failure}
        self._in_a_row, self._is_without_name_node = 0, False

    @contextmanager
    def client(self):
        """Yields a Client for one try.

        After the failure of a DataNode that was not avoided, AnotherWayLeft is raised. If the
        NameNode has no other DataNodes left, the next try may use the failed ones again. After the
        failure of a NameNode, the next try waits until it answers.
        """
        if self._is_without_name_node:
            self._files.exists("/")
            self._is_without_name_node = False
        avoided = self._avoided()
        try:
            if avoided:
                with client_avoiding(self._files.scheme, self._files.authority, avoided) as it:
                    yield it
            else:
                yield self._files.client
            self._in_a_row = 0
        except RequestException as error:
            if self._is_new(error):
                raise AnotherWayLeft(failure(error)) from None  # its own text contains the URL
            raise
        except HdfsError as error:
            if not avoided:
                raise
            self._failed.clear()
            raise OSError(f"{reason(error)} (without {', '.join(avoided)})") from error

    def _avoided(self):
        now = time.monotonic()
        self._failed = {one: at for one, at in self._failed.items() if now - at < AVOIDED}
        return sorted(self._failed)

    def _is_new(self, error):
        """Notes which DataNode has failed; returns whether to try another one at once."""
        known = len(self._failed)
        self._note(error)
        self._in_a_row += len(self._failed) > known
        return len(self._failed) > known and self._in_a_row <= AT_ONCE

    def _note(self, error):
        url = urlsplit(error.request.url if error.request is not None else "")
        namenodes = urls_of(Configuration.read(), self._files.scheme, self._files.authority)
        is_name_node = f"{url.scheme}://{url.netloc}".lower() in map(str.lower, namenodes)
        self._is_without_name_node = is_name_node
        if url.hostname and not is_name_node:
            with suppress(OSError):  # the host is unknown: ask the NameNode again
                found = socket.getaddrinfo(url.hostname, None, type=socket.SOCK_STREAM)
                self._failed |= {one[4][0]: time.monotonic() for one in found}


@contextmanager
def client_avoiding(scheme, authority, hosts):
    """Yields a Client for which the NameNode excludes DataNodes on these hosts (IP addresses)."""
    with closing(Session()) as session:
        session.params = {"excludedatanodes": ",".join(hosts)}
        yield new_client(scheme, authority, session)


def write_elsewhere(scheme, authority, path, content):
    """Writes a file to DataNodes of other hosts.

    Parameters
    ----------
    scheme, authority : str
        See WebFiles.
    path : str
    content : file
    """
    found = (own_address(url) for url in urls_of(Configuration.read(), scheme, authority))
    own = sorted(filter(None, found))
    with client_avoiding(scheme, authority, own) as client, plain(path):
        client.write(path, data=content, overwrite=True)


def own_address(url):
    """Returns this host's source address for a URL's host, or None if it is unknown.

    Nothing is sent.
    """
    place = urlsplit(url)
    with suppress(OSError):
        options = {"type": socket.SOCK_DGRAM}
        family, *_, target = socket.getaddrinfo(place.hostname, place.port, **options)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.connect(target)
            return one.getsockname()[0]
