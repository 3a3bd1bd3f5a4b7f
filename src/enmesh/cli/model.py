"""enmesh whatif and power: what a change would do, and how many samples a link needs."""

from pathlib import Path
from typing import Any

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.data.sources import refuse_existing
from enmesh.errors import InputError, refuse_if

RESULTS = a.argument("results", Path, "Folder that infer wrote, its network.json, or a model.json.")
ENDS = {**a.argument("source", str, "Node that is changed."), **a.argument("target", str, "Node that may move.")}
HOLD = "Keep the change up; else it is there for one sample."
WHATIF = a.group(
    "Options",
    change=(float, "X", "What is added to the source; 1.", 1.0),
    horizon=(int, "N", "Samples after the change; 10.", 10),
    hold=(bool, None, HOLD),
    recording=(Path, "FILE", "Recording to fit, if the folder has no model; by default the one of the run.", "--data"),
    confidence=(float, "X", "Confidence of the interval; 0.95.", 0.95),
)
POWER = a.group(
    "Options",
    te=(float, "NATS", "Transfer entropy of a link whose number of samples is wanted."),
    level=(float, "X", "Error level per link; that of infer."),
    share=(float, "X", "Probability with which a link is to be found; 0.8.", 0.8),
    max_lag=(int, "N", "Lags that will be searched; 5."),
    nodes=(int, "N", "Number of nodes, without a recording."),
    samples=(int, "N", "Number of samples, without a recording.", "--samples"),
)
PICTURE = a.group("Output", out=(Path, "FILE", "Picture: png, svg or pdf."))


@a.with_options(RESULTS, ENDS, WHATIF, a.SEED, PICTURE, a.FORCE, a.JSON, a.DATA)
def whatif(words: a.Given) -> None:
    """Say what a change of one node would do to another, by the fitted network.

    The command uses model.json of the folder, or fits the model to the recording
    and writes it there. The assumptions of the answer are printed with it.

    \b
    Examples
      enmesh whatif recording-results/ a b --change 1 --horizon 10 --out effect.png
      enmesh whatif recording-results/ a b --hold --json
      enmesh whatif recording-results/ a b --data recording.csv
    """
    out = words["out"]
    refuse_existing(out, words["force"])
    model = _model(words)
    how: dict[str, Any] = {name: words[name] for name in ("change", "horizon", "hold", "confidence", "seed")}
    found = model.effect(words["source"], words["target"], **how)
    if out is not None:
        found.plot(out)
    table = found.table.reset_index()
    if words["json"]:
        about = {name: getattr(found, name) for name in ("source", "target", "change", "hold", "confidence")}
        rows = table.to_dict("records")
        show.as_json({**about, "effect": rows, "assumptions": found.assumptions, "file": out})
        return
    show.say(found.sentence)
    show.table([*map(str, table)], [[int(row[0]), *map(float, row[1:])] for row in table.itertuples(index=False)])
    print("This assumes:")
    for one in found.assumptions:
        show.say(f"- {one}")
    if out is not None:
        print(f"picture {out}")


def _model(words: a.Given) -> em.Model:
    """Return the model of a folder: as it is kept there, or fitted to the recording and then kept."""
    given: Path = words["results"]
    folder = given if given.is_dir() else given.parent
    kept = given if given.name == "model.json" else folder / "model.json"
    if given == kept:
        return em.Model.from_json(kept)
    network = em.Network.from_json(folder / "network.json" if given.is_dir() else given)
    if words["recording"] is None and kept.exists():
        model = em.Model.from_json(kept)
        if model.digest == network.provenance.get("data") and model.parents == dict(network.parents):
            return model  # else it is of an earlier run
    origin = str(network.provenance.get("file", ""))
    paths = [words["recording"]] if words["recording"] is not None else [Path(one) for one in origin.split(", ") if one]
    there = paths and all(path.exists() or str(path) == "-" for path in paths)
    refuse_if(not there, f"{kept} is not there, nor the recording of the run ({origin or 'unknown'}); give --data FILE")
    series = build.recording({**words, "data": paths})
    digest = network.provenance.get("data")
    if digest not in (None, series.digest):
        said = ", ".join(map(str, paths))
        told = f"{said} does not hold the data that the network was inferred from, as read there"
        raise InputError(f"{told}; give --data and the options of that run (such as --detrend or --time)")
    model = network.fit(series)
    model.to_json(kept)
    return model


@a.with_options(a.argument("data", Path | None, f"Pilot recording, if there is one: {a.FORMATS}.", "[FILE]"),
                POWER, PICTURE, a.FORCE, a.JSON, a.DATA)  # fmt: skip
def power(words: a.Given) -> None:
    """Say which links a recording can show, and how many samples a link needs.

    \b
    Examples
      enmesh power pilot.csv
      enmesh power pilot.csv --te 0.02 --out power.png
      enmesh power --nodes 10 --te 0.02 --max-lag 5
    """
    out = words["out"]
    refuse_existing(out, words["force"])
    how: dict[str, Any] = {name: words[name] for name in ("level", "share", "max_lag", "te")}
    if words["data"] is None:
        found = em.plan(words["nodes"] or 2, samples=words["samples"], **how)
    else:
        idle = next((name for name in ("nodes", "samples") if words[name] is not None), None)
        refuse_if(idle, f"{a.flag_of(idle or '')} has no effect with a recording; leave it out")
        found = em.power(build.recording(words), **how)
    if out is not None:
        found.plot(out)
    if words["json"]:
        about = {name: getattr(found, name) for name in ("samples", "level", "share", "te", "smallest")}
        about["samples_needed"] = found.samples_needed() if found.te is not None else None
        show.as_json({**about, "max_lag": found.lags, "sentence": found.sentence, "file": out})
        return
    show.say(found.sentence)
    if out is not None:
        print(f"picture {out}")
