"""Store methods built from the basic ones."""


class Verbs:
    """Derived methods of a store that has init, push, pull and close."""

    def pushpull(self, key, value, out=None, weight=1.0):
        """Calls `push`, then `pull` (into `value` without `out`); returns push's Outcome."""
        outcome = self.push(key, value, weight)
        self.pull(key, value if out is None else out)
        return outcome

    def broadcast(self, key, value, out):
        """Calls `init`, then `pull`: all workers get the first process's value."""
        self.init(key, value)
        self.pull(key, out)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None:
            self.close()
        else:
            self.break_off(kind, error)
