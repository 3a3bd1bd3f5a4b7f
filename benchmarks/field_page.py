"""Tables and pictures of the head-to-head.

Their record is `docs/_static/field.csv` (and `field-slow.csv`): number of files, mean and standard error of every
measure for each setting, method and answer. Rows of `field.py` replace the entries that they are about; others stay.
`docs/field.md` is prose with marked places, ``<!-- made: NAME -->`` to ``<!-- end -->``; what stands between the marks
is made here from the record, with pictures.
"""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

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
Answer = tuple[str, str]  # method, answer in words
OURS = ("enmesh", "defaults")


class Entry(NamedTuple):
    """One answer in one setting: files asked, files ended at the limit, (mean, standard error) by measure."""

    files: int
    over: int
    values: dict[str, tuple[float, float | None]]
    version: str
    machine: str  # of the costs


Record = dict[tuple[str, str, str], Entry]  # by setting, method and answer in words


def entries(rows: Iterable[dict], settings: Settings) -> Record:
    """Return the entries of rows; costs are of the machine that most of an entry's rows come from."""
    by: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        if row["data"] in settings:
            by.setdefault((row["data"], row["method"]), []).append(row)
    made = {}
    for (data, method), asked in by.items():
        pairs = settings[data].nodes * (settings[data].nodes - 1)
        done = [row for row in asked if row["status"] == "done"]
        over = sum(row["status"] == "over" for row in asked)
        version = ", ".join(sorted({row["version"] for row in asked if "version" in row}))
        machines = Counter(row["machine"] for row in done)
        machine = max(machines, key=machines.__getitem__, default="")
        for name, words in peers.METHODS[method].answers.items():
            values = {}
            for measure in MEASURES:
                counted = [row for row in done if measure != "CPU s" or row["machine"] == machine]
                found = [measured(row, name, measure, pairs) for row in counted]
                if found := [value for value in found if value is not None]:
                    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else None
                    values[measure] = float(np.mean(found)), error
            made[data, method, words] = Entry(len(asked), over, values, version, machine)
    return made


def updated(kept: Record, new: Record, replace: bool = False) -> Record:
    """Return the record with new entries; those without numbers or of fewer files than kept ones if ``replace``."""

    def weight(one: Entry) -> tuple[bool, int]:
        return bool(one.values), one.files

    return kept | {
        key: one for key, one in new.items() if replace or key not in kept or weight(one) >= weight(kept[key])
    }


def with_costs(kept: Record, new: Record) -> Record:
    """Return the record with the CPU seconds of new entries, and the machine that they were measured on."""
    made = dict(kept)
    for key in kept.keys() & new.keys():
        if cost := {name: value for name, value in new[key].values.items() if name == "CPU s"}:
            made[key] = kept[key]._replace(values=kept[key].values | cost, machine=new[key].machine)
    return made


class Summary:
    """A record with the order of settings and methods."""

    def __init__(self, record: Record, settings: Settings):
        self.record, self.settings = record, settings
        there = {data for data, *_ in record}
        self.names = [name for name in dict.fromkeys([*settings, *(data for data, *_ in record)]) if name in there]
        asked = {method for _, method, _ in record}
        self.answers = [
            (name, words)
            for name, method in peers.METHODS.items()
            if name in asked
            for words in method.answers.values()
        ]
        self.ends = [
            {"method": method, "data": data, "status": status}
            for (data, method, _), one in record.items()
            for status in ["over"] * (one.over > 0) + ["done"] * bool(one.values)
        ]

    def of(self, group: str) -> list[str]:
        """Return the settings of a group; public files need not be there for their numbers to stay."""
        return [name for name in self.names if group_of(name, self.settings) == group]

    def mean(self, answer: Answer, data: str, measure: str) -> float | None:
        """Return the mean over the files."""
        one = self.record.get((data, *answer))
        return one.values[measure][0] if one and measure in one.values else None

    def cell(self, answer: Answer, data: str, measure: str, show: Callable[[float], str]) -> str:
        """Return mean ± standard error, or why there is none."""
        one = self.record.get((data, *answer))
        if one and measure in one.values:
            mean, error = one.values[measure]
            return show(mean) + ("" if error is None else f" ± {show(error)}")
        if ended_before(self.ends, answer[0], data, self.settings):
            return "too long"
        return "cannot" if one else ""


