"""What the page says of a result, in plain words: the finding, how sure it is, what an arrow means."""

import math
import re
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
EFFECT = (
    "The effect is the linear part of it, with a sign: by how many of its standard deviations the target moves with "
    "one of the source, its own past and the other drivers held. It is near 0 where the dependence bends."
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
NO_FEEDBACK = "Feedback is not shown: only networks without cycles were allowed, so a loop loses a link."
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
    """Return the name of the file that was read; nothing where it is not known."""
    known = network.provenance.get("file")
    return PurePath(str(known).replace("\\", "/")).name if known else ""


def fewer_digits(text: str) -> str:
    """Return a text with long fractions cut to four digits.

    >>> fewer_digits("alpha 0.992424, 17 of 0.05")
    'alpha 0.9924, 17 of 0.05'
    """
    return re.sub(r"\d+\.\d{5,}(?!\d*e)", lambda found: f"{float(found[0]):.4g}", str(text))


def past(network: Network) -> str:
    """Return how the past of each node was chosen, in a sentence or two."""
    if "events" in network.provenance:
        return "Histories of events, in continuous time, take the place of an embedding; see the methods."
    if any({"dims", "delays"} <= set(table) for table in network.criteria.values()):
        return GRID
    lags = sorted({lag for c in network.candidates for lag in c.lags})
    if network.criteria:
        return f"Lags were chosen from the data, pair by pair; those in use: {', '.join(map(str, lags))} samples."
    chosen = [str(value) for what, value, _ in network.choices if what in ("lags", "embedding")]
    if chosen:
        return f"Lags were chosen from the data: {'; '.join(chosen)}."
    given = "The embedding was given, not chosen from the data; its numbers are in the methods below."
    return given if lags in ([], [1]) else f"{given} Lags tested: {', '.join(map(str, lags))} samples."


def headline(network: Network) -> str:
    """Return the finding in one sentence: links with q up to 0.05, and how many more the score kept."""
    found, possible = len(network), len(network.names) * (len(network.names) - 1)
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
    sentences = ["The best network found; a better one may exist."]
    if network.optimal:
        sentences = ["Proven optimal: no allowed network has a higher score."]
    elif math.isfinite(network.bound):
        above = network.bound - network.score
        sentences = [f"The best network found; no allowed one can score more than {above:.3g} higher."]
    found, sure = len(network), sure_links(network)
    if found and network.candidates and sure == found:
        sentences.append(f"{'Every' if found > 1 else 'The'} link has q ≤ {LEVEL}.")
    elif found and network.candidates:
        has = "has" if sure == 1 else "have"
        sentences.append(f"{sure} of the {found} {has} q ≤ {LEVEL}; doubtful links are dashed.")
    if network.removed:
        listed = ", ".join(f"{source} → {target}" for source, target in network.removed[:6])
        more = f" and {len(network.removed) - 6} more" if len(network.removed) > 6 else ""
        sentences.append(f"Left out to avoid cycles: {listed}{more}.")
    return " ".join(sentences)


def meanings(network: Network) -> tuple[str, ...]:
    """Return what an arrow and its numbers mean."""
    first = OF_EVENTS if "events" in network.provenance else MEANS[:2]
    signed = any(math.isfinite(c.effect) for c in network.candidates)
    return (*first, *MEANS[2:], *[EFFECT] * signed, *[STABLE] * bool(network.stability))


def notes(network: Network) -> tuple[str, ...]:
    """Return what an arrow does not mean in this network in particular."""
    acyclic = network.options.get("acyclic", False)
    negative = any(c.te < 0 for c in network.candidates)
    return (*MEANS_NOT, *[NO_FEEDBACK] * bool(acyclic), *[NEGATIVE] * negative)


def sure_links(network: Network) -> int:
    """Return the number of links with a q-value up to `LEVEL`."""
    return sum(c.selected and c.q_value <= LEVEL for c in network.candidates)
