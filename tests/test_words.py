"""Every text a person reads is plain: all are in one file for review, and none has a banned word."""

import inspect
import pydoc
import re
from pathlib import Path

import pytest

import enmesh
from enmesh.cli import COMMANDS, main
from tests import messages

ROOT = Path(__file__).parents[1]
# Pictures in place of the field's words.
BANNED = re.compile(
    r"""\b(
    glanc(e|es|ed) | looks?\ beyond | bends?\b(?!\.) | tam(e|es|ed|ing)\b | bears?\b | goes?\ along | going\ along
    | rid(e|es|ing)\ along | stands?\ behind | worth\ about | daughters\ of | neighbours\ (see|look|judge)s?
    | lines?(,|\ and)\ curves? | (is|are)\ left\b(?!\ (out|open|to|alone)) | no\ eye | cuts?\ (its|the)\ tie
    | within\ chance | by\ lines\b | neighbours\ ask
    )""",
    re.I | re.X,
)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "llms.txt",
    ROOT / "paper" / "paper.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def hits(text):
    """Return the banned words of a text, each with what stands around it."""
    text = " ".join(re.sub(r"```.*?```", " ", text, flags=re.S).split())
    return [text[max(0, found.start() - 40) : found.end() + 20] for found in BANNED.finditer(text)]


def test_a_change_of_wording_is_seen():
    """A text that is new or changed is reviewed in the difference of tests/messages.txt."""
    assert messages.FILE.read_text(encoding="utf-8") == messages.page(), "run: python -m tests.messages"


def test_the_collector_finds_texts_and_no_code():
    source = '''
def f(x: "a type with three words") -> None:
    """A docstring of four words."""
    refuse(f"{x} is not a number; " f"give {x + 1}")
    return "PRAGMA quick check now", "two words"
'''
    assert list(messages.in_python(source)) == ["{} is not a number; give {}"]
    script = 'let a = "one two three"; // "not this one here"\nsay(`${a + `${b}`} is two words`)'
    assert "one two three" in messages.in_script(script)
    assert not any("not this" in text for text in messages.in_script(script))
    assert list(messages.in_markup("<p>one two three</p><script>var one two = three</script>")) == ["one two three"]


def test_banned_words_are_found():
    for text in ("what neighbours see", "lines, curves", "is left of it", "the samples bear", "worth about 62"):
        assert hits(text), text
    for text in ("it is left out", "a bearing", "the command line", "left open"):
        assert not hits(text), text


def test_no_message_has_a_banned_word():
    found = {(name, text) for name, texts in messages.collected().items() for text in texts if hits(text)}
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_has_a_banned_word(page):
    assert not hits(page.read_text(encoding="utf-8"))


def public():
    """Yield the docstring of every public object, and of its public members."""
    for name in enmesh.__all__:
        thing = getattr(enmesh, name)
        yield name, thing.__doc__ or ""
        if inspect.isclass(thing) or inspect.ismodule(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and getattr(value, "__module__", "enmesh").startswith("enmesh"):
                    yield f"{name}.{member}", inspect.getdoc(value) or ""


def test_no_public_docstring_has_a_banned_word():
    assert not {name: found for name, text in public() if (found := hits(text))}


def test_no_help_has_a_banned_word(capsys):
    for command in COMMANDS:
        name = command.__name__
        assert main([name, "--help-all"]) == 0
        assert not hits(capsys.readouterr().out), name


def test_the_help_of_infer_fits_on_a_screen_and_a_half():
    shown = pydoc.plain(pydoc.render_doc(enmesh.infer)).splitlines()
    assert sum(max(1, -(-len(line) // 100)) for line in shown) <= 72  # two of pydoc
