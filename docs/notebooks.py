"""Make a notebook of each section of `fields.md` and of `notebooks.md`: its words and its code."""

import json
import re
from pathlib import Path

SECTION = re.compile(r"^## (\w+)\n\n(.*?)\n\n```python\n(.*?)```", re.S | re.M)

ABOUT = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def cell(kind: str, text: str, number: int) -> dict[str, object]:
    """Return a cell of a notebook."""
    made: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    made["source"] = text.strip().splitlines(keepends=True)
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(title: str, words: str, code: str) -> dict[str, object]:
    """Return a notebook in format 4.5."""
    shown = re.sub(r'net\.plot\("[\w.]+"(?:, )?', "net.plot(", code)
    cells = [
        cell("markdown", f"# {title}\n\n{words}", 0),
        cell("code", shown, 1),
        cell("markdown", "The network, to explore, with its table and cautions:", 2),
        cell("code", "net", 3),
        cell("markdown", "A page to share:", 4),
        cell("code", f'net.report("{title.lower()}.html", title="{title}")', 5),
    ]
    return {"cells": cells, "metadata": ABOUT, "nbformat": 4, "nbformat_minor": 5}


def several_cells(title: str, body: str) -> dict[str, object]:
    """Return a section as a notebook: words and code in their order."""
    cells = [cell("markdown", f"# {title}", 0)]
    for part in re.split(r"(^```python\n.*?^```$)", body, flags=re.S | re.M):
        code = re.fullmatch(r"```python\n(.*?)```", part.strip(), re.S)
        if code:
            cells.append(cell("code", code[1], len(cells)))
        elif part.strip():
            cells.append(cell("markdown", part, len(cells)))
    return {"cells": cells, "metadata": ABOUT, "nbformat": 4, "nbformat_minor": 5}


def notebooks(page: Path) -> dict[str, dict[str, object]]:
    """Return the notebooks of a page by their names: of the ten fields, or of the page of notebooks."""
    text = page.read_text(encoding="utf-8")
    if page.stem == "notebooks":
        sections = re.split(r"^## (.+)\n", text, flags=re.M)[1:]
        found = zip(sections[::2], sections[1::2])
        return {title.lower().replace(" ", "-"): several_cells(title, body) for title, body in found}
    return {title.lower(): notebook(title, words, code) for title, words, code in SECTION.findall(text)}


def write_all(page: Path, folder: Path) -> list[Path]:
    """Write the notebooks of a page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, made in notebooks(page).items():
        files.append(folder / f"{name}.ipynb")
        files[-1].write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return files
