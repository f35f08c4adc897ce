"""Python modules under a project's `src/`, read by `ast` and never imported: the code is a student's."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """A parsed file.

    Attributes:
        name: dotted name.
        path: relative to the project.
        is_package: whether it is an `__init__.py`.
        tree: None when it has a syntax error.
        error: the syntax error's line and message, or None.
    """

    name: str
    path: str
    is_package: bool
    tree: ast.Module | None
    error: tuple[int, str] | None = None


@dataclass(frozen=True)
class Parameters:
    """What a function can be called with, without `self`."""

    names: tuple[str, ...]
    required: tuple[str, ...]
    positional_only: tuple[str, ...]
    positional: tuple[str, ...]
    takes_any_keyword: bool
    takes_any_position: bool


def load(project: Path, name: str) -> Module | None:
    """A module of `src/` by its dotted name; None when there is no such file."""
    stem = Path("src", *name.split("."))
    for path, is_package in ((stem.with_suffix(".py"), False), (stem / "__init__.py", True)):
        if (project / path).is_file():
            return _parse(project, name, path, is_package)
    return None


def _parse(project: Path, name: str, path: Path, is_package: bool) -> Module:
    try:
        tree = ast.parse((project / path).read_bytes(), filename=path.as_posix())
    except SyntaxError as error:
        return Module(name, path.as_posix(), is_package, None, (error.lineno or 1, error.msg))
    except (ValueError, RecursionError, OSError) as error:
        return Module(name, path.as_posix(), is_package, None, (1, str(error)))
    return Module(name, path.as_posix(), is_package, tree)


def names_under(project: Path, package: str) -> list[str]:
    """The dotted names of all modules of a package, for suggestions."""
    root = project / "src"
    found = (path.relative_to(root).with_suffix("").parts for path in (root / package).rglob("*.py"))
    return sorted(".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in found)


def top_level(module: Module) -> dict[str, ast.stmt]:
    """Names that a module binds at its top level (also inside `if` and `try`) -> the binding statement."""
    bound: dict[str, ast.stmt] = {}
    for statement in _statements(module.tree.body if module.tree else []):
        for name in _bound_by(statement):
            bound[name] = statement
    return bound


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            nested = [*statement.body, *getattr(statement, "orelse", []), *getattr(statement, "finalbody", [])]
            handlers = [item for handler in getattr(statement, "handlers", []) for item in handler.body]
            yield from _statements([*nested, *handlers])


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, Definition):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def find(project: Path, module: Module, name: str, hops: int = 5) -> tuple[Module, ast.stmt] | None:
    """What binds a name: followed through `from .other import name` inside `src/`; None when nothing does."""
    statement = top_level(module).get(name)
    if isinstance(statement, ast.ImportFrom) and hops:
        source = _imported_from(module, statement)
        other = load(project, source) if source else None
        original = next(alias.name for alias in statement.names if name in (alias.asname, alias.name))
        found = find(project, other, original, hops - 1) if other else None
        return found or (module, statement)
    return (module, statement) if statement else None


def _imported_from(module: Module, statement: ast.ImportFrom) -> str:
    """The absolute name of the module in a `from … import`."""
    if not statement.level:
        return statement.module or ""
    parts = module.name.split(".")
    keep = len(parts) - statement.level + (1 if module.is_package else 0)
    return ".".join([*parts[: max(keep, 0)], *filter(None, [statement.module])])


def parameters(definition: Definition) -> Parameters | None:
    """What a function, or a class's `__init__`, takes; None for a class without one."""
    if isinstance(definition, ast.ClassDef):
        method = method_of(definition, "__init__")
        return parameters_of(method, bound=True) if method else None
    return parameters_of(definition)


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef, bound: bool = False) -> Parameters:
    """The parameters of a function; `bound` leaves out the first one."""
    arguments = function.args
    positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    optional = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    skip = positional[:1] if bound else []
    keyword_only = [item.arg for item in arguments.kwonlyargs]
    needed = [item for item, default in zip(keyword_only, arguments.kw_defaults, strict=True) if default is None]
    return Parameters(
        names=tuple(item for item in (*positional, *keyword_only) if item not in skip),
        required=tuple(item for item in (*positional, *needed) if item not in optional and item not in skip),
        positional_only=tuple(item.arg for item in arguments.posonlyargs if item.arg not in skip),
        positional=tuple(item for item in positional if item not in skip),
        takes_any_keyword=arguments.kwarg is not None,
        takes_any_position=arguments.vararg is not None,
    )


def method_of(definition: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """A method written in the class itself."""
    return next((item for item in definition.body if isinstance(item, ast.FunctionDef) and item.name == name), None)
