"""Elements of an HTML page; the library escapes texts when it serializes them."""

from xml.etree.ElementTree import Element, SubElement, tostring

NUMBERS = int | float


def element(tag, *children, **attributes):
    """Returns an element with children: texts, elements, or lists of these; None is skipped.

    `class_` stands for the attribute "class", and `_` in other names for "-".
    """
    names = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()}
    made = Element(tag, names)
    for child in flat(children):
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + str(child)
        else:
            made.text = (made.text or "") + str(child)
    return made


def flat(children):
    for child in children:
        if isinstance(child, list | tuple):
            yield from flat(child)
        elif child is not None:
            yield child


def table(head, rows, caption=None):
    """Returns a table; numbers are aligned right, and elements serve as cells themselves."""
    made = Element("table")
    if caption:
        made.append(element("caption", caption))
    top = SubElement(SubElement(made, "thead"), "tr")
    top.extend(element("th", text, scope="col") for text in head)
    body = SubElement(made, "tbody")
    for row in rows:
        line = SubElement(body, "tr")
        line.append(element("th", str(row[0]), scope="row"))
        line.extend(cell(value) for value in row[1:])
    return element("div", made, class_="scroll", tabindex="0", role="group")


def cell(value):
    if isinstance(value, Element):
        return value
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return element("td", number(value), class_="n")
    return element("td", "" if value is None else str(value))


def number(value):
    """Formats a number with four digits, or all before the decimal point.

    A value below 1 is never rounded up to 1.
    """
    if isinstance(value, int):
        return f"{value:,}"
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    digits = 4
    while float(f"{abs(value):.{digits}g}") == 1 > abs(value):
        digits += 1
    return f"{value:.{digits}g}"


def text_of(made):
    """Serializes an element as HTML; lone surrogates, which UTF-8 cannot encode, become "?"."""
    return tostring(made, encoding="unicode", method="html").encode("utf-8", "replace").decode()
