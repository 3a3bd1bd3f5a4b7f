"""The paper: its table of numbers from those of the docs, and its PDF.

python tools/paper.py                               # write the table anew from docs/_static/field.csv
python tools/paper.py paper/paper.md paper.pdf      # build the PDF (pypandoc_binary and typst)
"""

import csv
import re
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[1]
PAPER, NUMBERS = ROOT / "paper" / "paper.md", ROOT / "docs" / "_static" / "field.csv"
MARKS = re.compile(r"(<!-- made: field.csv -->\n).*?(<!-- end -->)", re.S)
SETTINGS = {
    "linear, 40 nodes": "Novelli var, 40 nodes, T = 1000",
    "maps, 10 nodes": "Novelli map, 10 nodes, T = 1000",
    "Lorenz-96, F = 40": "Lorenz-96, F = 40, T = 1000",
    "heavy tails": "mixed, heavy tails, T = 1000",
}
# The answer of each method that its documentation recommends.
METHODS = {
    "enmesh": "defaults",
    "PCMCI ParCorr": "FDR .05",
    "PCMCI+ ParCorr": "FDR .05",
    "Granger": "FDR .05",
    "VAR-LiNGAM": "weights ≥ .1",
}


def table() -> str:
    """Return mean F1 by setting and method, and false links per 1,000 pairs over uncoupled data."""
    with NUMBERS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["setting"].startswith("uncoupled") and (row["method"], row["answer"]) in METHODS.items():
            kinds.setdefault(row["setting"], {})[row["method"]] = float(row["false"])
    shared = [kind for kind in kinds.values() if len(kind) == len(METHODS)]
    lines = ["| | " + " | ".join(SETTINGS) + " | false links |", "|:--|" + "--:|" * (len(SETTINGS) + 1)]
    for method, answer in METHODS.items():
        own = [row for row in rows if (row["method"], row["answer"]) == (method, answer)]
        scores = {row["setting"]: float(row["F1"]) for row in own if row["F1"]}
        cells = [f"{scores[setting]:.2f}" for setting in SETTINGS.values()]
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {mean(kind[method] for kind in shared):.0f} |")
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """Return the paper with its table as the numbers are now."""
    return MARKS.sub(lambda found: found[1] + table() + found[2], text)


def build(source: Path, target: Path) -> None:
    """Write the PDF: pandoc makes Typst, which sets it."""
    import pypandoc
    import typst

    how = ["--citeproc", f"--resource-path={source.parent}", "--standalone", "--metadata=citeproc-hanging-indent:true"]
    text = pypandoc.convert_file(str(source), "typst", extra_args=how)
    made = source.parent / f".{target.stem}.typ"
    made.write_text(text, encoding="utf-8")
    try:
        typst.compile(str(made), output=str(target), root=str(ROOT))
    finally:
        made.unlink()
    print(target)


if __name__ == "__main__":
    if sys.argv[1:]:
        build(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        PAPER.write_text(filled(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
