"""Driver and card against the image's CUDA and PyTorch's list of architectures: the whole table."""

import pytest
from gpulab.contract.cuda_code import Code, code_for
from gpulab.contract.cuda_compat import Device, Image, compatible, driver_cuda, oldest_driver
from gpulab.contract.lanes import device_of, lanes, suggested
from model_tests.hardware import catalogue

CU132 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
CU126 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")
CU128 = (*CU132, "compute_120")
VOLTA, TURING, AMPERE, HOPPER, BLACKWELL = "7.0", "7.5", "8.0", "9.0", "10.0"


@pytest.mark.parametrize(
    ("capability", "driver", "cuda", "architectures", "reason"),
    [
        # The lanes on their own drivers.
        (TURING, "580.65.06", "13.2", CU132, "minor-version"),
        (TURING, "595.91.07", "13.2", CU132, "driver-as-new"),
        (AMPERE, "580.173.02", "13.0", CU132, "driver-as-new"),
        (HOPPER, "610.57.04", "13.2", CU132, "driver-as-new"),
        (BLACKWELL, "595.91.07", "13.2", CU132, "driver-as-new"),
        (VOLTA, "580.173.02", "12.6", CU126, "driver-as-new"),
        (VOLTA, "535.309.01", "12.6", CU126, "minor-version"),
        (AMPERE, "525.60.13", "12.6", CU126, "minor-version"),
        # Newer drivers run older toolkits.
        (AMPERE, "595.91.07", "11.8", ("sm_80",), "driver-as-new"),
        (HOPPER, "580.65.06", "12.0", ("sm_90",), "driver-as-new"),
        # Volta: no toolkit from 13 on, no driver after R580, no wheels that hold sm_70.
        (VOLTA, "580.173.02", "13.2", CU132, "toolkit-dropped"),
        (VOLTA, "", "13.0", (), "toolkit-dropped"),
        (VOLTA, "595.91.07", "12.6", CU126, "driver-too-new"),
        (VOLTA, "570.86.15", "12.8", CU132, "no-kernel"),
        ("6.1", "580.65.06", "12.6", CU126, "driver-as-new"),
        ("6.1", "580.65.06", "13.0", CU132, "toolkit-dropped"),
        ("3.7", "470.256.02", "12.0", ("sm_50",), "toolkit-dropped"),
        # A driver too old for the toolkit's major version.
        (TURING, "535.309.01", "13.2", CU132, "driver-too-old"),
        (AMPERE, "575.51.03", "13.0", CU132, "driver-too-old"),
        (AMPERE, "470.256.02", "12.6", CU126, "driver-too-old"),
        (AMPERE, "550.54.15", "13.2", CU132, "driver-too-old"),
        (TURING, "418.226.00", "11.8", ("sm_75",), "driver-too-old"),
        (TURING, "300.1", "12.6", CU126, "driver-too-old"),
        # A driver that is older than the card.
        (BLACKWELL, "550.54.15", "12.8", CU128, "driver-before-card"),
        ("12.0", "565.57.01", "12.8", CU128, "driver-before-card"),
        (HOPPER, "515.105.01", "12.0", ("sm_90",), "driver-before-card"),
        ("8.9", "470.256.02", "11.8", ("sm_86",), "driver-before-card"),
        # Code: a later minor version of the same major runs, another major does not; PTX does if the driver is as new.
        ("8.9", "550.54.15", "12.6", CU126, "minor-version"),
        (BLACKWELL, "570.86.15", "12.6", CU126, "no-kernel"),
        ("8.0", "570.86.15", "12.6", ("sm_86",), "no-kernel"),
        ("12.1", "580.65.06", "12.8", ("sm_80", "compute_120"), "driver-as-new"),
        (HOPPER, "535.309.01", "12.6", ("sm_80", "compute_80"), "ptx-needs-driver"),
        (HOPPER, "560.35.05", "12.6", ("sm_80", "compute_80"), "driver-as-new"),
        ("7.5", "580.65.06", "12.8", ("compute_80",), "no-kernel"),
        ("9.0", "580.65.06", "12.8", ("sm_90a",), "driver-as-new"),
        ("10.3", "580.65.06", "12.9", ("sm_100a",), "no-kernel"),
        ("10.3", "580.65.06", "12.9", ("sm_100f",), "driver-as-new"),
        # What is not known is not held against it.
        (TURING, "", "13.2", CU132, "driver-unknown"),
        (BLACKWELL, "580.65.06", "13.0", (), "driver-as-new"),
        ("", "", "13.2", CU132, "cpu"),
        ("", "", "", (), "cpu"),
        (TURING, "580.65.06", "", (), "no-cuda"),
    ],
)
def test_the_table(capability: str, driver: str, cuda: str, architectures: tuple[str, ...], reason: str) -> None:
    last = "580" if capability and float(capability) < 7.5 else ""
    answer = compatible(Device(capability, driver, last_driver=last), Image(cuda, architectures))
    assert answer.reason == reason, answer.message
    fine = {"cpu", "driver-unknown", "driver-as-new", "minor-version"}
    assert answer.ok == (reason in fine)
    assert "\n" not in answer.message
    assert not answer.message.endswith(".")