def group_of(name: str, settings: Settings) -> str:
    return settings[name].group if name in settings else "files"


def ended_before(rows: Iterable[dict], method: str, data: str, settings: Settings) -> bool:
    """Whether a method went over the limit on a file of this setting, or of a smaller one of its kind.

    A setting of which it finished a file does not count as such.
    """
    mine = [row for row in rows if row["method"] == method and row["data"] in settings]
    if any(row["status"] == "done" for row in mine if row["data"] == data):
        return False
    here = settings.get(data)
    return here is not None and any(
        row["status"] == "over"
        and kind(row["data"]) == kind(data)
        and (there := settings[row["data"]]).nodes <= here.nodes
        and there.n <= here.n
        for row in mine
    )


def kind(data: str) -> str:
    """Return the name of a setting without its sizes."""
    return ", ".join(part for part in data.split(", ") if "nodes" not in part and "T =" not in part)


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
    return f"{answer[0]} ({answer[1]})"


def short(value: float) -> str:
    """Write a share with two digits."""
    return f"{value:.2f}".replace("0.", ".") if value < 0.995 else "1.00"


def lines(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    made = [header, ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in made)


def marked(rows: list[list[str]], values: list[list[float | None]], lowest: Iterable[int] = ()) -> list[list[str]]:
    """Return rows of cells with the best value of each column in bold: the smallest in the ``lowest`` columns."""
    low, made = set(lowest), [list(row) for row in rows]
    for column in range(max(map(len, values), default=0)):
        known = [row[column] for row in values if row[column] is not None]
        if len(known) < 2:
            continue
        best = min(known) if column in low else max(known)
        for row, numbers in zip(made, values):
            if numbers[column] == best:
                row[column + 1] = f"**{row[column + 1]}**"
    return made


def share_table(summary: Summary, names: list[str], heads: list[str], measure: str = "F1") -> str:
    """One row for each answer, one column for each setting, in which the best is bold."""
    rows, values = [], []
    for one in summary.answers:
        row = [named(one), *(summary.cell(one, data, measure, short) for data in names)]
        if any(row[1:]):
            rows.append(row)
            values.append([summary.mean(one, data, measure) for data in names])
    return lines(["", *heads], marked(rows, values))


def mean_table(summary: Summary, names: list[str]) -> str:
    """Return all measures, averaged over the settings that every method without a bound on size has finished."""
    everywhere, shown = common(summary, names)
    rows, values = [], []
    for one in shown:
        row: list[str] = [named(one)]
        values.append([])
        for measure in MEASURES:
            found = [summary.mean(one, name, measure) for name in everywhere]
            found = [value for value in found if value is not None]
            mean = float(np.mean(found)) if found else None
            values[-1].append(mean)
            row.append("" if mean is None else number(mean) if measure in ("CPU s", "false") else short(mean))
        rows.append(row)
    head = [*MEASURES[:-2], "false per 1,000", "CPU s a file"]
    told = f"Means over {len(everywhere)} setting{'s' * (len(everywhere) != 1)}: {'; '.join(everywhere)}.\n\n"
    lowest = [len(MEASURES) - 2, len(MEASURES) - 1]
    return told + lines(["", *head], marked(rows, values, lowest)) if everywhere else ""


def common(summary: Summary, names: list[str]) -> tuple[list[str], list[Answer]]:
    """Return the settings that every method asked at any size has finished, and the answers that cover them."""
    methods = {name for name, each in peers.METHODS.items() if np.isinf(each.size) and each.group == "field"}
    unbounded = [one for one in summary.answers if one[0] in methods]
    kept = [name for name in names if all(summary.mean(one, name, "CPU s") for one in unbounded)]
    return kept, [one for one in summary.answers if all(summary.mean(one, name, "CPU s") for name in kept)]


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}".replace("0.", ".")


