"""YAML as people write it, limited to the values of JSON.

1e-3 is a number (a string in plain PyYAML) and 2024-01-31 a string; 010 and 1:30, which PyYAML
reads as 8 and 90, are errors, and so is a repeated key, instead of the last one winning. Nodes are
counted before anything is built from them.
"""

import re
from collections import Counter

import yaml

from sparkdl.config.limits import DEEPEST, MOST_NODES, check_number, too_deep
from sparkdl.errors import ConfigError, brief

PREFIX = "tag:yaml.org,2002:"
FLOAT = re.compile(r"^[-+]?([0-9][0-9_]*)(\.[0-9_]*)?[eE][-+]?[0-9]+$")
OCTAL = re.compile(r"^[-+]?0[0-7_]+$")  # of YAML 1.1; decimal in YAML 1.2
NUMBERS = f"{PREFIX}int", f"{PREFIX}float"
FOREIGN = ("timestamp", "binary", "set", "omap", "pairs")


class Loader(yaml.SafeLoader):
    """Safe YAML with floats as in YAML 1.2, limited in size and depth."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rules if tag != f"{PREFIX}timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth, self.nodes = 0, 0

    def compose_node(self, parent, index):
        """Composes a node, unless there are too many or they are nested too deeply."""
        self.depth, self.nodes = self.depth + 1, self.nodes + 1
        if self.depth > DEEPEST + 1:
            raise too_deep("YAML")
        check_count(self.nodes)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        check_unique([(key.tag, key.value) for key, _ in node.value if is_scalar(key)])
        return node

    def construct_number(self, node):
        """Returns an integer or float of limited length."""
        check_number(node.value)
        return getattr(self, f"construct_yaml_{node.tag.removeprefix(PREFIX)}")(node)

    def refuse(self, node):
        """Raises ConfigError for a type that JSON does not have."""
        place = f"line {node.start_mark.line + 1}"
        raise ConfigError(f"not valid YAML: {brief(node.tag)} in {place} is not supported")


Loader.add_implicit_resolver(f"{PREFIX}float", FLOAT, list("-+0123456789"))
for kind in ("int", "float"):
    Loader.add_constructor(PREFIX + kind, Loader.construct_number)
for kind in FOREIGN:
    Loader.add_constructor(PREFIX + kind, Loader.refuse)


def load(text):
    """Parses a YAML text into dicts, lists and scalars."""
    loader = Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        check_count(measure(node, {})[0])
        check_notation(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def describe(error, text, before=0):
    """Returns what is wrong with a YAML text, and in which line and column, in one sentence.

    Parameters
    ----------
    error : yaml.YAMLError
    text : str
    before : int
        Number of characters before the user's own in the first line, which do not count.
    """
    if isinstance(error, yaml.reader.ReaderError):
        line, start = text.count("\n", 0, error.position), text.rfind("\n", 0, error.position) + 1
        where = place(line, error.position - start, before)
        return f"{where}: found character {error.character:#x}, {error.reason}"
    mark, start = error.problem_mark or error.context_mark, error.context_mark
    said = [f"{place(mark.line, mark.column, before)}: {error.problem}"]
    if error.context:
        is_apart = start is not None and start is not mark
        since = f" from {place(start.line, start.column, before)}" if is_apart else ""
        said.append(f"{error.context}{since}")
    return ", ".join(said)


def place(line, column, before):
    """Returns "line 1, column 1" for (0, 0)."""
    return f"line {line + 1}, column {column + 1 - (before if line == 0 else 0)}"


def measure(node, known):
    """Returns (nodes, levels) of `node` with aliases expanded.

    Parameters
    ----------
    node : yaml.Node
    known : dict
        {id of a node: its measures} so far; None for the nodes that enclose `node`.
    """
    if id(node) not in known:
        known[id(node)] = None
        inner = [measure(one, known) for _, one in children(node)]
        levels = 1 + max((deep for _, deep in inner), default=0)
        if levels > DEEPEST + 1:
            raise too_deep("YAML")
        known[id(node)] = 1 + sum(nodes for nodes, _ in inner), levels
    if known[id(node)] is None:
        raise ConfigError("not valid YAML: an alias is inside the value that it refers to")
    return known[id(node)]


def check_notation(node, path=""):
    """Raises ConfigError for a number whose value depends on the version of YAML: 010 or 1:30."""
    if is_ambiguous(node):
        line, got = node.start_mark.line + 1, brief(node.value).strip("'")
        raise ConfigError(
            f"{path or 'the YAML text'} must be a decimal number without leading zeros and "
            f"colons, got {got} in line {line}; put a text that has them in quotes"
        )
    for name, inner in children(node):
        check_notation(inner, f"{path}.{name}".lstrip("."))


def is_ambiguous(node):
    is_number = is_scalar(node) and node.tag in NUMBERS
    return is_number and (":" in node.value or OCTAL.match(node.value))


def children(node):
    """Yields (key or position, node) of the values and keys inside a node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name = key.value if is_scalar(key) else "key"
            yield from ((name, key), (name, value))
    elif isinstance(node, yaml.SequenceNode):
        yield from enumerate(node.value)


def check_count(nodes):
    if nodes > MOST_NODES:
        raise ConfigError(f"YAML must have at most {MOST_NODES} values; JSON may have more")


def is_scalar(node):
    return isinstance(node, yaml.ScalarNode)


def check_unique(keys):
    """Raises ConfigError if a key (tag, text) is repeated."""
    [(double, count)] = Counter(keys).most_common(1) or [(None, 0)]
    if count > 1:
        raise ConfigError(f"the key {brief(double[1])} is given twice")
