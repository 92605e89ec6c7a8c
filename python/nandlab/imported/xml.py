"""XML of other simulators: elements with their lines; document types and entities are refused.

An entity may name others many times over, and so grow without end, or name a file; no simulator
needs one. The standard library's parser is used with both switched off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from xml.parsers import expat

from nandlab._core import NandlabError
from nandlab.given.inputs import input_bytes
from nandlab.given.refusal import plain, refusal

MOST_BYTES = 16 << 20
"""Bytes of a configuration file; real ones have a few thousand."""


@dataclass
class Element:
    """An element of a file."""

    name: str
    line: int
    text: str = ""
    inner: list[Element] = field(default_factory=list)


def read_xml(path: str | PathLike[str], expected: str) -> Element:
    """The root of an XML file.

    Args:
        path: of the file.
        expected: the expected input, for messages.

    Raises:
        NandlabError: it cannot be read, is no XML, or has a document type, an entity or an
            attribute; names the line.
    """
    data = input_bytes(path, expected)
    name = Path(path).name
    if len(data) > MOST_BYTES:
        raise refusal(name, f"{len(data)} bytes", f"at most {MOST_BYTES >> 20} MiB")
    # Below this root stands that of the file.
    top = Element("", 0)
    open_elements = [top]
    refused: list[NandlabError] = []
    parser = expat.ParserCreate()

    def refuse(problem: str, hint: str = "") -> None:
        refused.append(refusal(f"{name}:{parser.CurrentLineNumber}", problem, hint=hint))
        # An exception in a handler ends the parser.
        raise refused[0]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if attributes:
            told = ", ".join(map(plain, attributes))
            refuse(f"{plain(tag)} has attributes ({told})", "write each key as an element")
        element = Element(tag, parser.CurrentLineNumber)
        open_elements[-1].inner.append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def text(data: str) -> None:
        open_elements[-1].text += data

    def document_type(*_: object) -> None:
        refuse("not supported: a document type and its entities", "remove <!DOCTYPE ...>")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        problem = f"no XML: {expat.ErrorString(error.code)}"
        raise refusal(f"{name}:{error.lineno}", problem, expected) from error
    except (LookupError, ValueError) as error:
        if refused:
            raise refused[0] from None
        raise refusal(name, f"no XML: {plain(error)}", expected) from error
    return top.inner[0]
