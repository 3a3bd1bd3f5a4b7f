"""What the page says of a result, in plain words: the finding, how sure it is, what an arrow means."""

import math
from pathlib import PurePath

from enmesh.draw.subject import LEVEL, Network

MEANS = (
    "An arrow from a to b: the past of a helps to predict the next value of b, beyond what the past of b "
    "itself and of all other drivers of b already tell.",
    "The transfer entropy (TE) is the size of that help, in nats per sample, averaged over the recording.",
    "The p-value is the chance of a value so large without the link. The q-value corrects it for the number "
    f"of pairs that were tested: of the links with q ≤ {LEVEL}, at most about one in {round(1 / LEVEL)} is "
    "expected to be false.",
)
OF_EVENTS = (
    "An arrow from a to b: when a last had an event helps to predict when b has its next, beyond what the times of b "
    "itself and of all other drivers of b already tell.",
    "The transfer entropy (TE) is the size of that help, a rate in nats per unit of time. The lag is how long after an "
    "event of a the events of b are most, or least, frequent.",
)
STABLE = (
    "Stability is the share of random cuts of the recording into two halves in which both halves show the link, each "
    "by itself. Near 1 it would be found again; a link that chance made is seldom found twice."
)
MEANS_NOT = (
    "It does not prove a cause. A common driver that was not recorded can draw an arrow between two nodes "
    "that do not touch.",
    "Its width is not the strength of a physical coupling: a strong coupling that synchronises two nodes "
    "leaves little transfer entropy in either direction.",
    "A missing arrow is not proof of no coupling. The recording may be too short, too noisy or sampled at "
    "the wrong rate to show it.",
    "Noise in the measurement makes true links weaker and can draw arrows against the true direction; more "
    "data does not remove them.",
)
NO_FEEDBACK = (
    "Feedback is not shown: only networks without cycles were allowed, so a loop loses one of its links."
)
NEGATIVE = (
    "A negative value is no error. True transfer entropy is never below 0, but its estimate can be, by "
    "chance, where nothing is transferred."
)


GRID = (
    "How much of its own past each node needs: dimension upward, delay to the right, darker is better. The dot is "
    "the choice. It is often not on the darkest cell: of the dimensions that predict as well as the best one, as "
    "far as the recording can tell, the smallest is taken, because a longer past can hide who drives the node."
)


def recording(network: Network) -> str:
    """Return the name of the recording: its file, else the beginning of its digest, else nothing."""
    known = network.provenance
    if known.get("file"):
        return PurePath(str(known["file"]).replace("\\", "/")).name
    return f"data {str(known['data'])[:8]}" if known.get("data") else ""


def past(network: Network) -> str:
    """Return how the past of each node was chosen, in a sentence or two."""
    if "events" in network.provenance:
        return (
            "Histories of events, in continuous time, take the place of an embedding; see the methods below."
        )
    if any({"dims", "delays"} <= set(table) for table in network.criteria.values()):
        return GRID
    lags = sorted({lag for c in network.candidates for lag in getattr(c, "lags", None) or (c.lag,)})
    if network.criteria:
        return f"Lags were chosen from the data, pair by pair; those in use: {', '.join(map(str, lags))} samples."
    reasons = [f"{value} ({why})" for what, value, why in network.choices if what in ("lags", "embedding")]
    if reasons:
        return f"Lags were chosen from the data: {'; '.join(reasons)}."
    given = "The embedding was given, not chosen from the data; its numbers are in the methods below."
    return given if lags in ([], [1]) else f"{given} Lags tested: {', '.join(map(str, lags))} samples."


def headline(network: Network) -> str:
    """Return the finding in one sentence: links with q up to 0.05, and how many more the score kept."""
    found, possible = _counts(network)
    if not possible:
        return "One node: no link is possible."
    tested = any(math.isfinite(c.q_value) for c in network.candidates)
    sure = sure_links(network) if tested else found
    if not found:
        return f"No link found among {possible} possible."
    if not sure:
        kept = f"{found} {'was' if found == 1 else 'were'} kept by the score."
        return f"No link among {possible} possible has q ≤ {LEVEL:g}; {kept}"
    more = f" {found - sure} more kept by the score." if found > sure else ""
    return f"{sure} of {possible} possible links found.{more}"


def standing(network: Network) -> str:
    """Return how good the network is among all that were allowed, and how many of its links are sure."""
    return " ".join(filter(None, [_proof(network), _sureness(network), _acyclicity(network)]))


def meanings(network: Network) -> tuple[str, ...]:
    """Return what an arrow and its numbers mean."""
    said = OF_EVENTS if "events" in network.provenance else MEANS[:2]
    return (*said, *MEANS[2:], *[STABLE] * bool(network.stability))


def notes(network: Network) -> tuple[str, ...]:
    """Return what an arrow does not mean in this network in particular."""
    acyclic = network.options.get("acyclic", False)
    negative = any(c.te < 0 for c in network.candidates)
    return (*MEANS_NOT, *[NO_FEEDBACK] * bool(acyclic), *[NEGATIVE] * negative)


def sure_links(network: Network) -> int:
    """Return the number of links with a q-value up to `LEVEL`."""
    return sum(c.selected and c.q_value <= LEVEL for c in network.candidates)


def _counts(network: Network) -> tuple[int, int]:
    size = len(network.names)
    return sum(len(parents) for parents in network.parents.values()), size * (size - 1)


def _proof(network: Network) -> str:
    if network.optimal:
        return "Proven optimal: no allowed network has a higher score."
    if math.isfinite(network.bound):
        above = network.bound - network.score
        return f"The best network found; no allowed one can score more than {above:.3g} higher."
    return "The best network found; a better one may exist."


def _sureness(network: Network) -> str:
    found, _ = _counts(network)
    if not found or not network.candidates:
        return ""
    sure = sure_links(network)
    if sure == found:
        return f"Every link has q ≤ {LEVEL}." if found > 1 else f"The link has q ≤ {LEVEL}."
    return f"{sure} of the {found} {'has' if sure == 1 else 'have'} q ≤ {LEVEL}; doubtful links are dashed."


def _acyclicity(network: Network) -> str:
    if not network.removed:
        return ""
    listed = ", ".join(f"{source} → {target}" for source, target in network.removed[:6])
    more = f" and {len(network.removed) - 6} more" if len(network.removed) > 6 else ""
    return f"Left out to avoid cycles: {listed}{more}."
