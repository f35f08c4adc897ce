"""Rules of the table `[int8]` of `lab.toml`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from gpulab.contract.finding import Finding, wrong
from gpulab.contract.lab import Int8, Lab, Model
from gpulab.contract.modules import Definition, find, load, parameters, top_level
from gpulab.contract.words import as_toml, did_you_mean, nearest, one_of, shown


def labels_need_classes(int8: Int8 | None, model: Model) -> Iterator[Finding]:
    """An evaluation compares labels with the largest logit; a plain tensor has no classes."""
    if int8 and int8.evaluation and model.output != "logits":
        yield wrong(
            "[int8] evaluation",
            f"found {shown(int8.evaluation)}, but labels can only be compared with logits, and [model] output is "
            f"{shown(model.output)}",
            f"Type: {as_toml('evaluation', '')}, or {as_toml('output', 'logits')} in [model] if the last dimension "
            "are classes.",
        )


def evaluation_is_there(project: Path, lab: Lab) -> Iterator[Finding]:
    """What can be seen of `module:function` without running it: it exists, and can be called without arguments."""
    evaluation = lab.int8.evaluation if lab.int8 else ""
    name, _, function = evaluation.partition(":")
    module = load(project, name) if evaluation else None
    if evaluation and module is None:
        message = f"found {shown(evaluation)}, but src/ has no module {name}"
        yield wrong("[int8] evaluation", message, f"Make the file src/{name.replace('.', '/')}.py.")
    if module is not None and module.error:
        line, message = module.error
        yield Finding(
            "error", module.path, f"line {line}", f"not Python: {message}", "Correct the line, then: gpulab check"
        )
    if module is None or module.error:
        return
    found = find(project, module, function)
    if found is None:
        names = [key for key, value in top_level(module).items() if isinstance(value, Definition)]
        near = nearest(function, names)
        message = f"{module.path} has no function {shown(function)}, only {one_of(names) or 'none'}"
        hint = f"Type: {as_toml('evaluation', f'{name}:{near}')}" if near else f"Write def {function}() there."
        yield wrong("[int8] evaluation", f"{message}{did_you_mean(function, names)}", hint)
        return
    takes = parameters(found[1]) if isinstance(found[1], ast.FunctionDef) else None
    if takes is not None and takes.required:
        message = f"{function} in {found[0].path} is called without arguments, but needs {one_of(takes.required)}"
        yield wrong("[int8] evaluation", message, "Give its parameters defaults.")