def false_table(summary: Summary, names: list[str]) -> str:
    """False links per 1,000 uncoupled pairs of each answer: mean and median over the kinds, and the worst."""
    rows, values = [], []
    names, shown = asked_of_all(summary, names)
    for one in shown:
        found = {name: summary.mean(one, name, "false") for name in names}
        worst = sorted(found, key=found.get)[-2:][::-1]
        words = "; ".join(f"{name.removeprefix('uncoupled: ')}: {number(found[name])}" for name in worst)
        middle = [float(function(list(found.values()))) for function in (np.mean, np.median)]
        rows.append([named(one), *map(number, middle), words])
        values.append([*middle])
    return lines(["", f"mean of {len(names)} kinds", "median", "worst"], marked(rows, values, (0, 1)))


def asked_of_all(summary: Summary, names: list[str]) -> tuple[list[str], list[Answer]]:
    """Return the kinds of uncoupled data of which all answers are known that are known of any, and these answers."""
    shown = [one for one in summary.answers if any(summary.mean(one, name, "false") is not None for name in names)]
    return [name for name in names if all(summary.mean(one, name, "false") is not None for one in shown)], shown


def cost_table(summary: Summary, names: list[str]) -> str:
    """CPU seconds a file, and how many times ours where both ran on the same machine."""
    methods = {name: (name, next(iter(peers.METHODS[name].answers.values()))) for name, _ in summary.answers}
    rows = []
    for name in names:
        row = [name]
        for method, answer in methods.items():
            times = times_ours(summary, answer, name)
            cost = summary.cell(answer, name, "CPU s", number).split(" ± ")[0]
            row.append(cost + (f" ({times}×)" if times and method != OURS[0] else ""))
        rows.append(row)
    return lines(["CPU s a file (times ours)", *methods], rows)


def times_ours(summary: Summary, answer: Answer, name: str) -> str:
    """Return how many times our cost an answer takes, if both are known on the same machine."""
    its, own = (summary.record.get((name, *each)) for each in (answer, OURS))
    if not (its and own and its.values and own.values and its.machine == own.machine):
        return ""
    return number(its.values["CPU s"][0] / own.values["CPU s"][0])


def slow_table(summary: Summary) -> str:
    """F1 and cost of methods that take long, on the files that each was asked about."""
    rows = []
    for name in summary.names:
        for one in summary.answers:
            if cost := summary.cell(one, name, "CPU s", number).split(" ± ")[0]:
                shares = (summary.cell(one, name, measure, short) for measure in ("F1", "AUPRC"))
                rows.append([name, named(one), *shares, cost, times_ours(summary, one, name)])
    return lines(["setting", "method", "F1", "AUPRC", "CPU s a file", "times ours"], rows)


def ahead_table(summary: Summary, names: list[str]) -> str:
    """Answers of others that are ahead of our defaults by more than .03 F1 at comparable false links."""
    rows = []
    for name in names:
        mine = summary.mean(OURS, name, "F1")
        for one in summary.answers:
            theirs = summary.mean(one, name, "F1")
            if one[0].startswith("enmesh") or mine is None or theirs is None or theirs <= mine + 0.03:
                continue
            its, own = (summary.mean(each, name, "false") or 0.0 for each in (one, OURS))
            if its <= own + COMPARABLE:
                shares = (summary.cell(each, name, "F1", short) for each in (one, OURS))
                rows.append([name, named(one), *shares, number(its), number(own)])
    return lines(["setting", "method", "its F1", "ours", "its false per 1,000", "ours"], rows)


def published_table(summary: Summary) -> str:
    rows = []
    for name, measure, value, source in PUBLISHED:
        if ours := summary.cell(OURS, name, measure, short):
            rows.append([name, measure, ours, value, source])
    return lines(["setting", "measure", "enmesh, here", "published", "source"], rows)


def method_table(summary: Summary, slow: Summary) -> str:
    rows = []
    for name, method in peers.METHODS.items():
        asked = [one for each in (summary, slow) for (_, by, _), one in each.record.items() if by == name]
        versions = sorted({version for one in asked for version in one.version.split(", ") if version})
        package = f"{method.package} {', '.join(versions)}" if asked else f"{method.package}: not run"
        what = method.call.__doc__.split("\n")[0].rstrip(".")
        rows.append([name, package, what, "; ".join(method.answers.values())])
    return lines(["method", "package", "what is called", "answers"], rows)


