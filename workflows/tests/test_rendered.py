from pathlib import Path
from typing import Any

import yaml
from gpulab.engines.dispatch import rendered
from gpulab.pipelines.catalogue import PIPELINES
from gpulab.pipelines.settings import Settings
from gpulab.rendering.workflows import NODE_NAMES, drift, render_all, write_all

COMMITTED = Path(__file__).parents[1] / "src" / "gpulab" / "rendered"


def test_the_committed_yaml_is_what_the_pipelines_render_to() -> None:
    assert drift(COMMITTED, Settings()) == [], "type `make render` and commit the result"


def test_the_local_engine_runs_the_committed_yaml() -> None:
    for name in PIPELINES:
        assert rendered(name) == yaml.safe_load((COMMITTED / f"{name}.yaml").read_text())


def test_rendering_twice_gives_the_same_bytes() -> None:
    assert render_all(Settings()) == render_all(Settings())


def test_drift_names_changed_missing_and_foreign_files(tmp_path: Path) -> None:
    write_all(tmp_path, Settings())
    assert drift(tmp_path, Settings()) == []
    (tmp_path / "push.yaml").write_text("a: 1\n")
    (tmp_path / "sync.yaml").unlink()
    (tmp_path / "foreign.yaml").write_text("a: 1\n")
    assert drift(tmp_path, Settings()) == ["foreign.yaml", "push.yaml", "sync.yaml"]
    assert write_all(tmp_path, Settings()) == ["foreign.yaml", "push.yaml", "sync.yaml"]
    assert drift(tmp_path, Settings()) == []


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def test_nothing_that_hera_was_given_is_lost() -> None:
    for name, text in render_all(Settings()).items():
        if name.removesuffix(".yaml") in PIPELINES:
            built = PIPELINES[name.removesuffix(".yaml")](Settings()).to_dict()
            added = [shown for (pipeline, _), shown in NODE_NAMES.items() if name == f"{pipeline}.yaml"]
            assert sorted(map(str, leaves(yaml.safe_load(text)))) == sorted(map(str, [*leaves(built), *added]))