@pytest.mark.parametrize(
    ("driver", "compat", "data_centre", "reason"),
    [
        ("535.309.01", "13.2", True, "forward"),
        ("535.309.01", "13.0", True, "driver-too-old"),  # the package is older than the toolkit
        ("535.309.01", "", True, "driver-too-old"),
        ("535.309.01", "13.2", False, "forward-not-on-this-card"),
        ("470.256.02", "13.2", True, "driver-too-old"),  # a branch that the package does not know
        ("580.65.06", "13.2", False, "minor-version"),
    ],
)
def test_cuda_compat_packages_help_on_data_centre_cards_only(
    driver: str, compat: str, data_centre: bool, reason: str
) -> None:
    device = Device(AMPERE, driver, data_centre)
    assert compatible(device, Image("13.2", CU132, compat)).reason == reason


def test_a_compat_package_compiles_the_ptx_that_an_older_driver_cannot() -> None:
    old, ptx = "535.309.01", ("sm_80", "compute_80")
    assert compatible(Device(HOPPER, old), Image("12.6", ptx, "12.6")).reason == "minor-version"
    assert compatible(Device(HOPPER, old, data_centre=False), Image("12.6", ptx, "12.6")).reason == "ptx-needs-driver"


@pytest.mark.parametrize(
    ("accelerator", "driver", "lane"),
    [
        ("cpu", "", "cpu"),
        ("t4", "580.65.06", "current"),
        ("t4", "550.54.15", "legacy"),
        ("v100-16", "580.65.06", "legacy"),
        ("v100-16", "595.91.07", None),
        ("a100-80", "470.256.02", None),
        ("b200", "570.86.15", None),
        ("b200", "595.91.07", "current"),
        ("rtx4090", "535.309.01", "legacy"),
    ],
)
def test_the_lane_that_suits_a_card_with_its_driver(accelerator: str, driver: str, lane: str | None) -> None:
    found = suggested(device_of(accelerator, driver))
    assert (found.name if found else None) == lane


def test_a_message_names_both_versions() -> None:
    said = compatible(Device(TURING, "550.54.15"), Image("13.2", CU132)).message
    assert said == "driver 550.54.15 is too old for CUDA 13.2, which needs R580 or newer"


@pytest.mark.parametrize("lane", [lane for lane in lanes() if lane.cuda])
def test_a_lanes_oldest_driver_is_the_one_of_its_toolkit(lane: object) -> None:
    assert oldest_driver(lane.cuda) == lane.min_driver  # type: ignore[attr-defined]


def test_the_lane_of_this_torch_holds_the_code_that_the_wheel_says() -> None:
    import torch  # ten seconds on a busy machine: this test alone pays them

    lane = next(lane for lane in lanes() if lane.name == "current")
    assert torch.version.cuda in (None, lane.cuda), "another toolkit: correct lanes.toml"
    if torch.version.cuda:
        assert tuple(torch._C._cuda_getArchFlags().split()) == lane.architectures


def test_a_driver_between_two_branches_of_the_table_brings_the_older_ones_cuda() -> None:
    assert [driver_cuda(branch) for branch in (300, 450, 537, 620)] == [(0,), (11, 0), (12, 2), (13, 3)]


def test_only_the_geforce_cards_are_no_data_centre_cards() -> None:
    assert [name for name, row in catalogue().items() if not row.data_centre] == ["rtx3090", "rtx4090"]


@pytest.mark.parametrize("name", ["sm_", "sm75", "8.0", "sm_80x", "SM_80"])
def test_what_is_no_architecture_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no CUDA architecture"):
        code_for((8, 0), [name])


def test_native_code_is_preferred_to_ptx() -> None:
    assert code_for((8, 0), ["compute_70", "sm_80"]) is Code.NATIVE
    assert code_for((8, 0), ["compute_70"]) is Code.PTX
    assert code_for((8, 0), []) is Code.UNKNOWN
