"""Vega-Lite to SVG, by vl-convert: no browser, no network, no script in what comes out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import Diagnostic, PaislurmError
from ...lazy import regex
from ..output.console import one_line
from .charts import VEGA_LITE
from .install_hint import install_hint

if TYPE_CHECKING:
    from types import ModuleType
    from xml.etree.ElementTree import Element

_NAMESPACE = "{http://www.w3.org/2000/svg}"
_TAGS = frozenset(f"{_NAMESPACE}{tag}" for tag in ("svg", "g", "path", "line", "rect", "text", "tspan", "title"))
_ATTRIBUTE = regex(r"[a-z][A-Za-z0-9-]*")
_PLACES = regex(r"(\d+\.\d{2})\d+")


class ReportError(PaislurmError):
    """Report a report that cannot be made."""

    exit_code = 4


def converter() -> ModuleType:
    """Return the library that draws; ReportError if it is not installed."""
    try:
        import vl_convert
    except ImportError:
        message = "a report needs the library vl-convert, which is not installed"
        raise ReportError(Diagnostic(code="E595", message=message, hint=install_hint())) from None
    return vl_convert  # type: ignore[no-any-return, unused-ignore]


def draw(spec: dict[str, Any], title: str) -> str:
    """Return a chart as the text of an `svg` element that is of no danger to a page; ReportError if it cannot be."""
    try:
        text = converter().vegalite_to_svg(_printable(spec), vl_version=VEGA_LITE, allowed_base_urls=[])
    except ValueError as error:
        message = f"the chart `{title}` cannot be drawn: {str(error).splitlines()[0][:200]}"
        raise ReportError(Diagnostic(code="E596", message=message, hint="please report it")) from None
    return checked(text, title)


def _printable(value: Any) -> Any:
    """Return a value whose texts show what acts: the library ends the whole process at a text that XML cannot have."""
    if isinstance(value, dict):
        return {key: _printable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return one_line(value) if isinstance(value, str) else value


def checked(text: str, title: str) -> str:
    """Return an SVG with shapes and texts only, without links, styles and scripts; ReportError for any other."""
    # The library made it, out of names that anybody can choose. What goes on is what is understood here.
    from xml.etree import ElementTree as ET

    if "<!" in text:
        raise _refused(title, "a declaration")
    ET.register_namespace("", _NAMESPACE.strip("{}"))
    root = ET.fromstring(text)  # noqa: S314
    for element in list(root.iter()):
        if element.tag not in _TAGS:
            raise _refused(title, f"the element {element.tag}")
        _strip(element, title)
        if says := element.attrib.pop("aria-label", "") if element.get("aria-roledescription") == "bar" else "":
            ET.SubElement(element, f"{_NAMESPACE}title").text = says
    for element in root.iter():
        for name in [name for name in element.attrib if name.startswith("aria-") or name == "role"]:
            del element.attrib[name]
    root.set("role", "img")
    root.set("aria-label", one_line(title))
    return ET.tostring(root, encoding="unicode")


def _strip(element: Element, title: str) -> None:
    for name, value in list(element.attrib.items()):
        if not _ATTRIBUTE.fullmatch(name) or name.startswith("on") or ("url(" in value and name != "aria-label"):
            raise _refused(title, f"the attribute {name}")
        if name in ("style", "class", "pointer-events"):
            del element.attrib[name]
        elif name in ("d", "transform", "x2", "y2", "width", "height"):
            element.attrib[name] = re.sub(_PLACES.pattern, r"\1", value)


def _refused(title: str, what: str) -> ReportError:
    message = f"the chart `{title}` has {what}, which a report does not take"
    return ReportError(Diagnostic(code="E596", message=message, hint="please report it"))
