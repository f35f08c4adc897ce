"""Build Hera's models without losing a field: Hera drops a name it does not know and says nothing."""

from typing import TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


def strict(model: type[Model], **fields: object) -> Model:
    """`model(**fields)`, but an unknown field is an error.

    A `Synchronization(semaphore=…)` renders as `{}`, which is no lock at all (Argo 4 says `semaphores`).

    Raises:
        TypeError: a name in `fields` is no field of the model.
    """
    known = set(model.model_fields) | {field.alias for field in model.model_fields.values() if field.alias}
    unknown = sorted(set(fields) - known)
    if unknown:
        raise TypeError(f"{model.__name__} has no field {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    return model(**fields)
