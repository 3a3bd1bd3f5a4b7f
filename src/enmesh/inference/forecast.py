"""How much work a run is likely to be: what a bar's time left is made from, learned anew from every answer.

Work is counted in estimates: one for each surrogate at each lag. A test that fails stops early, one that passes has all
its surrogates; an analytic test costs next to nothing beside them. For every phase and kind of question two things are
kept: how many are expected, and what one costs, which is the mean of those answered and of a first guess that counts
for a few of them. What one phase finds says how many questions the next will have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from threading import get_ident
from typing import Any

from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.inference.progress import RunProgress
from enmesh.inference.work import Question
from enmesh.scores import TEE, Scorer
from enmesh.significance import BATCH

LAGS, SCREENING, SEARCHING, TESTING = "finding lags", "screening sources", "searching", "testing links"
# Pairs of nodes up to which links that were screened out are tested too.
MOST_PAIRS = 400
PHASES = (LAGS, SCREENING, SEARCHING, TESTING)

# First guesses, until answers say more. Surrogates of a test that stops once it has failed, and of one in screening;
# what it costs to ask, in surrogates.
FAILED, SCREENED, PREPARING = 40, 110, 6
# Surrogates of a source that fails in a race, and sources that pass.
OUT_OF_RACE, USUAL = 15, 1.5
# Share of a search's questions that pass given other parents, and the tests of a set that follow each that does.
PASSING, FOLLOWING = 0.15, 1.3
# Of larger sets so much less pass than of those with one parent less.
FEWER = 0.6
# Probability that a source that is left out of as many parents as a target may have is significant.
LEFT_OUT = 0.03
# Estimates given one more source cost so much of those without: fewer points are near.
NARROWER = 0.85
# What an analytic score or test costs, in estimates, and a test whose null is widened by all shifts of the source.
ANALYTIC, WIDENED = 0.1, 1.0
# Surrogates for each pair of nodes that tests of the links found have, all together.
LINK_TESTS = 50


@dataclass
class _Questions:
    """Questions of one kind in one phase: how many are expected, how many were answered, and what they cost."""

    expected: float = 0.0
    guess: float = 1.0
    weight: float = 5.0  # answers that say as much of the cost as the guess does
    answered: int = 0
    work: float = 0.0
    waiting: int = 0  # of the job under way

    @property
    def cost(self) -> float:
        """Work of one question."""
        return (self.weight * self.guess + self.work) / (self.weight + self.answered)

    @property
    def left(self) -> float:
        """Work that is still expected."""
        return max(self.waiting, self.expected - self.answered) * self.cost

    def note(self, work: float) -> None:
        """Take note of an answer."""
        self.answered, self.work, self.waiting = self.answered + 1, self.work + work, max(0, self.waiting - 1)

    def expect(self, more: float, guess: float | None = None) -> None:
        """Expect so many more; the guess is what one costs."""
        self.expected = self.answered + more
        self.guess = self.guess if guess is None else guess


class Forecast:
    """What a run announces to its progress, and learns from the answers it sees."""

    def __init__(self, progress: RunProgress, names: Sequence[str]):
        self._progress, self._names, self._thread = progress, names, get_ident()
        self._nodes = len(names)
        self._known: set[tuple[str, str]] = set()  # links that a race need not find
        self._largest: dict[int, int] = {}  # sizes of the largest sets of parents that have passed, by target
        self._kinds = {
            (phase, kind): _Questions()
            for phase in PHASES
            for kind in ("targets", "verdicts", "tests", "families", "more")
        }
        self._lags, self._full, self._analytic = 1, 0, ANALYTIC
        self._pasts: dict[int, Past] = {}
        self._chosen: dict[tuple[int, int], int] = {}  # number of lags of a source
        self._under_way = 0.0  # estimates of the race that is not finished
        self._screen = _Screen([], 0)
        self.may_rise = False  # the number of parents
        self._limit, self._sizes = 0, dict[int, int]()  # of parents, and candidates by target
        self._links, self._others, self._pairs = 0.0, 0.0, 0.0
        self._raced: float | None = None  # tests of a search among sources that have passed a race
        self._usual, self._given = PASSING, 1
        self._passed, self._asked, self._unfollowed = 0, 0, 0
        # Verdicts of two targets: the guess weighs as much, since those of one are alike.
        self._two_targets = 5.0
        progress.weigh(targets=0.0, verdicts=0.0, tests=0.0, families=0.0)  # what they cost is seen here

    # --- what is seen -------------------------------------------------------------------------------------------------

    def asks(self, kind: str, count: int, score: Any) -> None:
        """Take note of so many questions to a score, or to a race, that are about to be answered."""
        if isinstance(score, NonUniform) and score.known:
            self._known = {(source, target) for source, target, _ in score.known}
            self._kinds[LAGS, "targets"].guess = self._race(0.5)
        self._now(kind).waiting = count
        if kind == "tests":
            self._unfollowed = 0
        if self._progress.now == TESTING:
            self._now(kind).expect(count)
            if kind == "verdicts":
                self._now("tests").expect(0)
        self._foretell()

    def saw(self, answers: Mapping[Question, Any]) -> None:
        """Learn from answers: what they cost, and what follows from them."""
        heard, self._under_way = self._under_way, 0.0  # told as it was done
        races, spent = sum(question.kind == "past" for question in answers), -heard
        for question, found in answers.items():
            kind, work = self._cost(question, found)
            work = heard / races if kind == "targets" and heard else work
            self._now(kind).note(work)
            spent += work
            if kind == "targets":
                self._pasts[question.args[0]] = found
            elif question.level is not None:
                self._note_verdict(question, found.p_value <= question.level)
        self._progress.spend(max(0.0, spent))
        self._foretell()

    def raced(self, surrogates: int, lags: int) -> None:
        """Take note of a test in a race that goes on; of races in other threads nothing is heard before they end."""
        if get_ident() == self._thread:
            work = (surrogates + _looks(surrogates) * PREPARING) * lags
            self._under_way += work
            self._progress.spend(work)
            self._announce()
            self._progress.tell()

    def _now(self, kind: str) -> _Questions:
        phase = self._progress.now
        return self._kinds[phase if phase in PHASES else SEARCHING, kind]

    def _cost(self, question: Question, found: Any) -> tuple[str, float]:
        """Return the kind of a question and the work that its answer took."""
        if question.kind == "family":
            return "families", ANALYTIC
        if question.kind == "past":
            new = [
                j for j in found.sources if (self._names[j], self._names[question.args[0]]) not in self._known
            ]
            return "targets", self._race(len(new) + (len(found.own) - 1) / 2)
        kind = "tests" if question.level is None else "verdicts"
        made = len(found.null)
        if not made:
            return kind, self._analytic
        looks = 1 if question.level is None else _looks(made)
        source, target, given = question.args
        lags = self._lags * self._chosen.get((source, target), 1)
        return kind, (made + looks * PREPARING) * lags * NARROWER ** len(given)

    def _note_verdict(self, question: Question, passed: bool) -> None:
        _, target, given = question.args
        if self._progress.now == SCREENING and not given:
            self._screen.note(target, passed)
        if self._progress.now == SEARCHING:
            if len(given) > self._given:  # of larger sets fewer pass
                self._usual, self._asked, self._passed = FEWER * self._share, 0, 0
                self._given = len(given)
            self._asked += 1
            self._passed += passed
            self._unfollowed += passed * len(given)
        if self._progress.now == SEARCHING and passed:
            self._largest[target] = max(len(given) + 1, self._largest.get(target, 0))

    # --- what follows -------------------------------------------------------------------------------------------------

    def before_all(self, surrogates: int, lags: int) -> None:
        """Announce all phases of a run whose lags are to be found, from the usual number of sources."""
        if not surrogates:
            return
        self._lags, self._full = lags, surrogates
        self._kinds[LAGS, "targets"].weight = 1.5  # targets differ widely, and the guess is rough
        self._kinds[LAGS, "targets"].expect(self._nodes, self._race(USUAL))
        self._after_races()

    def _race(self, sources: float) -> float:
        """Return the work of a race that chooses so many sources: each is tested twice, but the last."""
        passed = max(0.0, 2 * sources - 1)
        return (passed * self._full + self._nodes * (OUT_OF_RACE + PREPARING)) * self._lags

    def screening(self, scorer: Scorer[Any], candidates: Sequence[Sequence[int]], most: int) -> None:
        """Announce the tests of all pairs, where targets have more than the ``most`` candidates they may keep."""
        self._know(scorer)
        self._screen = _Screen([len(some) for some in candidates], most)
        pairs = sum(map(len, candidates)) if self._screen.crowded else 0
        sampled = sum(len(some) for i, some in enumerate(candidates) if _is_sampled(scorer, i))
        share = sampled / pairs if pairs else 0.0
        guess = share * (SCREENED + PREPARING) * self._lags + (1 - share) * self._analytic
        self._kinds[SCREENING, "verdicts"].expect(pairs, guess)
        self._after_screening()
        self._announce()

    def searching(
        self,
        scorer: Scorer[Any],
        candidates: Sequence[Sequence[int]],
        limit: int,
        made: int = 0,
        screened: bool = False,
    ) -> None:
        """Announce the search and the tests of links after it.

        ``made`` of the tests are known, and those of single sources if they were ``screened``.
        """
        self._know(scorer)
        nodes = range(len(candidates))
        sizes = [len(candidates[i]) for i in nodes if _is_sampled(scorer, i)]
        analytic = [len(candidates[i]) for i in nodes if not _is_sampled(scorer, i)]
        self._over(LAGS, SCREENING)
        self._limit, self._sizes = limit, {i: len(candidates[i]) for i in nodes if _is_sampled(scorer, i)}
        self._kinds[SEARCHING, "families"].expect(_sets(analytic, range(limit + 1)), ANALYTIC)
        if scorer.transfers.blocks.searched:  # these candidates have passed a test: most tests pass
            self._links = float(sum(sizes))
            lags = [self._chosen[j, i] for i in nodes for j in candidates[i] if (j, i) in self._chosen]
            self._expect_raced(
                max(0, sum(_tests(c, limit) for c in sizes) - made), sum(lags) / max(1, len(lags))
            )
        else:
            self._links, self._raced = float(len(sizes)), None
            self._expect_search(_sets(sizes, range(1 + screened, limit + 1)))
        possible = self._nodes * (self._nodes - 1)
        self._pairs = len(sizes) * (self._nodes - 1) if possible <= MOST_PAIRS else sum(sizes)
        self._others = float(len(analytic))
        self._expect_links()
        self._announce()

    def raised(self, scorer: Scorer[Any], candidates: Sequence[Sequence[int]], limit: int) -> None:
        """Announce the sets that one more parent brings."""
        new = [_is_sampled(scorer, i) for i in range(len(candidates))]
        sizes = [len(some) for some, sampled in zip(candidates, new) if sampled]
        others = [len(some) for some, sampled in zip(candidates, new) if not sampled]
        self._over(TESTING)
        self._raced, self._limit = None, limit
        self._kinds[SEARCHING, "more"].expect(0)
        self._kinds[SEARCHING, "families"].expect(_sets(others, [limit]))
        self._expect_search(_sets(sizes, [limit]))
        self._announce()

    def testing(self, scorer: Scorer[Any], found: Sequence[int], surrogates: int) -> None:
        """Announce the tests of links: of those found, given by their targets, with so many surrogates."""
        sampled = sum(_is_sampled(scorer, i) for i in found)
        self._over(SEARCHING)
        again = 1.25 * sampled if surrogates > self._full else 0.0
        self._kinds[TESTING, "tests"].expect(again, (surrogates + PREPARING) * self._lags)
        self._announce()

    def _know(self, scorer: Scorer[Any]) -> None:
        self._lags = max(1, scorer.transfers.blocks.searched)
        scores = [scorer.of_target(i).score for i in range(self._nodes)]
        self._full = max(getattr(score, "n_surrogates", 0) for score in scores)
        widened = any(getattr(score, "null", "") == "shift" for score in scores)
        self._analytic = WIDENED if widened else ANALYTIC
        if scorer.transfers.blocks.searched:  # a source with two lags is asked twice
            pairs = [(j, i) for i in range(self._nodes) for j in range(self._nodes) if i != j]
            self._chosen = {
                (j, i): len(scorer.of_target(i).lags(j, i)) for j, i in pairs if _is_sampled(scorer, i)
            }

    def _over(self, *phases: str) -> None:
        """Expect nothing more of phases; whether larger sets will be searched is not known before links are tested."""
        for (phase, kind), some in self._kinds.items():
            if phase in phases and kind != "more":
                some.expect(0)
                some.waiting = 0

    def _foretell(self) -> None:
        """Say what is expected after what was seen."""
        now = self._progress.now
        if now == LAGS:
            self._after_races()
        elif now == SCREENING and self._screen.crowded:
            rounds = self._screen.more
            seen = self._kinds[SCREENING, "verdicts"].answered
            self._kinds[SCREENING, "verdicts"].expect(max(0.0, self._screen.all_alone + rounds - seen))
            self._after_screening()
        elif now == SEARCHING and self._raced is not None:
            verdicts, tests = self._kinds[SEARCHING, "verdicts"], self._kinds[SEARCHING, "tests"]
            tests.expect(max(0.0, self._raced - verdicts.answered - verdicts.waiting - tests.answered))
        elif now == SEARCHING:
            verdicts = self._kinds[SEARCHING, "verdicts"]
            self._expect_following(max(0.0, verdicts.expected - verdicts.answered))
            self._expect_more()
            self._expect_links()
        self._announce()

    def _after_screening(self) -> None:
        """Expect a search among as many sources as are likely to be kept."""
        if self._screen.crowded and not self._full:
            self._kinds[SEARCHING, "families"].expect(self._screen.sets(range(4)), ANALYTIC)
        elif self._screen.crowded and self._raced is None:
            self._expect_search(self._screen.sets((2, 3)))

    def _after_races(self) -> None:
        """Expect of targets that still race what those show that are through, and a usual one."""
        through = [
            {(self._names[j], self._names[target]) for j in past.sources}
            for target, past in self._pasts.items()
        ]
        by_neighbours = [len(links) for links in through if not (self._known and links <= self._known)]
        usual = 0.25 if self._known else 1.0  # where a line explains some, it is likely to explain the others
        racing = self._nodes - len(through)

        def total(seen: float, guess: float) -> float:
            return seen + racing * (seen + usual * guess) / (1 + len(through))

        # The race has made about half of the tests.
        tests = total(sum(_tests(c, 3) / 2 for c in by_neighbours), USUAL)
        self._links = total(sum(by_neighbours), USUAL)
        targets = total(len(by_neighbours), 1.0)
        self._pairs, self._others = targets * (self._nodes - 1), self._nodes - targets
        self._expect_raced(tests)
        self._expect_links()
        self._announce()

    def _expect_raced(self, tests: float, lags: float = 1.0) -> None:
        self._raced, full = tests, (self._full + PREPARING) * self._lags * lags * NARROWER
        self._kinds[SEARCHING, "verdicts"].expect(0, full)
        self._kinds[SEARCHING, "tests"].expect(tests, full)

    def _expect_search(self, sets: float) -> None:
        passed = self._full + PREPARING
        guess = (1 - PASSING) * (FAILED + PREPARING) + PASSING * passed
        self._kinds[SEARCHING, "verdicts"].expect(sets, guess * self._lags * NARROWER)
        self._kinds[SEARCHING, "verdicts"].weight = self._two_targets = max(5.0, 2 * sets / self._nodes)
        self._kinds[SEARCHING, "tests"].guess = passed * self._lags * NARROWER
        self._expect_following(sets)

    def _expect_following(self, verdicts: float) -> None:
        """Expect tests of the sets that pass, of those to come and of those that have passed just now."""
        share, tests = self._share, self._kinds[SEARCHING, "tests"]
        tests.expect(tests.waiting + FOLLOWING * (share * verdicts + self._unfollowed))

    def _expect_more(self) -> None:
        """Expect larger sets where targets are full of parents, and a source that is left out may be significant."""
        left_out = sum(
            c - self._limit for i, c in self._sizes.items() if self._largest.get(i, 0) >= self._limit
        )
        chance = 1 - (1 - LEFT_OUT) ** max(0, left_out) if self.may_rise else 0.0
        verdicts = self._kinds[SEARCHING, "verdicts"]
        sets = _sets(list(self._sizes.values()), [self._limit + 1])
        self._kinds[SEARCHING, "more"].expect(chance * sets, verdicts.cost)

    @property
    def _share(self) -> float:
        """Share of verdicts that pass, at the size of sets under way."""
        return (self._two_targets * self._usual + self._passed) / max(1.0, self._two_targets + self._asked)

    def _expect_links(self) -> None:
        """Expect tests of the links found, and of those not found: the fewer, the more surrogates each needs."""
        links = max(self._links, float(sum(self._largest.values())))
        surrogates = LINK_TESTS * self._nodes * (self._nodes - 1) / max(1.0, links + self._others)
        missing = surrogates / max(1, self._full) - 0.75  # none where the score has had enough
        again = links * min(1.0, max(0.0, missing))
        self._kinds[TESTING, "tests"].expect(again, (surrogates + PREPARING) * self._lags * NARROWER)
        guess = FAILED + PREPARING + 0.1 * self._full
        self._kinds[TESTING, "verdicts"].weight = 2.0 * self._nodes
        self._kinds[TESTING, "verdicts"].expect(max(0.0, self._pairs - links), guess * self._lags * NARROWER)

    def _announce(self) -> None:
        """Tell the progress how much work is left, of the phase under way and of those that follow it."""
        for phase in PHASES:
            left = sum(some.left for (of, _), some in self._kinds.items() if of == phase)
            if phase == LAGS:  # a race that has taken long is likely to go on
                left += max(self._under_way - self._kinds[LAGS, "targets"].cost, -self._under_way) / 2
            self._progress.expect(phase, self._progress.done(phase) + left)


class _Screen:
    """Which sources pass in screening, and what follows for the targets."""

    def __init__(self, sizes: Sequence[int], most: int):
        self._sizes, self._most = sizes, most
        self._tested, self._passed = [0] * len(sizes), [0] * len(sizes)
        self.crowded = any(size > most for size in sizes)
        self.all_alone = sum(sizes)

    def note(self, target: int, passed: bool) -> None:
        """Take note of the test of a source alone."""
        self._tested[target] += 1
        self._passed[target] += passed

    @property
    def kept(self) -> list[float]:
        """Sources that pass alone, of every target: as seen, or as many as the others have."""
        tested, passed = sum(self._tested), sum(self._passed)
        share = (20 * 0.3 + passed) / (20 + tested)
        return [p + share * (n - t) for n, t, p in zip(self._sizes, self._tested, self._passed)]

    @property
    def more(self) -> float:
        """Tests given other sources, where too many pass alone."""
        return 1.5 * sum(kept for kept in self.kept if kept > self._most)

    def sets(self, of: Sequence[int]) -> float:
        """Return the number of sets of ``of`` sources among those kept."""
        return _sets([round(min(kept, self._most)) for kept in self.kept], of)


def _sets(sizes: Sequence[int], of: Sequence[int]) -> float:
    """Return how many sets of ``of`` candidates there are of targets with so many candidates."""
    return float(sum(comb(c, size) for c in sizes for size in of))


def _tests(c: int, limit: int) -> int:
    """Return how many tests there are of one of c sources given up to ``limit - 1`` of the others."""
    return c * sum(comb(c - 1, given) for given in range(limit)) if c else 0


def _looks(surrogates: int) -> int:
    """Return how often a test was looked at that had so many surrogates: each time it has about twice as many."""
    return 1 + (surrogates // BATCH).bit_length()


def _is_sampled(scorer: Scorer[Any], target: int) -> bool:
    return isinstance(scorer.of_target(target).score, TEE)
