"""A parser of arguments that suggests commands, options and choices for misspelt ones.

Imported by every command, so it must import nothing heavy.
"""

import argparse
import re
import sys
from itertools import takewhile

OPTION = re.compile(r"(--?[A-Za-z][\w-]*)(=.*)?", re.DOTALL)


class ArgumentParser(argparse.ArgumentParser):
    """Parses the arguments of a command; an unknown one is refused with the command's usage.

    `other_options` returns {"--name": text to suggest} for options that are given in another way.
    """

    other_options = dict
    words = ()

    def parse_known_args(self, args=None, namespace=None):
        """Parses the arguments; argparse would return the unknown ones of a command."""
        self.words = sys.argv[1:] if args is None else list(args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message):
        """Prints the usage and the message, with the option that was meant; exits with 2."""
        for word in takewhile(lambda word: word != "--", self.words):
            if advice := self.advice(word):
                named = "" if word in message else f"; unrecognized arguments: {word}"
                message = f"{message}{named}{advice}"
                break
        super().error(message)

    def advice(self, word):
        """Returns "; did you mean '--conf'?" for a word that is a misspelt option, or ""."""
        from sparkdl.config.names import alike_advice, did_you_mean, nearest

        match, known = OPTION.fullmatch(word), self._option_string_actions
        if not match or any(option.startswith(match[1]) for option in known):
            return ""
        if advice := alike_advice(match[1], known):
            return advice
        others = self.other_options()
        return did_you_mean([others[name] for name in nearest(match[1], others)])

    def _check_value(self, action, value):
        """Raises ArgumentError for a command or value that is not one of the choices."""
        from sparkdl.config.names import alike_advice

        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            advice = alike_advice(str(value), action.choices)
            raise argparse.ArgumentError(action, error.message + advice) from None
