"""Telling the machine's trouble from the student's mistake: a table of what Python, torch and CUDA say.

Only trouble that the student's code cannot be at fault for: an index out of range (`device-side assert`), an illegal
address or a launch failure stay the student's, because their own mistakes look the same.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterator

# A full or broken disk; not EROFS: where a container's root is read-only, writing to it is the code's mistake.
DISK = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, *(getattr(errno, n, errno.EIO) for n in ("EDQUOT", "ESTALE"))})
# torch raises RuntimeErrors with the system's words, and its file writer with words of its own.
DISK_SAYS = ("No space left on device", "Disk quota exceeded", "Input/output error", "PytorchStreamWriter failed")

# The child's exit code when its report cannot be written (EX_IOERR of sysexits.h).
NO_REPORT = 74

# cudaGetErrorString (CUDA Runtime API, enum cudaError, 12.6 and 13.x), as torch repeats it after "CUDA error: ".
CUDA_SAYS = (
    "CUDA error: initialization error",
    "CUDA error: OS call failed or operation not supported on this OS",
    "CUDA error: unknown error",
    "CUDA error: the launch timed out and was terminated",
    "CUDA driver version is insufficient for CUDA runtime version",
    "busy or unavailable",
    "no CUDA-capable device is detected",
    "no kernel image is available for execution on the device",
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error",
    "hardware stack error",
    "over nvlink or a hardware error",
    "the provided PTX was compiled with an unsupported toolchain",
    "device kernel image is invalid",
    "system not yet initialized",
    "system has unsupported display driver / cuda driver combination",
    "forward compatibility was attempted on non supported HW",
    "MPS client failed to connect",
    "MPS server is not ready",
    "MPS client has been terminated",
    # torch/cuda/__init__.py and c10/cuda/CUDAFunctions.cpp
    "Found no NVIDIA driver on your system",
    "The NVIDIA driver on your system is too old",
    "CUDA driver initialization failed",
    "Unexpected error from cudaGetDeviceCount()",
    "CUDA unknown error - this may be due to an incorrectly set up environment",
)
# cublasStatus_t, cudnnStatus_t and their kin: the library found no memory, no device or no code for that device.
LIBRARY_SAYS = (
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "CUBLAS_STATUS_ARCH_MISMATCH"),
    *("CUDNN_STATUS_ALLOC_FAILED", "CUDNN_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_ARCH_MISMATCH"),
    *("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
    *("CUSOLVER_STATUS_ALLOC_FAILED", "CUSOLVER_STATUS_NOT_INITIALIZED", "CUSPARSE_STATUS_ALLOC_FAILED"),
    *("CUSPARSE_STATUS_NOT_INITIALIZED", "CUFFT_ALLOC_FAILED", "CUFFT_SETUP_FAILED"),
)

# No route to the other side; a refusal, a timeout and a name that is not found have exceptions of their own.
NO_ROUTE = frozenset({errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH})
# httpcore, which httpx and huggingface_hub use, raises its errors `from None`.
HIDING = frozenset({"httpcore", "httpx", "httpcore2", "httpx2"})

# What torch says when a machine has no kernel for a dtype.
UNSUPPORTED = (
    *("not implemented for", "could not create a primitive", "Unsupported dtype", "not supported on CPU"),
    *("CUBLAS_STATUS_NOT_SUPPORTED", "CUDNN_STATUS_NOT_SUPPORTED"),
)


def trouble(error: BaseException) -> bool:
    """Tell whether an exception, or one that it came from, is the machine's trouble."""
    return any(_disk(one) or _says(one) for one in _chain(error, _printed))


def unreachable(error: BaseException) -> bool:
    """Tell whether an exception came from a network that did not answer: a hub of weights, or its mirror.

    Only for code that may download: a model's forward has no network to miss.
    """
    return any(_network(one) for one in _chain(error, _passed_on))


def unsupported(text: str) -> bool:
    """Tell whether an error's text says that this machine has no kernel for the dtype."""
    return any(words in text for words in UNSUPPORTED)


def _disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in DISK


def _network(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
        return not isinstance(error, BrokenPipeError)
    return isinstance(error, OSError) and error.errno in NO_ROUTE


def _says(error: BaseException) -> bool:
    """Only an exception that the machine can raise: a ValueError with such words was written by the student."""
    if not isinstance(error, RuntimeError | OSError):
        return False
    text = str(error)
    return any(words in text for words in (*DISK_SAYS, *CUDA_SAYS, *LIBRARY_SAYS))


def _chain(error: BaseException, before: Callable[[BaseException], BaseException | None]) -> Iterator[BaseException]:
    """Yield the error and those that it came from."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = before(following)


def _printed(error: BaseException) -> BaseException | None:
    """What an error came from, as Python prints it."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _passed_on(error: BaseException) -> BaseException | None:
    """What a library made this error of: urllib and requests raise OSErrors; a KeyError is a mistake in the handler."""
    if type(error).__module__.partition(".")[0] in HIDING:
        return error.__cause__ or error.__context__
    return _printed(error) if isinstance(error, OSError) else error.__cause__