def run_line(summary: Summary) -> str:
    """Say how much was run, where costs were measured, and on how many files each group of settings was judged."""
    if not summary.record:
        return ""
    runs = {(data, method): one for (data, method, _), one in summary.record.items()}.values()
    machines = Counter(one.machine for one in runs if one.machine)
    where = f"; costs are of {' and '.join(name for name, _ in machines.most_common())}" if machines else ""
    files: dict[str, list[int]] = {}
    for name in summary.names:
        if one := summary.record.get((name, *OURS)):
            files.setdefault(group_of(name, summary.settings), []).append(one.files)
    counts = ", ".join(
        f"{name} {min(n)} to {max(n)}" if min(n) < max(n) else f"{name} {n[0]}" for name, n in files.items()
    )
    return (
        f"{sum(one.files for one in runs):,} runs, seeds from {systems.FIRST_SEED}{where}; "
        f"{sum(one.over for one in runs)} ended at the limit. Files for each number of ours: {counts}."
    )


def parts(record: Record, slow: Record, settings: Settings) -> dict[str, str]:
    """Return every part of the page that is made from the records of the main run and of the slow methods."""
    summary, beside = Summary(record, settings), Summary(slow, settings)
    asked = {name: summary.of(name) for name in ("networks", "systems", "variants", "uncoupled", "files")}
    made = {"run": run_line(summary), "methods": method_table(summary, beside)}
    made |= {"slow-run": run_line(beside), "slow": slow_table(beside)}
    for kind in ("var", "map"):
        names = [name for name in asked["networks"] if f"Novelli {kind}" in name]
        made[kind] = share_table(summary, names, [name.split(", ", 1)[1].replace(" nodes, T =", ",") for name in names])
    made["systems"] = share_table(
        summary, asked["systems"], [name.replace(", T = ", ", ") for name in asked["systems"]]
    )
    made["variants"] = share_table(summary, asked["variants"], asked["variants"])
    made["files"] = share_table(summary, asked["files"], [name.removeprefix("file: ") for name in asked["files"]])
    for name in ("networks", "systems", "variants"):
        made[f"{name}-means"] = mean_table(summary, asked[name])
    made["uncoupled"] = false_table(summary, asked["uncoupled"])
    made["cost"] = cost_table(summary, [*asked["networks"], *asked["systems"]])
    made["ahead"] = ahead_table(summary, [*asked["networks"], *asked["systems"], *asked["variants"]])
    made["published"] = published_table(summary)
    return made


def tables(rows: list[dict], settings: Settings) -> str:
    """Return all tables that have a row as text."""
    made = parts(entries(rows, settings), {}, settings)
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in made.items() if text and text[-5:] != "--- |")


def filled(page: str, made: dict[str, str]) -> str:
    """Return the page with every marked place filled anew."""

    def place(match: re.Match) -> str:
        return f"<!-- made: {match[1]} -->\n{made[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- made: (\S+) -->\n.*?<!-- end -->", place, page, flags=re.S)


def write(rows: list[dict], settings: Settings, merged: Callable[[Record, Record], Record], slow: bool = False) -> None:
    """Put rows (of the main run or of the slow methods) into the record, and write it, the page and the pictures.

    ``merged`` makes a record of the one that is kept and of that of the rows (`updated`, `with_costs`).
    """
    records = []
    for name, new in (("field", not slow), ("field-slow", slow)):
        path = DOCS / "_static" / f"{name}.csv"
        record = read(path.read_text(encoding="utf-8"))
        if new:
            text = as_csv(Summary(merged(record, entries(rows, settings)), settings))
            path.write_text(text, encoding="utf-8")
            record = read(text)  # the page says what the table says, to the last digit
        records.append(record)
    page = DOCS / "field.md"
    made = parts(*records, settings)
    page.write_text(filled(page.read_text(encoding="utf-8"), made), encoding="utf-8")
    draw(Summary(records[0], settings))


