"""Link from Spark's web UI to the page of a fit.

In job descriptions Spark shows only links to its own server. So a path there, /sparkdl, redirects
to the page, and the descriptions of our jobs link to it.
"""

import logging
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

PLACE = "/sparkdl"
LINK = f', <a href="{PLACE}/">its page</a>'
REDIRECT = "createRedirectHandler"  # of org.apache.spark.ui.JettyUtils, whose defaults follow it

linked: WeakSet = WeakSet()  # SparkContexts whose pages link to a fit's page
log = logging.getLogger(__name__)


def link_page(sc, listeners):
    """Links Spark's pages to that of the first listener that wants it, if there is one.

    The link stays until another fit replaces it. If Spark has no pages, this is logged.
    """
    pages = [one.url for one in listeners if getattr(one, "spark_link", False)]
    if not pages:
        return
    try:
        found = sc._jsc.sc().ui()
        if not found.isDefined():
            log.warning("Spark's pages cannot link to %s: spark.ui.enabled is false", PLACE)
            return
        found.get().detachHandler(PLACE)
        found.get().attachHandler(redirect(sc, pages[0]))
        linked.add(sc)
    except (Py4JError, PySparkException) as error:  # none of this is public API of Spark
        log.warning("Spark's pages cannot link to %s: %s", PLACE, str(error).splitlines()[0])


def redirect(sc, url):
    """Returns a handler that redirects requests for PLACE to a URL."""
    jetty = sc._jvm.org.apache.spark.ui.JettyUtils
    defaults = [getattr(jetty, f"{REDIRECT}$default${number}") for number in (3, 4, 5)]
    arguments = [PLACE, url, *(default() for default in defaults)]
    try:
        return getattr(jetty, REDIRECT)(*arguments)
    except Py4JError:  # versions after Spark 4.1 take one more option
        return getattr(jetty, REDIRECT)(*arguments, getattr(jetty, f"{REDIRECT}$default$6")())


def link_of(sc):
    """Returns the end of job descriptions: a link, or ""."""
    return LINK if sc in linked else ""
