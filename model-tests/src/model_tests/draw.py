"""Draw the inputs, the platform's choice and not the student's: `python3 -m model_tests.draw`.

The same spec and seed give the same values on every machine (torch's CPU generator), so that the judge draws them again
itself. With --harness, this package is copied there for the student's image to run `model_tests.produce` from.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from model_tests.fields import SpecError
from model_tests.spec import InputSpec, Spec
from model_tests.speed.baselines import unpack


def draw(spec: Spec, seed: int) -> dict[str, Tensor]:
    """Return the inputs by name, in the order of the model's arguments; CPU tensors."""
    generator = torch.Generator().manual_seed(seed)
    return {item.name: _draw(item, generator) for item in spec.inputs}


def _draw(item: InputSpec, generator: torch.Generator) -> Tensor:
    if item.low is None or item.high is None:
        return torch.randn(item.shape, generator=generator)
    return torch.randint(item.low, item.high, item.shape, generator=generator)


def copy_harness(folder: Path) -> None:
    """Copy this package to `folder`, replacing an older copy."""
    package = Path(__file__).parent
    target = folder / package.name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(package, target, ignore=shutil.ignore_patterns("__pycache__"))


def lay_out(archive: Path, folder: Path) -> None:
    """Unpack the sources of the baselines; without them only the speed goes untold, so that is no reason to end."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        unpack(archive, folder)
    except ValueError as error:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"draw: {error}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: 0, 2 for a spec that is not one, 3 when the folder cannot be written."""
    parser = argparse.ArgumentParser(prog="python3 -m model_tests.draw", description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="spec JSON, or a plan with it under `spec`")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder that gets inputs/inputs.pt")
    parser.add_argument("--harness", type=Path, help="folder that gets a copy of the model_tests package")
    parser.add_argument("--baselines", type=Path, help="tar with older sources, laid out in the folder baselines/")
    args = parser.parse_args(argv)
    try:
        inputs = draw(Spec.from_file(args.spec), args.seed)
        (args.out / "inputs").mkdir(parents=True, exist_ok=True)
        torch.save(inputs, args.out / "inputs" / "inputs.pt")
        if args.harness:
            copy_harness(args.harness)
        if args.baselines:
            lay_out(args.baselines, args.out / "baselines")
    except SpecError as error:
        print(f"draw: {error}", file=sys.stderr)
        return 2
    except (OSError, RuntimeError) as error:
        print(f"draw: cannot write {args.out}: {error}", file=sys.stderr)
        return 3
    print(f"draw: {len(inputs)} input(s) with seed {args.seed}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
