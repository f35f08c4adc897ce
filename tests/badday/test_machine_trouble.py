"""A broken GPU, a full disk, a missing kernel: never a student's FAIL. What looks alike and is theirs stays theirs."""

import errno
from pathlib import Path

import pytest
from model_tests.producing import machine
from model_tests.producing.student import StudentError, guard
from verifying import Bench

ECC = "CUDA error: uncorrectable ECC error encountered\\nCUDA kernel errors might be reported at some other API call"
CUDA = [text if text.startswith("CUDA") else f"CUDA error: {text}" for text in machine.CUDA_SAYS]
LIBRARIES = [f"CUDA error: {text} when calling `cublasCreate(handle)`" for text in machine.LIBRARY_SAYS]
THEIRS = [
    "CUDA error: device-side assert triggered",
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: unspecified launch failure",
    "CUDA error: invalid device ordinal",
    "CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm(…)`",
    "mat1 and mat2 shapes cannot be multiplied (16x32 and 31x32)",
    "Expected all tensors to be on the same device",
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def status(error: BaseException) -> str:
    def code() -> None:
        raise error

    with pytest.raises(StudentError) as caught:
        guard("forward()", code)
    return caught.value.status


@pytest.mark.parametrize("said", [*CUDA, *LIBRARIES])
def test_what_a_broken_gpu_says_is_the_machines_trouble(said: str) -> None:
    assert status(RuntimeError(said)) == "harness-error"


@pytest.mark.parametrize("said", THEIRS)
def test_what_their_own_mistakes_say_stays_theirs(said: str) -> None:
    assert status(RuntimeError(said)) == "input-error"


def test_words_that_only_a_student_can_have_written_are_no_trouble() -> None:
    assert status(ValueError("uncorrectable ECC error encountered")) == "input-error"


@pytest.mark.parametrize("number", sorted(machine.DISK), ids=errno.errorcode.get)
def test_a_full_or_broken_disk_is_the_machines_also_when_it_was_wrapped(number: int) -> None:
    wrapped = RuntimeError("the cache cannot be written")
    wrapped.__cause__ = OSError(number, "…")
    assert status(OSError(number, "…")) == status(wrapped) == "harness-error"


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EROFS, errno.EMFILE], ids=errno.errorcode.get)
def test_a_file_that_is_missing_or_forbidden_stays_theirs(number: int) -> None:
    assert status(OSError(number, "…")) == "input-error"


@pytest.mark.parametrize(
    ("code", "stage"),
    [
        ({"forward": f'raise RuntimeError("{ECC}")'}, "forward"),
        ({"forward": f'if x.dtype == torch.float16: raise RuntimeError("{ECC}")'}, "float16"),
        ({"build": "raise RuntimeError('no cache') from OSError(errno.ENOSPC, 'No space left on device')"}, "build"),
        ({"build": "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))"}, "build"),
    ],
    ids=["ecc", "ecc in a candidate", "disk full in build()", "nothing can be written any more"],
)
def test_through_parent_child_and_judge_it_is_inconclusive(bench: Bench, code: dict[str, str], stage: str) -> None:
    record, exit_code, result = bench.verify(**code)
    assert (record["status"], record["stage"]) == ("harness-error", stage)
    assert (result["verdict"], exit_code, result["gates"][0]["key"]) == ("INCONCLUSIVE", 3, "platform.error")


def test_a_serving_dtype_without_a_kernel_leaves_no_golden_answer_and_no_fail(bench: Bench) -> None:
    half = "if x.dtype == torch.float16: raise RuntimeError('\"addmm_impl_cpu_\" not implemented for \\'Half\\'')"
    record, exit_code, result = bench.verify(forward=half, serving_dtype="float16")
    gates = {gate["name"]: (gate["verdict"], gate["key"]) for gate in result["gates"]}
    assert (record["status"], result["verdict"], exit_code) == ("ok", "INCONCLUSIVE", 0)
    assert gates["batch-1"] == ("INCONCLUSIVE", "batch.missing")
    assert gates["precision/float16"] == ("INCONCLUSIVE", "candidate.unsupported")