def read(text: str) -> Record:
    """Return the record that is kept in a CSV."""
    record: Record = {}
    for row in csv.DictReader(io.StringIO(text)):
        values = {
            measure: (float(row[measure]), float(error) if (error := row[f"{measure} SE"]) else None)
            for measure in MEASURES
            if row[measure]
        }
        files, over = int(row["files"]), int(row["too long"])
        key = row["setting"], row["method"], row["answer"]
        record[key] = Entry(files, over, values, row["version"], row["machine"])
    return record


def as_csv(summary: Summary) -> str:
    """Return the record as CSV, in the order of settings and methods."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    measures = [f"{measure}{end}" for measure in MEASURES for end in ("", " SE")]
    writer.writerow(["setting", "method", "answer", "files", "too long", *measures, "version", "machine"])
    for data in summary.names:
        for answer in summary.answers:
            if one := summary.record.get((data, *answer)):
                line = [data, *answer, one.files, one.over]
                for measure in MEASURES:
                    mean, error = one.values.get(measure, (None, None))
                    line += ["" if mean is None else f"{mean:.4g}", "" if error is None else f"{error:.3g}"]
                writer.writerow([*line, one.version, one.machine])
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
    "enmesh": ("C0", "o"), "enmesh, linear": ("C0", "s"), "enmesh, quadratic": ("C0", "^"),
    "enmesh, KSG": ("C0", "D"), "PCMCI ParCorr": ("C1", "o"), "PCMCI+ ParCorr": ("C1", "s"),
    "Granger": ("C2", "o"), "Granger lasso": ("C2", "s"), "VAR-LiNGAM": ("C3", "o"), "oCSE": ("C3", "s"),
}  # fmt: skip


def cost_picture(summary: Summary):
    """Mean F1 against CPU seconds, one panel for each family of data; the documented answer is filled."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(PANELS), figsize=(11.5, 3.8), sharey=True)
    for axis, (title, starts) in zip(axes, PANELS.items()):
        names, shown = common(summary, [name for name in summary.names if name.startswith(starts)])
        for method in dict.fromkeys(method for method, _ in shown if method in MARKS and names):
            color, marker = MARKS[method]
            answers = [one for one in shown if one[0] == method]
            x = np.exp(np.mean([np.log(summary.mean(answers[0], name, "CPU s")) for name in names]))
            y = [np.mean([summary.mean(one, name, "F1") for name in names]) for one in answers]
            axis.plot([x] * len(y), y, color=color, lw=0.8, zorder=1)
            for place, height in enumerate(y):
                look = {"markerfacecolor": "none"} if place else {"label": method}
                axis.plot(x, height, marker, color=color, markersize=9 if method == "enmesh" else 6.5, lw=0, **look)
        axis.set(xscale="log", xlabel="CPU seconds a file", title=f"{title} ({len(names)} settings)")
        axis.grid(alpha=0.2)
    axes[0].set(ylabel="F1", ylim=(0, 1.02))
    handles = {text: handle for axis in axes for handle, text in zip(*axis.get_legend_handles_labels())}
    order = [method for method in MARKS if method in handles]
    figure.legend([handles[method] for method in order], order, loc="outside right center", fontsize=8, frameon=False)
    plt.close(figure)
    return figure


def false_picture(summary: Summary):
    """False links per 1,000 pairs by kind of data: a table in colours."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    names, shown = asked_of_all(summary, summary.of("uncoupled"))
    values = np.array([[summary.mean(one, name, "false") for one in shown] for name in names], dtype=float)
    figure, axis = plt.subplots(figsize=(2.5 + 0.55 * len(shown), 2.4 + 0.32 * len(names)))
    axis.imshow(np.maximum(values, 3), norm=LogNorm(3, 1000), cmap="YlOrBr", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = value > 150
            axis.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axis.set_xticks(range(len(shown)), map(named, shown), rotation=40, ha="right", fontsize=7)
    axis.set_yticks(range(len(names)), [name.removeprefix("uncoupled: ") for name in names], fontsize=7.5)
    axis.set_title("false links per 1,000 pairs that are not coupled")
    axis.tick_params(length=0)
    plt.close(figure)
    return figure
