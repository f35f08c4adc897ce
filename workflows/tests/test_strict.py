import pytest
from gpulab.pipelines.strict import strict
from hera.workflows.models import Mutex, Synchronization, Toleration


def test_a_field_that_hera_would_drop_is_an_error() -> None:
    assert Synchronization(semaphore="x").model_dump(exclude_none=True) == {}  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Synchronization has no field semaphore"):
        strict(Synchronization, semaphore="x")
    with pytest.raises(TypeError, match="operater"):
        strict(Toleration, key="a", operater="Exists")


def test_known_fields_and_aliases_are_kept() -> None:
    built = strict(Synchronization, mutexes=[strict(Mutex, name="m")])
    assert built.model_dump(exclude_none=True) == {"mutexes": [{"name": "m"}]}
