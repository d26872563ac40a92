"""The import graph of a package's files, including imports inside functions.

A name that a package's __init__ re-exports resolves to the file that defines it: importing `ops`
from sparkdl.engine and calling `ops.add` uses engine/ops/elementwise.py. The same holds for
packages that load their names lazily, from tables {module: names}. Other imports by string
(importlib), or for annotations only (TYPE_CHECKING), do not count.
"""

import ast


class ImportGraph:
    """The files of one package.

    Parameters
    ----------
    files : {path inside the package: source}
    root : str
        The package.

    Attributes
    ----------
    edges : {module: set of modules that it uses}
    """

    def __init__(self, files, root="sparkdl"):
        named = {module_of(path, root): path for path in files}
        self.packages = {name for name, path in named.items() if path.endswith("__init__.py")}
        self.nodes = {name: list(loaded(ast.parse(files[path]))) for name, path in named.items()}
        for name in self.packages - {root}:
            self.nodes[name] += [row for node in self.nodes[name] for row in late(node, root)]
        self.exports = {name: dict(self._bound(name)) for name in self.packages}
        self.edges = {name: set(self._used(name)) - {name, None} for name in named}

    def home(self, name):
        """Returns the module that a dotted name is or is defined in; None for external names."""
        return self._owner(self._followed(name))[0]

    def _followed(self, name):
        """Returns the name under which it is defined, following re-exports of packages."""
        seen = set()
        while name not in self.nodes and name not in seen:
            seen.add(name)
            owner, rest = self._owner(name)
            export = self.exports.get(owner, {}).get(rest[0])
            name = ".".join([export, *rest[1:]]) if export else name
        return name

    def _owner(self, name):
        """Returns (the longest prefix of a name that is a module, or None; the parts after it)."""
        parts = name.split(".")
        for stop in range(len(parts), 0, -1):
            if ".".join(parts[:stop]) in self.nodes:
                return ".".join(parts[:stop]), parts[stop:]
        return None, parts

    def _bound(self, module):
        """Yields (name in the module, full name) of every imported name."""
        for node in self.nodes[module]:
            if isinstance(node, ast.ImportFrom):
                yield from self._bound_from(self._origin(module, node), node.names)
            elif isinstance(node, ast.Import):
                yield from ((a.asname, a.name) for a in node.names if a.asname)
                yield from ((a.name.split(".")[0],) * 2 for a in node.names if not a.asname)

    def _bound_from(self, origin, names):
        """Does the same for one `from` import; `*` stands for all that the package imports."""
        for name in names:
            if name.name == "*" and origin in self.packages:
                yield from self._bound(origin)
            else:
                yield name.asname or name.name, f"{origin}.{name.name}"

    def _origin(self, module, node):
        """Returns the module that a `from` import names, with relative dots resolved."""
        if not node.level:
            return node.module
        up = node.level - (module in self.packages)
        base = module.split(".")[: len(module.split(".")) - up]
        return ".".join([*base, *([node.module] if node.module else [])])

    def _used(self, module):
        """Yields the imported modules; for a package, those used from it, or its __init__."""
        whole = {}
        for name, full in self._bound(module):
            if self._followed(full) in self.packages:
                whole[name] = self._followed(full)
            else:
                yield self.home(full)
        for node in self.nodes[module]:
            if isinstance(node, ast.Import):
                yield from (self.home(a.name) for a in node.names if a.name not in self.packages)
        yield from self._taken(module, whole)

    def _taken(self, module, whole):
        """Yields the modules behind attributes of imported packages; for bare use, the package."""
        inner = set()
        for node in self.nodes[module]:  # a.b.c comes before the a.b in it, and that before the a
            if id(node) not in inner and (chain := dotted(node)) and chain[0].id in whole:
                inner |= set(map(id, chain))
                attributes = [one.attr for one in chain[1:]]
                yield self.home(".".join([whole[chain[0].id], *attributes]))


def module_of(path, root):
    return ".".join([root, *path.removesuffix(".py").split("/")]).removesuffix(".__init__")


KINDS = ast.Import, ast.ImportFrom, ast.Assign, ast.Name, ast.Attribute


def loaded(tree):
    """Yields imports, assignments and names, except those that only a type checker reads.

    A node comes before those inside it.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, KINDS):
            yield node
        waiting += reversed([*ast.iter_child_nodes(node)])


def late(node, root):
    """Yields the imports that a table {module: names} stands for."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if isinstance(key, ast.Constant) and str(key.value).startswith(f"{root}."):
                names = [ast.alias(name) for name in value.value.split()]
                yield ast.ImportFrom(module=key.value, names=names, level=0)


def dotted(node):
    """Returns [Name, Attribute, ...] of a.b.c, from the left; None for anything else."""
    chain = []
    while isinstance(node, ast.Attribute):
        chain.append(node)
        node = node.value
    return [node, *reversed(chain)] if isinstance(node, ast.Name) else None
