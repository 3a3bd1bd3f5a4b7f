"""Print the Flesch reading ease of every page: higher is easier; 60 is plain English, 30 and less a scientific paper.

python tools/readability.py README.md docs/*.md

206.835 - 1.015 words per sentence - 84.6 syllables per word (Flesch, Journal of Applied Psychology 32, 221, 1948).
Code, tables, formulas and links' addresses do not count. Syllables are groups of vowels, less a silent final e.
"""

import re
import sys
from pathlib import Path

CUT = (
    r"^(`{3,}|~{3,}|:{3,}).*?^\1\s*$",  # blocks of code and of directives
    r"^\s*(\||>>>|\.\.\.|:\w+:|\[\^).*$",  # tables, prompts, options, notes
    r"<[^>]+>|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|\$[^$]*\$|`[^`]*`|\[\^\w+\]",
)


def prose(text: str) -> str:
    """Return the sentences of a page; headings and items of lists end as sentences do."""
    for pattern, flags in zip(CUT, (re.S | re.M, re.M, 0)):
        text = re.sub(pattern, " ", text, flags=flags)
    return re.sub(r"^(#+ .*|[-*] .*[^.:;,\n])$", r"\1.", text, flags=re.M)


def syllables(word: str) -> int:
    """Return the number of syllables of a word, as a rule."""
    word = re.sub(r"(?<=[^aeiouyl])e$|(?<=[^dt])ed$|(?<=[^aeiouycgszx])es$", "", word.lower())
    return max(1, len(re.findall(r"[aeiouy]+", word)))


def measured(text: str) -> tuple[int, int, int]:
    """Return the numbers of words, sentences and syllables of a page."""
    text = prose(text)
    words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?", text)
    return len(words), max(1, len(re.findall(r"[.!?:](?=\s|$)", text))), sum(map(syllables, words))


def ease(words: int, sentences: int, syllables: int) -> float:
    """Return the Flesch reading ease."""
    return 206.835 - 1.015 * words / sentences - 84.6 * syllables / max(words, 1)


if __name__ == "__main__":
    pages = {name: measured(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]}
    for name, counts in pages.items():
        print(f"{ease(*counts):5.1f}  {counts[0]:6,} words, {counts[0] / counts[1]:4.1f} a sentence  {name}")
    words, sentences, spoken = (sum(column) for column in zip(*pages.values()))
    print(f"{ease(words, sentences, spoken):5.1f}  {words:6,} words, {words / sentences:4.1f} a sentence  all")
