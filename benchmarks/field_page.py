"""Tables and pictures of the head-to-head from the rows of `field.py`.

`docs/field.md` is prose with marked places, ``<!-- made: NAME -->`` to ``<!-- end -->``; what stands between the marks
is made here, with pictures and a CSV of every number in `docs/_static`.
"""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import peers
import systems

DOCS = Path(__file__).parents[1] / "docs"
MEASURES = ("F1", "precision", "recall", "AUROC", "AUPRC", "right lags", "false", "CPU s")
PANELS = {
    "linear": ("Novelli var, 10 nodes, T = 1000", "Novelli var, 40 nodes, T = 1000", "sparse VAR(3)"),
    "maps and mixed structures": ("Novelli map, 10 nodes, T = 1", "logistic network", "mixed"),
    "rings, flows, oscillators": ("Lorenz-96", "flows", "Kuramoto"),
}
PUBLISHED = (
    ("Novelli var, 10 nodes, T = 1000", "recall", "IDTxl .30 to .95 (all sizes)", "Novelli et al. 2019"),
    ("Novelli var, 100 nodes, T = 10000", "recall", "IDTxl over .98", "Novelli et al. 2019"),
    ("Novelli map, 10 nodes, T = 1000", "recall", "IDTxl .45 to .91 (all sizes)", "Novelli et al. 2019"),
    ("Novelli map, 100 nodes, T = 10000", "recall", "IDTxl over .98", "Novelli et al. 2019"),
    ("file: fork, T = 1000", "F1", "oCSE .80, PCMCI-CMIknn .78, PCMCI-ParCorr .53, Granger .44", "Assaad et al. 2022"),
    ("file: v_structure, T = 1000", "F1", "oCSE .90, PCMCI-CMIknn .67, PCMCI-ParCorr .61, Granger .37",
     "Assaad et al. 2022"),
    ("file: fork, T = 250", "F1", "oCSE .76, PCMCI-CMIknn .56, Granger .67", "Assaad et al. 2022"),
    ("file: v_structure, T = 250", "F1", "oCSE .86, PCMCI-CMIknn .65, Granger .37", "Assaad et al. 2022"),
)  # fmt: skip
COMPARABLE = 10  # false links per 1,000 pairs beyond ours that still count as comparable
Settings = dict[str, systems.Setting]
Answer = tuple[str, str]  # method, name of the answer


class Summary:
    """Means and standard errors over seeds, by answer and setting."""

    def __init__(self, rows: list[dict], settings: Settings):
        self.rows, self.settings = [row for row in rows if row["data"] in settings], settings
        self.by: dict[tuple[str, str], list[dict]] = {}
        for row in self.rows:
            self.by.setdefault((row["method"], row["data"]), []).append(row)
        self.machine = next((row["machine"] for row in self.rows if "machine" in row), None)
        here = {row["method"] for row in self.rows}
        self.answers = [
            (name, answer)
            for name, method in peers.METHODS.items()
            if name in here
            for answer in method.answers
        ]

    def values(self, answer: Answer, data: str, measure: str) -> list[float]:
        """Return one number for each finished file; nothing where it has none. Costs are of the first machine."""
        done = [row for row in self.by.get((answer[0], data), ()) if row["status"] == "done"]
        if measure == "CPU s":
            done = [row for row in done if row["machine"] == self.machine] or done
        pairs = self.settings[data].nodes * (self.settings[data].nodes - 1)
        found = [measured(row, answer[1], measure, pairs) for row in done]
        return [value for value in found if value is not None]

    def mean(self, answer: Answer, data: str, measure: str) -> float | None:
        """Return the mean over the files."""
        values = self.values(answer, data, measure)
        return float(np.mean(values)) if values else None

    def cell(self, answer: Answer, data: str, measure: str, show: Callable[[float], str]) -> str:
        """Return mean ± standard error, or why there is none."""
        rows = self.by.get((answer[0], data), [])
        values = self.values(answer, data, measure)
        if values:
            error = (
                f" ± {show(float(np.std(values, ddof=1) / np.sqrt(len(values))))}" if len(values) > 1 else ""
            )
            return show(float(np.mean(values))) + error
        if ended_before(self.rows, answer[0], data, self.settings):
            return "too long"
        return "cannot" if rows else ""


