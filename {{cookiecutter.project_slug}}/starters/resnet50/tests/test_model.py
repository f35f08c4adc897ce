"""What the model must do in any precision. Add a test for every bug you find."""

import copy

import pytest
import torch
from torch import nn

from {{ cookiecutter.__package }}.model import Bottleneck, build

SMALL = {"layers": [1, 2, 1, 1], "width": 8, "classes": 10}


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    return ((got.double() - expected.double()).norm() / expected.double().norm()).item()


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.inference_mode():
        yield


def test_the_output_is_one_row_of_scores_per_image(model, images, lab):
    assert model(images).shape == (len(images), lab["model"]["config"]["classes"])


def test_the_model_agrees_with_the_course_reference(model, images, lab):
    references = pytest.importorskip("model_tests.references", reason="the verify step compares with the reference")
    reference = references.factory(lab["model"]["reference"])(**lab["model"]["config"]).double()
    reference.load_state_dict(model.state_dict())
    assert relative_error(model(images), reference(images.double())) < 100 * 2**-24


def test_the_same_seed_gives_the_same_model():
    states = []
    for _ in range(2):
        torch.manual_seed(3)
        states.append(build(**SMALL).state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_the_names_are_torchvisions(model):
    block = [f"{kind}{n}" for n in (1, 2, 3) for kind in ("conv", "bn")] + ["downsample.0", "downsample.1"]
    names = set(model.state_dict())
    for start, index in (("layer1.0.", 0), ("layer4.0.", 0), ("layer4.2.", 2)):
        parts = block if index == 0 else block[:6]
        assert {name.removeprefix(start).rpartition(".")[0] for name in names if name.startswith(start)} == set(parts)
    assert {name for name in names if not name.startswith("layer")} == {
        *("conv1.weight", "fc.weight", "fc.bias", "bn1.weight", "bn1.bias"),
        *("bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"),
    }


def test_the_full_size_is_resnet_50(model):
    assert sum(weight.numel() for weight in model.parameters()) == 25_557_032  # torchvision's number


def test_each_stage_halves_the_image_and_the_3x3_convolution_does_it(model, images):
    sizes = []
    x = model.maxpool(model.conv1(images))
    for stage in (model.layer1, model.layer2, model.layer3, model.layer4):
        x = stage(x)
        sizes.append(tuple(x.shape[1:]))
    assert sizes == [(256, 16, 16), (512, 8, 8), (1024, 4, 4), (2048, 2, 2)]
    assert all(m.conv1.stride == m.conv3.stride == (1, 1) for m in model.modules() if isinstance(m, Bottleneck))


def test_an_image_is_answered_alone_as_in_a_batch(model, images):
    assert relative_error(model(images[:1]), model(images)[:1]) < 1e-4


def test_statistics_are_those_of_real_activations(model):
    for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
        assert norm.running_mean.abs().max() > 0
        assert (norm.running_var - 1).abs().max() > 0.01
        assert norm.momentum == 0.1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_half_and_finite(model, images, dtype):
    output = copy.deepcopy(model).to(dtype)(images.to(dtype))
    assert output.dtype == dtype
    assert output.isfinite().all()
    assert relative_error(output, model(images)) < 10 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_the_same_answer(model, images, dtype):
    with torch.autocast("cpu", dtype=dtype):
        output = model(images)
    assert relative_error(output, model(images)) < 10 * torch.finfo(dtype).eps


def test_images_with_other_channels_are_refused_in_words(model):
    with pytest.raises(ValueError, match="4 channels, but the model takes"):
        model(torch.zeros(1, 4, 64, 64))


@pytest.mark.parametrize("wrong", [{"layers": [1, 1, 1]}, {"layers": [1, 0, 1, 1]}, {"width": 0}, {"classes": 0}])
def test_sizes_that_make_no_resnet_are_refused_in_words(wrong):
    with pytest.raises(ValueError, match="must be four numbers"):
        build(**SMALL | wrong)
