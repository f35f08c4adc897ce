"""The ResNet that the course owns, and the starter held against it: clean code never fails, planted faults do."""

import copy
import importlib.util
import sys
from pathlib import Path

import pytest
import torch
from model_tests import references
from model_tests.precision.errors import nu, relative_l2
from model_tests.producing.student import StudentError
from model_tests.references.resnet import BatchNorm
from model_tests.spec import Spec

STARTER = Path(__file__).parents[2] / "{{cookiecutter.project_slug}}" / "starters" / "resnet50" / "src" / "model.py"
CONFIG = {"layers": [1, 2, 1, 1], "width": 16, "classes": 100}
SHAPE = [4, 3, 64, 64]
# Fault -> (the starter's text, what replaces it, the gate that must fail, the module it must name).
FAULTS = {
    "epsilon": (
        "self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)",
        "self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width, eps=1e-3)",
        "fp32/right",
        "layer1.0.bn2",
    ),
    "no-relu": (
        "y = F.relu(self.bn2(self.conv2(y)))",
        "y = self.bn2(self.conv2(y))",
        "fp32/right",
        "layer1.0",
    ),
    "relu-before-the-addition": ("return F.relu(x + y)", "return x + F.relu(y)", "fp32/right", "layer1.0"),
    "stride-in-the-first-convolution": (
        "self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)\n"
        "        self.conv2, self.bn2 = conv(width, width, 3, stride)",
        "self.bn1 = conv(inputs, width, 1, stride), nn.BatchNorm2d(width)\n"
        "        self.conv2, self.bn2 = conv(width, width, 3)",
        "fp32/right",
        "layer2.0.conv2",
    ),
    "statistics-rounded-to-half": (
        "        y = self.bn3(self.conv3(y))",
        "        y, norm = self.conv3(y), self.bn3\n"
        "        mean, variance = norm.running_mean.half().to(y.dtype), norm.running_var.half().to(y.dtype)\n"
        "        y = norm(y) if self.training else F.batch_norm(y, mean, variance, norm.weight, norm.bias)",
        "fp32/right",
        "layer1.0.bn3",
    ),
    "corner-instead-of-average": ("x.mean(dim=(2, 3))", "x[:, :, 0, 0]", "fp32/right", "(model)"),
    "largest-instead-of-average": ("x.mean(dim=(2, 3))", "x.amax(dim=(2, 3))", "fp32/right", "(model)"),
    "convolutions-in-float32": (
        "        y = F.relu(self.bn2(self.conv2(y)))",
        "        with torch.autocast(y.device.type, enabled=False):\n"
        "            z = F.conv2d(y.float(), self.conv2.weight.float(), None, self.conv2.stride, 1).to(y.dtype)\n"
        "        y = F.relu(self.bn2(z))",
        "census/float16",
        "layer1.0",
    ),
}


