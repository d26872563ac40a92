"""Failures of Kerberos: the reason that its library gives, and a cure."""

import os
import platform
import re
from contextlib import suppress

from sparkdl.data.hadoop import tokens
from sparkdl.data.hadoop.configuration import Configuration
from sparkdl.data.hadoop.streams import NoAnswer, Unreachable
from sparkdl.errors import DataError

# Of hdfs-native: GSSAPIError(GssMajorCodes { ... }, 2529638944, "Unspecified ...: Ticket expired");
# of requests-kerberos: Major (851968): ..., Minor (2529638944): Ticket expired, Context: ...
FAILURES = (
    re.compile(r'GSSAPIError\(.*, \d+, "(?:[^:]*: )?(.*)"\)', re.DOTALL),
    re.compile(r"Major \(\d+\): .*Minor \(\d+\): (.*?)(?:, Context: .*)?$", re.DOTALL),
)
NO_TICKET, KDC_DOWN = re.compile("credentials|expired"), "Cannot contact any KDC"
GET_TICKET = (
    "run kinit on this host, or set KRB5_CLIENT_KTNAME to a keytab, by which Kerberos gets and "
    "renews tickets"
)
GET_TOKEN = (
    "this container of YARN has no valid delegation token for the NameNode; name it in "
    "spark.kerberos.access.hadoopFileSystems; tokens end after "
    "dfs.namenode.delegation.token.max-lifetime, 7 days by default"
)
SET_CLOCK = "set this host's clock to the cluster's"
CHECK = "check krb5.conf (KRB5_CONFIG); KRB5_TRACE=/dev/stderr shows what Kerberos does"
SET_CONFIGURATION = (
    "if the cluster has Kerberos, hadoop.security.authentication must be kerberos in "
    "core-site.xml, which is found through HADOOP_CONF_DIR"
)
CURES = {  # {part of an answer of the cluster: what may help}
    "Clock skew": SET_CLOCK,
    "SaslException": f"the NameNode's log says why; if clocks differ, {SET_CLOCK}",
    "InvalidToken": "delegation tokens end after some time; submit again, and resume",
    "Authentication failure": SET_CONFIGURATION,
}


def failure(text):
    """Returns the OSError for the text of a Kerberos library's error; None for other texts."""
    for form in FAILURES:
        if found := form.search(text):
            reason = found[1].replace('\\"', '"')
            kind = Unreachable if KDC_DOWN in reason else NoAnswer
            return kind(f"Kerberos on {platform.node()}: {reason}; {cure(reason)}")
    return None


def cure(reason):
    """Returns what helps against a reason that Kerberos has given."""
    if "Clock skew" in reason:
        return SET_CLOCK
    if not NO_TICKET.search(reason):
        return CHECK
    return GET_TOKEN if os.environ.get(tokens.LOCATION) else GET_TICKET


def with_cure(text):
    """Returns the text of an answer of the cluster, with a cure if there is one."""
    found = next((CURES[part] for part in CURES if part in text), None)
    if found == SET_CONFIGURATION and has_kerberos():
        return text
    return f"{text.rstrip('.')}; {found}" if found else text


def has_kerberos():
    """Returns whether the cluster has Kerberos, as far as its configuration can be read."""
    with suppress(DataError):
        return Configuration.read().is_secure
    return False


def raise_failures(auth):
    """Makes an HTTPKerberosAuth raise what fails, instead of returning the server's 401.

    Parameters
    ----------
    auth : requests_kerberos.HTTPKerberosAuth
    """
    make = auth.generate_request_header

    def header(*arguments, **options):
        try:
            return make(*arguments, **options)
        except OSError as error:  # a RequestException
            found = failure(str(error))
            if found is None:
                raise
            raise found from error

    auth.generate_request_header = header
