"""Does the code under `src/` have what `lab.toml` names? Seen by reading (`ast`), nothing is imported.

What cannot be seen without running (a factory that is assigned, a class from elsewhere) is not held against it.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.int8_rules import evaluation_is_there
from gpulab.contract.lab import Lab
from gpulab.contract.modules import (
    Definition,
    Module,
    Parameters,
    find,
    load,
    method_of,
    names_under,
    parameters,
    parameters_of,
    top_level,
)
from gpulab.contract.words import as_toml, did_you_mean, nearest, one_of, shown


def check_sources(project: Path, lab: Lab) -> list[Finding]:
    """Every difference between the contract and the code that can be seen."""
    return [
        *_package(project, lab),
        *_factory(project, lab),
        *_serving(project, lab),
        *evaluation_is_there(project, lab),
    ]


def _package(project: Path, lab: Lab) -> Iterator[Finding]:
    folder = f"src/{lab.project.package}"
    if not (project / folder).is_dir():
        near = nearest(lab.project.package, [path.name for path in (project / "src").glob("*/")])
        hint = f"Type: {as_toml('package', near)}" if near else f"Make the folder {folder} with an __init__.py."
        yield wrong("[project] package", f"found {shown(lab.project.package)}, but there is no folder {folder}", hint)
    elif not (project / folder / "__init__.py").is_file():
        hint = f"Make an empty file {folder}/__init__.py."
        yield Finding("warning", folder, "", "has no __init__.py, so it is no package for build tools", hint)


def _factory(project: Path, lab: Lab) -> Iterator[Finding]:
    module_name, _, name = lab.model.factory.partition(":")
    module = load(project, module_name)
    if module is None:
        yield _no_module(project, lab, "[model] factory", module_name, f":{name}")
        return
    if module.error:
        yield _syntax_error(module)
        return
    found = find(project, module, name)
    if found is None:
        yield _no_function(module, name)
        return
    home, statement = found
    if isinstance(statement, ast.AsyncFunctionDef):
        yield _in_code(home, statement.lineno, f"{name} is async, but is called plainly", f"Type: def {name}(…)")
    elif isinstance(statement, Definition):
        yield from _keywords(home, statement, lab)
        yield from _forward(project, home, statement, lab)


def _no_function(module: Module, name: str) -> Finding:
    names = [key for key, value in top_level(module).items() if isinstance(value, Definition)]
    meant = nearest(name, names) or next(iter(names), None)
    message = f"{module.path} has no function {shown(name)}, only {one_of(names) or 'none'}{did_you_mean(name, names)}"
    hint = f"Type: {as_toml('factory', f'{module.name}:{meant}')}" if meant else f"Write def {name}(…) there."
    return wrong("[model] factory", message, hint)


def _keywords(module: Module, factory: Definition, lab: Lab) -> Iterator[Finding]:
    """The factory is called as `build(**config)`."""
    takes = parameters(factory)
    if takes is None:
        return
    given = lab.model.config
    for name in takes.positional_only:
        message = f"{factory.name} takes {shown(name)} by position only, it is called with keywords"
        yield _in_code(module, factory.lineno, message, "Delete the / from its parameters.")
    known = [name for name in takes.names if name not in takes.positional_only]
    for key in given:
        if key not in takes.names and not takes.takes_any_keyword:
            near = nearest(key, [name for name in known if name not in given])
            message = f"{factory.name} in {module.path} takes no {shown(key)}, only {one_of(known) or 'nothing'}"
            hint = (
                f"Type: {as_toml(near, given[key])}" if near else f"Delete the line, or write {factory.name}({key}=…)"
            )
            yield wrong(f"[model.config] {key}", message, hint)
    for name in takes.required:
        if name not in given and name not in takes.positional_only:
            message = f"missing, {factory.name} in {module.path} (line {factory.lineno}) needs it"
            yield wrong(f"[model.config] {name}", message, f"Type: {name} = …, or give it a default in the code.")


def _forward(project: Path, module: Module, factory: Definition, lab: Lab) -> Iterator[Finding]:
    """The model is called as `model(*inputs)`: as many arguments as there are `[[inputs]]`, in the same order."""
    built = factory if isinstance(factory, ast.ClassDef) else _returned_class(project, module, factory)
    method = method_of(built, "forward") if built else None
    if built is None or method is None:
        return
    takes = parameters_of(method, bound=True)
    names = tuple(entry.name for entry in lab.inputs)
    needed = tuple(name for name in takes.positional if name in takes.required)
    enough = len(needed) <= len(names) and (takes.takes_any_position or len(names) <= len(takes.positional))
    if not enough:
        message = f"found {len(names)} ({one_of(names)}), but {built.name}.forward takes {_arity(takes, needed)}"
        yield wrong("[[inputs]]", message, "Type: one [[inputs]] table per argument of forward, in its order.")
    elif set(names) <= set(takes.positional) and names != takes.positional[: len(names)]:
        message = f"found the order {one_of(names)}, but {built.name}.forward takes {one_of(takes.positional)}"
        yield wrong("[[inputs]]", message, "Put the [[inputs]] tables into the order of forward's arguments.")


def _arity(takes: Parameters, needed: tuple[str, ...]) -> str:
    most = "any number" if takes.takes_any_position else str(len(takes.positional))
    count = most if most == str(len(needed)) else f"{len(needed)} to {most}"
    return f"{count} ({one_of(takes.positional) or 'nothing'})"


def _returned_class(project: Path, module: Module, factory: ast.stmt) -> ast.ClassDef | None:
    """The class in `return Name(…)`, or in `return Name(…).eval()`, when every return says the same."""
    names = {_called(node.value) for node in ast.walk(factory) if isinstance(node, ast.Return)}
    name = names.pop() if len(names) == 1 else None
    found = find(project, module, name) if name else None
    return found[1] if found and isinstance(found[1], ast.ClassDef) else None


def _called(value: ast.expr | None) -> str | None:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None


def _serving(project: Path, lab: Lab) -> Iterator[Finding]:
    """It is started as `python -m module`."""
    name = lab.serving.module
    module = load(project, name)
    if module is None:
        yield _no_module(project, lab, "[serving] module", name, "")
    elif module.error:
        yield _syntax_error(module)
    elif module.is_package and not (project / module.path).with_name("__main__.py").is_file():
        hint = (
            f"Make the file {module.path.replace('__init__', '__main__')}, or name the module that starts the service."
        )
        yield wrong("[serving] module", f"{name} is a package without __main__.py, python -m cannot start it", hint)
    elif not module.is_package and module.tree and not any(map(_starts, module.tree.body)):
        hint = 'Type: if __name__ == "__main__": main()'
        yield Finding("warning", module.path, "", "starts nothing when run with python -m", hint)


def _starts(statement: ast.stmt) -> bool:
    """A call at top level, or one under `if __name__ == "__main__"`."""
    if isinstance(statement, ast.If):
        return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test))
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _no_module(project: Path, lab: Lab, where: str, name: str, rest: str) -> Finding:
    names = names_under(project, lab.project.package)
    near = nearest(name, names)
    key = where.rsplit(" ", 1)[-1]
    hint = f"Type: {as_toml(key, f'{near}{rest}')}" if near else f"Make the file src/{name.replace('.', '/')}.py."
    message = f"found {shown(name + rest)}, but src/ has no module {name}{did_you_mean(name, names)}"
    return wrong(where, message, hint)


def _syntax_error(module: Module) -> Finding:
    line, message = module.error or (1, "")
    return _in_code(module, line, f"not Python: {message}", "Correct the line, then: gpulab check")


def _in_code(module: Module, line: int, message: str, hint: str) -> Finding:
    return Finding("error", module.path, f"line {line}", message, hint)
