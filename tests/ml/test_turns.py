"""Fits in one context take turns; fits in another context do not wait."""

import threading

from sparkdl.ml.turns import taking_turns


class Context:
    """Stands in for a SparkContext."""


def test_the_second_of_a_context_waits_for_the_first():
    context, inside, order = Context(), threading.Event(), []

    def second():
        inside.wait()
        with taking_turns(context):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with taking_turns(context):
        inside.set()
        with taking_turns(Context()):  # another context
            order.append("other")
        order.append("first")
    thread.join()
    assert order == ["other", "first", "second"]


def test_a_fit_that_a_listener_begins_does_not_wait_for_its_own_turn():
    context, order = Context(), []

    def fit():
        with taking_turns(context), taking_turns(context):
            order.append("inner")

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    thread.join(60.0)
    assert order == ["inner"]


def test_a_failure_ends_the_turn():
    context = Context()
    for _ in range(2):
        try:
            with taking_turns(context):
                raise KeyError
        except KeyError:
            pass
    with taking_turns(context):
        pass
