"""Mixed precision, step by step: what must hold whatever the model is."""

import pytest
import torch

from {{ cookiecutter.__package }}.model import build
from {{ cookiecutter.__package }}.train import MOST_SKIPPED, Trainer, made_up

TINY = {"layers": [1, 1, 1, 1], "width": 8, "classes": 4}


def trainer_of(dtype: torch.dtype = torch.float16, **settings) -> Trainer:
    torch.manual_seed(0)
    return Trainer(build(**TINY), dtype, **settings)


def weights_of(trainer: Trainer) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in trainer.model.parameters()]


def batch(seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    return made_up(8, TINY["classes"], 32, seed)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_loss_falls_and_the_weights_stay_float32(dtype):
    trainer = trainer_of(dtype)
    losses = [trainer.step(*batch(seed)) for seed in range(20)]
    assert sum(losses[-5:]) < 0.5 * sum(losses[:5])
    assert {weight.dtype for weight in trainer.model.parameters()} == {torch.float32}
    assert {buffer.dtype for buffer in trainer.model.buffers()} == {torch.float32, torch.int64}
    assert trainer.skipped < 10


def test_the_forward_really_runs_in_half():
    trainer, seen = trainer_of(), []
    trainer.model.layer1[0].conv1.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    trainer.step(*batch())
    assert seen == [torch.float16]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_step_with_an_infinite_gradient_is_skipped_and_changes_no_weight(dtype):
    trainer = trainer_of(dtype)
    trainer.step(*batch())
    before, scale, skipped = weights_of(trainer), trainer.scaler.get_scale(), trainer.skipped
    hook = trainer.model.fc.weight.register_hook(lambda gradient: gradient * float("inf"))
    trainer.step(*batch())
    assert trainer.skipped == skipped + 1
    assert all(torch.equal(one, other) for one, other in zip(before, weights_of(trainer), strict=True))
    if dtype is torch.float16:
        assert trainer.scaler.get_scale() == scale / 2
    hook.remove()
    trainer.step(*batch())
    assert not torch.equal(before[0], weights_of(trainer)[0])


def test_the_scale_grows_after_enough_good_steps():
    trainer = trainer_of()
    trainer.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)
    for seed in range(3):
        trainer.step(*batch(seed))
    assert trainer.scaler.get_scale() == 16.0


def test_gradients_that_stay_infinite_end_in_words():
    trainer = trainer_of()
    trainer.model.fc.weight.register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(FloatingPointError, match="in a row had infinite or NaN"):
        for _ in range(MOST_SKIPPED):
            trainer.step(*batch())


def test_clipping_sees_gradients_of_the_loss_and_not_of_the_scaled_loss():
    gradients = []
    for scale in (1.0, 1024.0):
        trainer = trainer_of(max_norm=1e-3)
        trainer.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        trainer.step(*batch())
        gradients.append(torch.cat([weight.grad.flatten() for weight in trainer.model.parameters()]))
    torch.testing.assert_close(gradients[1].norm(), torch.tensor(1e-3), rtol=1e-3, atol=0)
    assert (gradients[0] - gradients[1]).norm() < 0.05 * 1e-3


def test_going_on_from_a_checkpoint_equals_not_having_stopped(tmp_path):
    straight, stopped, resumed = trainer_of(), trainer_of(), trainer_of()
    for seed in range(3):
        straight.step(*batch(seed))
        stopped.step(*batch(seed))
    stopped.scaler.update(new_scale=256.0)
    straight.scaler.update(new_scale=256.0)
    stopped.save(tmp_path / "checkpoint.pt")
    resumed.load(tmp_path / "checkpoint.pt")
    assert resumed.scaler.get_scale() == 256.0
    straight.step(*batch(3))
    resumed.step(*batch(3))
    assert (resumed.steps, resumed.skipped) == (straight.steps, straight.skipped)
    for one, other in zip(weights_of(straight), weights_of(resumed), strict=True):
        torch.testing.assert_close(one, other)


def test_a_model_in_half_is_refused_in_words():
    with pytest.raises(ValueError, match="is not float32"):
        Trainer(build(**TINY).half(), torch.float16)