def ended_before(rows: Iterable[dict], method: str, data: str, settings: Settings) -> bool:
    """Whether a method went over the limit on a file of this setting, or of a smaller one of its kind.

    A setting of which it finished a file does not count as such.
    """
    mine = [row for row in rows if row["method"] == method and row["data"] in settings]
    if any(row["status"] == "done" for row in mine if row["data"] == data):
        return False
    here = settings[data]
    return any(
        row["status"] == "over"
        and kind(row["data"]) == kind(data)
        and (there := settings[row["data"]]).nodes <= here.nodes
        and there.n <= here.n
        for row in mine
    )


def kind(data: str) -> str:
    """Return the name of a setting without its sizes."""
    return ", ".join(part for part in data.split(", ") if "nodes" not in part and "T =" not in part)


def error(values: list[float]) -> float:
    """Return the standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def measured(row: dict, answer: str, measure: str, pairs: int) -> float | None:
    """Return a measure of one row."""
    true, false, missed, right, known = row["answers"][answer]
    if measure in ("AUROC", "AUPRC"):
        return row[measure.lower()]
    if measure == "false":
        return 1000 * false / (pairs - true - missed)
    if measure == "CPU s":
        return row["seconds"]
    if not true + missed:
        return None
    return {
        "F1": 2 * true / max(1, 2 * true + false + missed),
        "precision": true / (true + false) if true + false else None,
        "recall": true / (true + missed),
        "right lags": right / known if known else None,
    }[measure]


def named(answer: Answer) -> str:
    return f"{answer[0]} ({peers.METHODS[answer[0]].answers[answer[1]]})"


def short(value: float) -> str:
    """Write a share with two digits."""
    return f"{value:.2f}".replace("0.", ".") if value < 0.995 else "1.00"


def lines(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    made = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in made)


def share_table(summary: Summary, names: list[str], heads: list[str], measure: str = "F1") -> str:
    """One row for each answer, one column for each setting."""
    rows = (
        [named(one), *(summary.cell(one, data, measure, short) for data in names)] for one in summary.answers
    )
    return lines(["", *heads], (row for row in rows if any(row[1:])))


def mean_table(summary: Summary, names: list[str]) -> str:
    """Return all measures, averaged over the settings that every method without a bound on size has finished."""
    everywhere, shown = common(summary, names)
    rows = []
    for one in shown:
        row = [named(one)]
        for measure in MEASURES:
            found = [summary.mean(one, name, measure) for name in everywhere]
            found = [value for value in found if value is not None]
            mean = float(np.mean(found)) if found else None
            row.append("" if mean is None else number(mean) if measure in ("CPU s", "false") else short(mean))
        rows.append(row)
    head = [*MEASURES[:-2], "false per 1,000", "CPU s a file"]
    return f"Means over {len(everywhere)} settings: {'; '.join(everywhere)}.\n\n" + lines(["", *head], rows)


def common(summary: Summary, names: list[str]) -> tuple[list[str], list[Answer]]:
    """Return the settings that every method without a bound on size has finished, and the answers that cover them."""
    unbounded = [one for one in summary.answers if np.isinf(peers.METHODS[one[0]].size)]
    kept = [name for name in names if all(summary.values(one, name, "CPU s") for one in unbounded)]
    return kept, [one for one in summary.answers if all(summary.values(one, name, "CPU s") for name in kept)]


def number(value: float) -> str:
    return (
        f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}".replace("0.", ".")
    )


def false_table(summary: Summary, names: list[str]) -> str:
    """False links per 1,000 uncoupled pairs of each answer: mean and median over the kinds, and the worst."""
    rows = []
    for one in summary.answers:
        found = {name: mean for name in names if (mean := summary.mean(one, name, "false")) is not None}
        if found:
            worst = sorted(found, key=found.get)[-2:][::-1]
            words = "; ".join(f"{name.removeprefix('uncoupled: ')}: {number(found[name])}" for name in worst)
            middle = [number(float(function(list(found.values())))) for function in (np.mean, np.median)]
            rows.append([named(one), *middle, words])
    return lines(["", f"mean of {len(names)} kinds", "median", "worst"], rows)


def cost_table(summary: Summary, names: list[str]) -> str:
    """CPU seconds a file, and how many times ours."""
    methods = list(dict.fromkeys(method for method, _ in summary.answers))
    first = {method: next(one for one in summary.answers if one[0] == method) for method in methods}
    rows = []
    for name in names:
        ours, row = summary.mean(first["enmesh"], name, "CPU s") if "enmesh" in first else None, [name]
        for method in methods:
            cost = summary.mean(first[method], name, "CPU s")
            times = f" ({number(cost / ours)}×)" if cost and ours and method != "enmesh" else ""
            row.append(summary.cell(first[method], name, "CPU s", number).split(" ± ")[0] + times)
        rows.append(row)
    return lines(["CPU s a file (times ours)", *methods], rows)


def slow_table(summary: Summary) -> str:
    """F1 and cost of methods that take long, on the files that each was asked about."""
    names = [name for name in summary.settings if any(row["data"] == name for row in summary.rows)]
    rows = []
    for name in names:
        ours = summary.mean(("enmesh", "links"), name, "CPU s")
        for one in summary.answers:
            cost = summary.mean(one, name, "CPU s")
            if cost is None:
                over = [row["limit"] for row in summary.by.get((one[0], name), ()) if row["status"] == "over"]
                if over and one[1] == next(iter(peers.METHODS[one[0]].answers)):
                    rows.append([name, one[0], "", "", f"over {over[0]:.0f}", f"over {over[0] / ours:.0f}"])
                continue
            shares = (summary.cell(one, name, measure, short) for measure in ("F1", "AUPRC"))
            rows.append([name, named(one), *shares, number(cost), number(cost / ours)])
    return lines(["setting", "method", "F1", "AUPRC", "CPU s a file", "times ours"], rows)


def ahead_table(summary: Summary, names: list[str]) -> str:
    """Answers of others that are ahead of our defaults by more than .03 F1 at comparable false links."""
    ours, rows = ("enmesh", "links"), []
    for name in names:
        mine = summary.mean(ours, name, "F1")
        for one in summary.answers:
            theirs = summary.mean(one, name, "F1")
            if one[0].startswith("enmesh") or mine is None or theirs is None or theirs <= mine + 0.03:
                continue
            its, own = (summary.mean(each, name, "false") or 0.0 for each in (one, ours))
            if its <= own + COMPARABLE:
                rows.append([name, named(one), short(theirs), short(mine), number(its), number(own)])
    return lines(["setting", "method", "its F1", "ours", "its false per 1,000", "ours"], rows)


def published_table(summary: Summary) -> str:
    rows = []
    for name, measure, value, source in PUBLISHED:
        if name in summary.settings and (ours := summary.cell(("enmesh", "links"), name, measure, short)):
            rows.append([name, measure, ours, value, source])
    return lines(["setting", "measure", "enmesh, here", "published", "source"], rows)


def method_table(summary: Summary, slow: Summary) -> str:
    rows = []
    for name, method in peers.METHODS.items():
        asked = [row for row in summary.rows + slow.rows if row["method"] == name]
        versions = sorted({row["version"] for row in asked if "version" in row})
        what = method.call.__doc__.split("\n")[0].rstrip(".")
        rows.append(
            [name, f"{method.package} {', '.join(versions)}", what, "; ".join(method.answers.values())]
        )
        if not asked:
            rows[-1][1] = f"{method.package}: not run"
    return lines(["method", "package", "what is called", "answers"], rows)


def run_line(summary: Summary) -> str:
    """Say how much was run, where, and on how many files each group of settings was judged."""
    rows = summary.rows
    machines = Counter(row["machine"] for row in rows if "machine" in row)
    where = "; ".join(f"{count:,} on {name}" for name, count in machines.most_common())
    over = sum(row["status"] == "over" for row in rows)
    files: dict[str, list[int]] = {}
    for data, setting in summary.settings.items():
        if found := summary.by.get(("enmesh", data)):
            files.setdefault(setting.group, []).append(len(found))
    counts = ", ".join(
        f"{name} {min(n)} to {max(n)}" if min(n) < max(n) else f"{name} {n[0]}" for name, n in files.items()
    )
    return (
        f"{len(rows):,} runs, seeds from {systems.FIRST_SEED} ({where}); {over} were ended at the limit. "
        f"Files for each number of ours: {counts}."
    )


def parts(rows: list[dict], slow: list[dict], settings: Settings) -> dict[str, str]:
    """Return every part of the page that is made from the rows of the main run and of the slow methods."""
    summary, beside = Summary(rows, settings), Summary(slow, settings)
    group = {name: [each for each in settings if settings[each].group == name] for name in
             ("networks", "systems", "variants", "uncoupled", "files")}  # fmt: skip
    asked = {
        name: [each for each in names if any(row["data"] == each for row in rows)]
        for name, names in group.items()
    }
    made = {"run": run_line(summary), "methods": method_table(summary, beside)}
    made |= {"slow-run": run_line(beside), "slow": slow_table(beside)}
    for kind in ("var", "map"):
        names = [name for name in asked["networks"] if f"Novelli {kind}" in name]
        made[kind] = share_table(
            summary, names, [name.split(", ", 1)[1].replace(" nodes, T =", ",") for name in names]
        )
    made["systems"] = share_table(
        summary, asked["systems"], [name.replace(", T = ", ", ") for name in asked["systems"]]
    )
    made["variants"] = share_table(summary, asked["variants"], asked["variants"])
    made["files"] = share_table(
        summary, asked["files"], [name.removeprefix("file: ") for name in asked["files"]]
    )
    for name in ("networks", "systems", "variants"):
        made[f"{name}-means"] = mean_table(summary, asked[name])
    made["uncoupled"] = false_table(summary, asked["uncoupled"])
    made["cost"] = cost_table(summary, [*asked["networks"], *asked["systems"]])
    made["ahead"] = ahead_table(summary, [*asked["networks"], *asked["systems"], *asked["variants"]])
    made["published"] = published_table(summary)
    return made


def tables(rows: list[dict], settings: Settings) -> str:
    """Return all tables as text."""
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in parts(rows, [], settings).items())


def filled(page: str, made: dict[str, str]) -> str:
    """Return the page with every marked place filled anew."""

    def place(match: re.Match) -> str:
        return f"<!-- made: {match[1]} -->\n{made[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- made: (\S+) -->\n.*?<!-- end -->", place, page, flags=re.S)


def write(rows: list[dict], slow: list[dict], settings: Settings) -> None:
    """Write page, pictures and numbers from the rows of the main run and of the slow methods."""
    page = DOCS / "field.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), parts(rows, slow, settings)), encoding="utf-8")
    summary = Summary(rows, settings)
    (DOCS / "_static" / "field.csv").write_text(numbers(summary), encoding="utf-8")
    draw(summary)


def numbers(summary: Summary) -> str:
    """Return mean and standard error of every measure as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "setting",
            "method",
            "answer",
            "files",
            "too long",
            *(f"{m}{e}" for m in MEASURES for e in ("", " SE")),
        ]
    )
    for data in summary.settings:
        for one in summary.answers:
            rows = summary.by.get((one[0], data), [])
            if rows:
                line = [
                    data,
                    one[0],
                    peers.METHODS[one[0]].answers[one[1]],
                    len(rows),
                    sum(row["status"] == "over" for row in rows),
                ]
                for measure in MEASURES:
                    values = summary.values(one, data, measure)
                    line.append(f"{np.mean(values):.4g}" if values else "")
                    line.append(f"{error(values):.2g}" if len(values) > 1 else "")
                writer.writerow(line)
    return out.getvalue()


