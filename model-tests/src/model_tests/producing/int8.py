"""The INT8 comparison: the same rows in float32 and in each scheme, drawn until the loss is decided."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from model_tests import int8
from model_tests.int8 import rows
from model_tests.int8.decision import decide
from model_tests.int8.losses import Losses, losses, lost_accuracy
from model_tests.int8.quantise import Quantised, Quantiser, quantise
from model_tests.precision.candidates import FLOAT32
from model_tests.producing.evaluation import EvaluationError, Labelled, labelled, predictions, truth
from model_tests.producing.measure import Bench
from model_tests.producing.student import StudentError, guard
from model_tests.producing.worst import worst_layers
from model_tests.spec import Int8Spec
from model_tests.verdict import Verdict

# Part of [limits] timeout_seconds that the rows may take, and the most of it.
SHARE_OF_TIME = 0.2
MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Comparison:
    """The runs to compare (`float32` first, then schemes), and their answers so far, a tensor for each batch.

    `labels` only with an evaluation: then answers are predicted classes.
    """

    bench: Bench
    asked: Int8Spec
    runs: dict[str, nn.Module]
    answers: dict[str, list[Tensor]]
    labels: list[Tensor]

    @property
    def logits(self) -> bool:
        """Whether the answers are logits."""
        return self.bench.student.spec.output == "logits"

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return self.bench.inputs[0].device

    def draw(self, until: float) -> None:
        """Run batch after batch until every scheme is decided, the last look is reached, or time is up."""
        number, looks = 0, [1]
        while number < looks[-1] and (number == 0 or time.monotonic() < until):
            self._add({name: partial(self._answer, model, number) for name, model in self.runs.items()})
            number += 1
            looks = rows.batches(self.bench.student.spec, self.answers["float32"][0][0])
            if number in looks and None not in [self.verdict(name) for name in list(self.runs)[1:]]:
                return

    def evaluate(self, data: list[Labelled], until: float) -> None:
        """Predict the classes of the project's own rows, until time is up."""
        for number, one in enumerate(data):
            if number and time.monotonic() > until:
                return
            given = one, self.device, self.asked.evaluation
            predict = {name: truth if name == "float32" else predictions for name in self.runs}
            self._add({name: partial(predict[name], model, *given) for name, model in self.runs.items()})
            self.labels.append(one.labels)

    def _add(self, answers: Mapping[str, Callable[[], Tensor]]) -> None:
        """Add a batch's answer of every run. A scheme that fails is out, and noted; without float32 all are."""
        for name, answer in answers.items():
            try:
                self.answers[name].append(answer())
            except StudentError as error:
                if name == "float32" or error.status == "harness-error":
                    raise
                del self.runs[name], self.answers[name]
                _note(self.bench, name, "error", str(error))

    def loss(self, data: list[Labelled], model: nn.Module) -> float:
        """Mean loss of another model on the first batch."""
        if self.labels:
            found = predictions(model, data[0], self.device, self.asked.evaluation)
            return lost_accuracy(self.labels[0], self.answers["float32"][0], found).rows.mean().item()
        return losses(self.answers["float32"][0], self._answer(model, 0), self.logits).rows.mean().item()

    def verdict(self, scheme: str) -> Verdict | None:
        """What the judge will say of the rows so far; None when it cannot decide yet."""
        looks = rows.looks(self.bench.student.spec, self.answers["float32"][0][0]) if not self.labels else ()
        decided = decide(self._losses(scheme), self.asked.max_loss, looks)
        return None if decided is None or decided.verdict is Verdict.INCONCLUSIVE else decided.verdict

    def _losses(self, scheme: str) -> Losses:
        wide, narrow = torch.cat(self.answers["float32"]), torch.cat(self.answers[scheme])
        if self.labels:
            return lost_accuracy(torch.cat(self.labels), wide, narrow)
        return losses(wide, narrow, self.logits)

    def _answer(self, model: nn.Module, number: int) -> Tensor:
        drawn = rows.batch(self.bench.student.spec, [x.cpu() for x in self.bench.inputs], number)
        given = replace(self.bench, inputs=[x.to(self.device) for x in drawn])
        return rows.kept(given.output(model, FLOAT32), self.logits)


def evaluation_rows(bench: Bench, asked: Int8Spec) -> list[Labelled] | None:
    """Return the project's labelled rows, [] where the platform draws them, None when the project's function failed.

    Called before the harness's own runs, in a stage of its own: a limit that is met here is met by the project's code.
    """
    if not asked.evaluation:
        return []
    bench.handover.stage("evaluation")
    try:
        return labelled(bench.student.spec, asked.evaluation)
    except StudentError as error:
        _failed(bench, asked.schemes, error)
        return None


def measure_int8(bench: Bench, asked: Int8Spec, data: list[Labelled], quantiser: Quantiser = quantise) -> None:
    """Hand over float32 and INT8 answers to the same rows, and note in the report how each scheme went.

    `data`: labelled rows of the project, none where the platform draws them.
    """
    models = dict(_models(bench, asked, quantiser))
    try:
        if models:
            _compare(bench, asked, models, data)
    except StudentError as error:
        _failed(bench, models, error)


def _models(bench: Bench, asked: Int8Spec, quantiser: Quantiser) -> Iterator[tuple[str, Quantised]]:
    """Yield the schemes that have something to compare; note all."""
    for scheme in asked.schemes:
        try:
            made = guard(f"quantising the model ({scheme})", quantiser, bench.student.model(), scheme)
        except StudentError as error:
            _note(bench, scheme, "error", str(error))
            continue
        bench.handover.note("int8", scheme, {"status": "ok", "message": "", **made.to_dict()})
        if made.layers:
            yield scheme, made


def _compare(bench: Bench, asked: Int8Spec, models: Mapping[str, Quantised], data: list[Labelled]) -> None:
    plain = bench.student.model()
    runs = {"float32": plain, **{scheme: made.model for scheme, made in models.items()}}
    comparison = Comparison(bench, asked, runs, {name: [] for name in runs}, [])
    until = time.monotonic() + min(SHARE_OF_TIME * bench.student.spec.timeout_seconds, MOST_SECONDS)
    if data:
        comparison.evaluate(data, until)
        bench.handover.tensors(int8.LABELS, {"output": torch.cat(comparison.labels)})
    else:
        comparison.draw(until)
    for name, answers in comparison.answers.items():
        bench.handover.tensors(f"int8-{name}", {"output": torch.cat(answers)})
    for scheme, made in models.items():
        if scheme in comparison.runs and comparison.verdict(scheme) is Verdict.FAIL:
            with contextlib.suppress(Exception):  # who is to blame is told beside a FAIL, which stands without it
                found = worst_layers(made, plain, partial(comparison.loss, data))
                bench.handover.report["int8"][scheme]["worst"] = found


def _failed(bench: Bench, schemes: Iterable[str], error: StudentError) -> None:
    """Note whose trouble it was: the rows', or ours; memory is short because of our models beside the project's."""
    if error.status == "harness-error":
        raise error
    rows_fault = isinstance(error, EvaluationError) and error.status != "out-of-memory"
    for scheme in schemes:
        _note(bench, scheme, "evaluation" if rows_fault else "error", str(error))


def _note(bench: Bench, scheme: str, status: str, message: str) -> None:
    bench.handover.note("int8", scheme, {"status": status, "message": message})
