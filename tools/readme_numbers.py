"""Write the numbers of README.md from the tables of the docs, which their own commands measure.

python tools/readme_numbers.py
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NONLINEAR = ("sines", "variances", "cubics", "products")
MADE = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.S)


def rows(page: str, heading: str, first: str) -> dict[str, list[str]]:
    """Return the cells of a table by its first column: of the section with this heading, the table that begins so."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", text, re.S | re.M)
    table = section and re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|: ]+\|\n((?:\|.*\n)+)", section[1], re.M)
    if not table:
        raise SystemExit(f"{page} has no table {first!r} under {heading!r}")
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[1].splitlines()]
    return {name: rest for name, *rest in cells}


def numbers(text: str) -> list[float]:
    """Return the numbers in a cell."""
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def span(values: list[float], digits: int) -> str:
    """Return the smallest and the largest of some values."""
    ends = [f"{value:.{digits}f}" for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def four() -> str:
    """Return the table of four numbers."""
    sizes = rows("docs/defaults.md", "Small and large", "network")
    kinds = rows("docs/defaults.md", "How accurate", "links")
    false = rows("docs/calibration.md", "False links of infer", "process")
    speed = rows("benchmarks/SPEED.md", "Speed of the neighbour engine", "200 circular shifts")
    large = "VAR, 300 nodes, 240 links, lags to 5"
    found, right, seconds = sizes[large]
    true, wrong, missed = (int(one) for one in numbers(found))
    curved = [numbers(row[3])[0] for name, row in kinds.items() if name.split(",")[0] in NONLINEAR]
    rates = [numbers(row[1])[0] for row in false.values()]  # 6 nodes, 500 samples
    jidt, ours = numbers(speed["N = 1,000: JIDT / enmesh, s"][1])[:2]
    found = f"{true} of {true + missed} found, {int(numbers(right)[0])} with the right lag, {wrong} false"
    made = [
        (
            f"**links of a large network**: {large}, 1,000 samples",
            f"{found}, {numbers(seconds)[0]:.0f} CPU s",
            "[defaults](docs/defaults.md#small-and-large)",
        ),
        (
            f"**false links** of {len(false)} kinds of uncoupled processes, 500 samples, asked for 10 in 1,000 pairs",
            f"{span(rates, 0)} in 1,000",
            "[calibration](docs/calibration.md#false-links-of-infer)",
        ),
        (
            "**nonlinear links**: sines, cubics, products, links to variances, 6 and 12 nodes, 1,000 samples",
            f"F1 {span(curved, 2)}",
            "[defaults](docs/defaults.md#how-accurate)",
        ),
        (
            "**speed**: 200 surrogates by nearest neighbours, 1,000 samples, one core",
            f"{ours:.1f} s; JIDT {jidt:.1f} s",
            "[speed](benchmarks/SPEED.md)",
        ),
    ]
    lines = ["| | measured | where |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in made)]
    return "\n".join(lines) + "\n"


def limits() -> str:
    """Return where it fails, with numbers."""
    sets = rows("docs/defaults.md", "How accurate", "set")
    sizes = rows("docs/defaults.md", "Small and large", "network")
    flows = [numbers(row[1])[0] for name, row in sets.items() if name.startswith("flows")]
    few = [numbers(row[2]) for name, row in sets.items() if name in ("fork, T = 250", "v_structure, T = 250")]
    missed = [100 * one[2] / (one[0] + one[2]) for one in few]
    true, _, lost = numbers(sizes["Novelli map, 100 nodes, T = 1000"][0])
    share = 100 * true / (true + lost)
    lines = [
        f"- Coupled flows (Lorenz, Rössler) of which one coordinate is recorded: F1 {span(flows, 2)}.",
        f"- Few samples: with 250, {span(missed, 0)} % of the links of two public test sets are missed.",
        f"- Weak links need long recordings: of 100 coupled maps, 1,000 samples show {share:.0f} %.",
    ]
    return "\n".join(lines) + "\n"


def filled(text: str) -> str:
    """Return the page with its numbers as the docs have them now."""
    return MADE.sub(lambda found: found[1] + {"four": four, "limits": limits}[found[2]]() + found[3], text)


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
