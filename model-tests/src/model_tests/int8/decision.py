"""Is the loss of INT8 below the bound? One-sided bounds on the mean over independent rows, and what could be seen.

Where rows are drawn until it is decided, each of a few looks (rows.LOOKS) spends an equal part of the 5 % (Bonferroni),
so that looking often costs no certainty. A FAIL may come at any look, a PASS only from FEWEST_TO_PASS rows on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from torch import Tensor

from model_tests.int8.losses import Losses
from model_tests.int8.rows import LOOKS
from model_tests.verdict import Verdict

ALPHA = 0.05
POWER = 0.8
# Fewer rows have no spread to go by.
FEWEST_ROWS = 8
# A spread says nothing of what no row has shown: 128 rows show what one row in 43 loses (2.3 %) with 95 % certainty.
# The loss of a label is at most 1, so that accuracy needs no such number: see `unseen`.
FEWEST_TO_PASS = 128
# A PASS also needs that no more than this part of what the answers tell about their input is lost: max_loss says little
# of a model that hardly tells anything (untrained ones: 0.001-0.2 nats). Clean INT8 loses 0.00002-0.04 of it (LLaMA,
# ResNet50, untrained); answers that ignore the input lose 1.
SHARE = 0.25
# Below this the answers tell nothing about the input (nats, share), and nothing can be lost: rounding noise of float32.
FAINTEST_SIGNAL = 1e-8


@dataclass(frozen=True)
class Decision:
    """`value` is the mean loss, `low` and `high` its one-sided bounds, `bound` what is allowed, all in one unit.

    `visible`: a loss so much above the bound would have been failed in 4 of 5 runs. `faint`: INCONCLUSIVE because the
    loss is surely more than SHARE of what the answers tell, though surely not more than max_loss. `few`: INCONCLUSIVE
    because a PASS needs more rows.
    """

    verdict: Verdict
    value: float
    bound: float
    low: float
    high: float
    visible: float
    rows: int
    faint: bool = False
    few: bool = False


def decide(losses: Losses, max_loss: float, looks: Sequence[int] = ()) -> Decision | None:
    """Return the first decision among the looks (numbers of rows) and all rows; INCONCLUSIVE when there is none.

    `looks` empty: the rows were not drawn for this, and are looked at once. None: fewer than FEWEST_ROWS rows, or no
    signal that could be lost.
    """
    count = losses.rows.numel()
    if count < FEWEST_ROWS or losses.signal < FAINTEST_SIGNAL:
        return None
    alpha = ALPHA / (len(LOOKS) if looks else 1)
    for look in (*(n for n in looks if FEWEST_ROWS <= n < count), count):
        found = _at(losses.first(look), max_loss, alpha)
        if found.verdict is not Verdict.INCONCLUSIVE:
            break
    return found


def _at(losses: Losses, max_loss: float, alpha: float) -> Decision:
    """PASS up to max_loss and SHARE of the signal, FAIL above max_loss: random inputs may tell too little for more."""
    mean, count = losses.rows.mean().item(), losses.rows.numel()
    low, high = _bounds(losses, alpha)
    least = min(max_loss, SHARE * losses.signal)
    few = high <= least and losses.metric != "accuracy" and count < FEWEST_TO_PASS
    verdict = Verdict.FAIL if low > max_loss else Verdict.PASS if high <= least and not few else Verdict.INCONCLUSIVE
    spread = max(losses.rows.std().item() / math.sqrt(count), (high - mean) / student(alpha, count - 1))
    visible = (student(alpha, count - 1) + NormalDist().inv_cdf(POWER)) * spread
    faint = verdict is Verdict.INCONCLUSIVE and low > least and high <= max_loss
    bound = max_loss if verdict is Verdict.FAIL else least
    return Decision(verdict, mean, bound, low, high, visible, count, faint, few)


def _bounds(losses: Losses, alpha: float) -> tuple[float, float]:
    if losses.single:
        return counted(losses.rows, alpha)
    low, high = interval(losses.rows, alpha)
    if losses.metric != "accuracy":
        return low, high
    mean, hidden = losses.rows.mean().item(), unseen(losses.rows.numel(), alpha)
    return min(low, mean - hidden), max(high, mean + hidden)


def interval(rows: Tensor, alpha: float) -> tuple[float, float]:
    """Return the one-sided lower and upper bounds of the mean: Student's t, wider where the rows are skewed.

    Losses are skewed (many small, few large), which makes a plain bound too low: Johnson, JASA 73 (1978) 536. The lower
    bound is left where it is then: it decides a FAIL.
    """
    count = rows.numel()
    mean, sd = rows.mean().item(), rows.std().item()
    if sd == 0.0:
        return mean, mean
    t = student(alpha, count - 1)
    skewness = ((rows - mean) ** 3).mean().item() / sd**3
    shift = skewness * (1 + 2 * t * t) / (6 * math.sqrt(count))
    scale = sd / math.sqrt(count)
    return mean - scale * (t + max(-shift, 0.0)), mean + scale * (t + max(shift, 0.0))


def student(alpha: float, degrees: int) -> float:
    """Upper `alpha` quantile of Student's t (Fisher's expansion; off by less than 0.1 % from 15 degrees up)."""
    z: float = NormalDist().inv_cdf(1 - alpha)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, start=1))


def counted(rows: Tensor, alpha: float) -> tuple[float, float]:
    """Bounds for rows of one label each: exact (Clopper-Pearson) for losses and for gains, half of `alpha` each."""
    count, lost, gained = rows.numel(), int((rows > 0).sum()), int((rows < 0).sum())
    part = alpha / 2
    low = _at_least(lost, count, part) - _at_most(gained, count, part)
    high = _at_most(lost, count, part) - _at_least(gained, count, part)
    return low, high


def unseen(count: int, alpha: float) -> float:
    """Return the largest rate of which `count` rows show nothing with probability `alpha`."""
    return _at_most(0, count, alpha)


def _at_most(found: int, count: int, alpha: float) -> float:
    """Largest rate that gives `found` or fewer of `count` with probability `alpha`."""
    if found == count:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _up_to(found, count, middle) > alpha else (low, middle)
    return high


def _at_least(found: int, count: int, alpha: float) -> float:
    return 1.0 - _at_most(count - found, count, alpha)


def _up_to(found: int, count: int, rate: float) -> float:
    """Probability of at most `found` of `count` at this rate."""
    if rate <= 0.0 or rate >= 1.0:
        return 1.0 if rate <= 0.0 else 0.0
    log = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        + k * math.log(rate) + (count - k) * math.log1p(-rate)
        for k in range(found + 1)
    ]  # fmt: skip
    return math.fsum(math.exp(x) for x in log)