def imported(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def starter(monkeypatch, tmp_path):
    """Load the template's own model.py under a name of its own, with a piece of its text replaced."""

    def load(before="", after=""):
        text = STARTER.read_text(encoding="utf-8")
        assert not before or text.count(before) == 1, "the starter has changed: change the fault with it"
        file = tmp_path / "model.py"
        file.write_text(text.replace(before, after) if before else text, encoding="utf-8")
        module = imported("student_resnet", file)
        monkeypatch.setitem(sys.modules, "student_resnet", module)
        return module

    return load


def spec(**changes):
    raw = {"factory": "student_resnet:build", "reference": "resnet50", "output": "logits", "config": CONFIG}
    raw |= {"inputs": [{"name": "images", "shape": SHAPE, "dtype": "float32"}], "iterations": 1}
    return Spec.from_dict(raw | changes)


def verdicts(gates, verdict):
    return {name: gate["why"] for name, gate in gates.items() if gate["verdict"] == verdict}


@pytest.mark.parametrize("seed", range(5))
def test_the_starter_passes_in_every_precision(starter, judged, seed):
    starter()
    result, gates = judged(spec(seed=seed), seed)
    assert verdicts(gates, "FAIL") == {}
    assert verdicts(gates, "INCONCLUSIVE") == {}
    assert result["verdict"] == "PASS"


@pytest.mark.parametrize("reference", ["resnet50", ""])
def test_a_badly_conditioned_but_correct_model_is_not_blamed(starter, judged, reference):
    """Undamped residuals enlarge a rounding a hundredfold, in fp32 as in half: no fault of the code."""
    starter()
    config = {"layers": [3, 4, 6, 3], "width": 8, "classes": 100, "residual_scale": 1.0}
    result, gates = judged(spec(config=config, reference=reference, candidates=["float16"]))
    right = gates["fp32/right" if reference else "fp32/self-consistency"]
    assert verdicts(gates, "FAIL") == {}
    assert right["bound"] > right["value"] > 100
    assert result["verdict"] == "PASS"


@pytest.mark.parametrize(("before", "after", "gate", "module"), FAULTS.values(), ids=FAULTS.keys())
def test_a_planted_fault_fails_and_is_named(starter, judged, before, after, gate, module):
    starter(before, after)
    _, gates = judged(spec(candidates=["float16"]))
    assert gate in verdicts(gates, "FAIL")
    assert gates[gate]["module"] == module


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("return model.train()", "eval mode"),
        ("model.bn1.running_mean = model.bn1.running_mean.half()\n    return model.eval()", "found Half"),
    ],
)
def test_statistics_that_no_run_could_use_are_refused_before_any_gate(starter, produced, after, words):
    starter("return model.float().eval()", after)
    with pytest.raises(StudentError, match=words):
        produced(spec(candidates=["float16"]))


@pytest.fixture(scope="module")
def pair():
    """The starter and the reference with the same weights, in fp64, and images."""
    module = imported("starter_model", STARTER)
    torch.manual_seed(0)
    model, reference = module.build(**CONFIG), references.factory("resnet50")(**CONFIG)
    reference.load_state_dict(model.state_dict())
    return model, reference, torch.randn(SHAPE, generator=torch.Generator().manual_seed(0))


def test_two_implementations_with_the_same_weights_agree_to_fp64(pair):
    model, reference, images = (copy.deepcopy(one).double() for one in pair)
    with torch.no_grad():
        assert relative_l2(model(images), reference(images)) < 1e-13


def test_fp32_is_a_few_roundoffs_from_fp64(pair):
    _, reference, images = pair
    with torch.no_grad():
        assert 1 < nu(reference(images), copy.deepcopy(reference).double()(images.double()), 2.0**-24) < 100


def test_the_norm_is_what_torch_computes():
    norm, other = BatchNorm(8).double(), torch.nn.BatchNorm2d(8).double().eval()
    numbers = torch.Generator().manual_seed(0)
    for name, tensor in other.state_dict().items():
        if name != "num_batches_tracked":
            tensor.copy_(torch.rand(8, generator=numbers, dtype=torch.float64) + 0.1)
    norm.load_state_dict(other.state_dict())
    x = torch.randn(2, 8, 3, 3, generator=numbers, dtype=torch.float64)
    assert torch.allclose(norm(x), other(x), rtol=1e-13, atol=1e-13)


def test_the_names_are_those_of_the_published_weights():
    full = references.factory("resnet50")([3, 4, 6, 3], 64, 1000)
    assert sum(p.numel() for p in full.parameters()) == 25_557_032  # torchvision's number
    assert {"conv1.weight", "bn1.running_var", "layer3.5.bn2.bias", "layer4.0.downsample.1.weight"} <= set(
        full.state_dict()
    )


@pytest.mark.parametrize("change", [{"layers": [1, 1]}, {"layers": [1, 1, 1, 0]}, {"width": 0}, {"classes": True}])
def test_sizes_that_make_no_resnet_are_refused(change):
    with pytest.raises(ValueError, match="must be four whole numbers"):
        references.factory("resnet50")(**CONFIG | change)