# -- pictures ----------------------------------------------------------------------------------------------------


def draw(summary: Summary) -> None:
    """Draw both pictures on light and on dark ground."""
    import matplotlib as mpl

    sys.path.insert(0, str(DOCS))
    from pictures import COMMON, DARK, LIGHT

    for style, ending in ((LIGHT, ""), (DARK, "-dark")):
        with mpl.rc_context(COMMON | style | {"savefig.dpi": 130}):
            for name, picture in (("field-cost", cost_picture), ("field-false", false_picture)):
                picture(summary).savefig(DOCS / "_static" / f"{name}{ending}.png")


MARKS = {
    "enmesh": ("C0", "o"), "enmesh, lines": ("C0", "s"), "enmesh, curves": ("C0", "^"),
    "enmesh, neighbours": ("C0", "D"), "PCMCI ParCorr": ("C1", "o"), "PCMCI+ ParCorr": ("C1", "s"),
    "Granger": ("C2", "o"), "Granger lasso": ("C2", "s"), "VAR-LiNGAM": ("C3", "o"), "oCSE": ("C3", "s"),
}  # fmt: skip


def cost_picture(summary: Summary):
    """Mean F1 against CPU seconds, one panel for each family of data; the documented answer is filled."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(11.5, 3.8), sharey=True)
    for axis, (title, starts) in zip(axes, PANELS.items()):
        names, shown = common(summary, [name for name in summary.settings if name.startswith(starts)])
        for method in dict.fromkeys(method for method, _ in shown if method in MARKS and names):
            color, marker = MARKS[method]
            answers = [one for one in shown if one[0] == method]
            x = np.exp(np.mean([np.log(summary.mean(answers[0], name, "CPU s")) for name in names]))
            y = [np.mean([summary.mean(one, name, "F1") for name in names]) for one in answers]
            axis.plot([x] * len(y), y, color=color, lw=0.8, zorder=1)
            for place, height in enumerate(y):
                look = {"markerfacecolor": "none"} if place else {"label": method}
                axis.plot(
                    x, height, marker, color=color, markersize=9 if method == "enmesh" else 6.5, lw=0, **look
                )
        axis.set(xscale="log", xlabel="CPU seconds a file", title=f"{title} ({len(names)} settings)")
        axis.grid(alpha=0.2)
    axes[0].set(ylabel="F1", ylim=(0, 1.02))
    handles = {text: handle for axis in axes for handle, text in zip(*axis.get_legend_handles_labels())}
    order = [method for method in MARKS if method in handles]
    figure.legend(
        [handles[method] for method in order], order, loc="outside right center", fontsize=8, frameon=False
    )
    plt.close(figure)
    return figure


def false_picture(summary: Summary):
    """False links per 1,000 pairs by kind of data: a table in colours."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    names = [name for name in summary.settings if summary.settings[name].group == "uncoupled"]
    shown = [one for one in summary.answers if any(summary.values(one, name, "CPU s") for name in names)]
    values = np.array([[summary.mean(one, name, "false") for one in shown] for name in names], dtype=float)
    figure, axis = plt.subplots(figsize=(2.5 + 0.55 * len(shown), 2.4 + 0.32 * len(names)))
    axis.imshow(np.maximum(values, 3), norm=LogNorm(3, 1000), cmap="YlOrBr", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = value > 150
            axis.text(
                j, i, f"{value:.0f}", ha="center", va="center", fontsize=7, color="white" if dark else "black"
            )
    axis.set_xticks(range(len(shown)), map(named, shown), rotation=40, ha="right", fontsize=7)
    axis.set_yticks(range(len(names)), [name.removeprefix("uncoupled: ") for name in names], fontsize=7.5)
    axis.set_title("false links per 1,000 pairs that are not coupled")
    axis.tick_params(length=0)
    plt.close(figure)
    return figure
