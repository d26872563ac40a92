"""Names of types of data, for error messages."""


def kind_of(value):
    """Returns a type's name with its module, such as "pandas.core.frame.DataFrame", or "list"."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def package_of(value):
    """Returns the package that defines the value's type, such as "pandas"."""
    return type(value).__module__.partition(".")[0]
