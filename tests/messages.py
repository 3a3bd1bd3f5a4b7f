"""Every text of at least three words that enmesh can show, in one file for review: tests/messages.txt.

python -m tests.messages          # write the file anew, after texts have changed; read the difference

What a message fills in stands as {}. Docstrings are not among them; the help texts of the command line are docstrings.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import enmesh

ROOT = Path(enmesh.__file__).parent
FILE = Path(__file__).with_suffix(".txt")
WORD = re.compile(r"[A-Za-z]{2,}")
CODE = re.compile(
    r"^\s*(PRAGMA|INSERT|UPDATE|SELECT|DELETE|CREATE|DROP|VACUUM|ATTACH)\b|default-src|=>|^\W*(color-mix|linear-grad|prefers)"
    r"|^[.#\[][a-z-]+[ ,[]|^allow-|^(WeakKey)?[Dd]ict\[|const "
)
# Strings of JavaScript: comments are skipped, what is filled in stands as {}.
SCRIPT = re.compile(r"""//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`""", re.S)


def is_text(text: str) -> bool:
    """Return whether a string is a text for people: three words, and no code."""
    words = re.sub(r"<[^>]*>|\{\}", " ", text)
    return " " in words.strip() and len(WORD.findall(words)) >= 3 and not CODE.search(text)


def in_python(source: str) -> Iterator[str]:
    """Yield the texts of a module but for docstrings and types, in the order of the file."""
    tree = ast.parse(source)
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring
            skipped.add(node.value)
        for name in ("annotation", "returns"):
            if part := getattr(node, name, None):
                skipped |= set(ast.walk(part))

    def texts(node: ast.AST) -> Iterator[str]:
        if node in skipped:
            return
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            node = ast.Module([part for part in node.values if isinstance(part, ast.FormattedValue)], [])  # type: ignore
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        for part in ast.iter_child_nodes(node):
            yield from texts(part)

    yield from filter(is_text, texts(tree))


def in_script(source: str) -> Iterator[str]:
    """Yield the texts of a JavaScript file."""
    for found in SCRIPT.finditer(source):
        text = next((one for one in found.groups() if one), "")
        while text != (text := re.sub(r"\$\{[^{}]*\}", "{}", text.replace("{}", "\0"))):
            pass
        if is_text(text := text.replace("\0", "{}")):
            yield text


def in_markup(source: str) -> Iterator[str]:
    """Yield the texts between the tags of an HTML file."""
    bare = re.sub(r"<(script|style).*?</\1>|<!--.*?-->", "", source, flags=re.S)
    yield from filter(is_text, (" ".join(one.split()) for one in re.findall(r">([^<>]+)<", bare)))


READERS = {".py": in_python, ".js": in_script, ".html": in_markup}


@cache
def collected() -> dict[str, list[str]]:
    """Return the texts of every file of the package."""
    paths = sorted(path for path in ROOT.rglob("*") if path.suffix in READERS)
    found = {str(path.relative_to(ROOT)): READERS[path.suffix](path.read_text(encoding="utf-8")) for path in paths}
    return {name: lines for name, texts in found.items() if (lines := sorted({" ".join(t.split()) for t in texts}))}


def page() -> str:
    """Return the file as it is written."""
    return "".join(f"{name}\n{''.join(f'  {text}{chr(10)}' for text in texts)}" for name, texts in collected().items())


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    print(f"{FILE}: {sum(map(len, collected().values()))} texts")
