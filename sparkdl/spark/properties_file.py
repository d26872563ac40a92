"""Parser of Spark's properties files, such as spark-defaults.conf."""

import re
from collections.abc import Iterator

LINE_END = re.compile(r"\r\n|\r|\n")
BLANKS = " \t\f"
COMMENTS = "#", "!"
KEY_AND_VALUE = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
AROUND_VALUES = "".join(map(chr, range(33))).replace("\n", "").replace("\r", "")


def parse_properties(text: str) -> dict[str, str]:
    """Returns {key: value} of a file, in which a line that ends with a backslash continues.

    A key without a value has "".

    References
    ----------
    java.util.Properties.load, by which Spark reads them; it then trims values.
    """
    pairs = [KEY_AND_VALUE.findall(line)[0] for line in logical_lines(text)]
    return {unescape(key): unescape(value).strip(AROUND_VALUES) for key, value in pairs}


def logical_lines(text: str) -> Iterator[str]:
    """Yields lines without blanks before them and without comments; continued ones are joined."""
    line = ""
    for part in LINE_END.split(text):
        part = part.lstrip(BLANKS)
        if not line and part.startswith(COMMENTS):
            continue
        line += part
        if (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]
            continue
        if line:
            yield line
        line = ""
    if line:
        yield line


def unescape(text: str) -> str:
    """Returns a key or value with the characters that its escapes stand for."""

    def character(escape):
        digits, letter = escape.groups()
        return chr(int(digits, 16)) if digits else CONTROLS.get(letter, letter)

    # Java writes characters beyond 16 bits as two escapes.
    return ESCAPE.sub(character, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
