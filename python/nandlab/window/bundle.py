"""Bundle: the modules of the page as one script, for pages that are one file.

Each module becomes a function that returns what it exports, modules that it imports before it. A
page in one file can then have a policy that allows this one script and no other.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from nandlab.given.refusal import refusal
from nandlab.window.assets import Assets

_FROM = r"""\s*["'](\.[^"']+)["'];?"""
_IMPORT = re.compile(rf"^import\s+(?:([^\"']+?)\s+from)?{_FROM}[ \t]*$", re.M)
_AGAIN = re.compile(rf"^export\s*\{{([^}}]*)\}}\s*from{_FROM}[ \t]*$", re.M)
_LIST = re.compile(r"^export\s*\{([^}]*)\};?[ \t]*$", re.M)
_DEFAULT = re.compile(r"^export\s+default\s+(?=(?:async\s+)?(?:function|class)\b|(\w+);)", re.M)
_NAMED = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+(\w+)", re.M)
_DECLARED = re.compile(r"(?:(?:async\s+)?function\*?|class)\s+(\w+)")
_COMMENT = re.compile(r"^/\*.*?\*/", re.M | re.S)
_FORM = re.compile(r"^(?:import|export)\b", re.M)
_LEFT = re.compile(r"^(?:import\b(?!\.meta)|export)\b.*|\bimport\s*\(", re.M)


def bundle(page: Assets, entry: str) -> str:
    """One script that does what the module `entry` does.

    Raises:
        NandlabError: a module that is missing, imports itself, or uses another form of import or
            export than those of the page.
    """
    done: dict[str, str] = {}
    _add(page, entry, done, ())
    return "\n".join(['"use strict";', "const modules = {};", *done.values(), ""])


def _add(page: Assets, path: str, done: dict[str, str], above: tuple[str, ...]) -> None:
    if path in done:
        return
    if path in above:
        raise refusal(path, f"it imports itself, by {' and '.join(above)}")
    content = page.get(path)
    if content is None:
        raise refusal(path, "no such file of the page", hint=f"{above[-1:]} imports it")
    # What is switched off is no module; a licence stays.
    text = _COMMENT.sub(lambda found: "" if _FORM.search(found[0]) else found[0], content.decode())
    imported = [_beside(path, found[2]) for found in _IMPORT.finditer(text)]
    imported += [_beside(path, found[2]) for found in _AGAIN.finditer(text)]
    for each in imported:
        _add(page, each, done, (*above, path))
    done[path] = _wrapped(path, text)


def _wrapped(path: str, text: str) -> str:
    """A module as a function that is called at once."""
    exported: dict[str, str] = {}

    def imports(found: re.Match[str]) -> str:
        of = f"modules[{_beside(path, found[2])!r}]"
        return "" if found[1] is None else f"const {_bound(path, found[1])} = {of};"

    def again(found: re.Match[str]) -> str:
        for name, other in _names(found[1]):
            exported[other] = f"modules[{_beside(path, found[2])!r}].{name}"
        return ""

    def listed(found: re.Match[str]) -> str:
        exported.update((other, name) for name, other in _names(found[1]))
        return ""

    def default(found: re.Match[str]) -> str:
        if found[1] is not None:
            exported["default"] = found[1]
            return "void "
        declared = _DECLARED.match(text, found.end())
        if declared is None:
            raise refusal(path, "a default export without a name")
        exported["default"] = declared[1]
        return ""

    def named(found: re.Match[str]) -> str:
        exported[found[2]] = found[2]
        return f"{found[1]} {found[2]}"

    body = _DEFAULT.sub(default, text)
    for form, change in ((_IMPORT, imports), (_AGAIN, again), (_LIST, listed), (_NAMED, named)):
        body = form.sub(change, body)
    if left := _LEFT.search(body):
        raise refusal(path, f"`{left[0].strip()}`: a form that a page in one file cannot have")
    # In one file there is nothing beside a module.
    body = body.replace("import.meta.url", "document.baseURI")
    returned = ", ".join(f"{name}: {value}" for name, value in exported.items())
    return f"modules[{path!r}] = (() => {{\n{body}\nreturn {{ {returned} }};\n}})();"


def _beside(path: str, other: str) -> str:
    """Path of a module that another one names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), other))


def _bound(path: str, names: str) -> str:
    """Left side of the assignment for what is imported."""
    if names.startswith("{"):
        pairs = [n if n == o else f"{n}: {o}" for n, o in _names(names.strip("{} \n"))]
        return f"{{ {', '.join(pairs)} }}"
    if every := re.fullmatch(r"\*\s+as\s+(\w+)", names):
        return every[1]
    if re.fullmatch(r"\w+", names):
        return f"{{ default: {names} }}"
    raise refusal(path, f"`import {names}`: a form that a page in one file cannot have")


def _names(listed: str) -> Iterator[tuple[str, str]]:
    """Names of a list with the names that they get: ``a, b as c``."""
    for one in filter(None, (part.strip() for part in listed.split(","))):
        name, _, other = one.partition(" as ")
        yield name.strip(), (other or name).strip()
