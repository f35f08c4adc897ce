"""Where the numbers come from, and what they cannot tell."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from model_tests.report.labels import label
from model_tests.report.numbers import number
from model_tests.report.tidy import line, mapping

Fact = tuple[Markup, str]


def origin_facts(results: Mapping[str, Any]) -> list[Fact]:
    """Return (label, value) of everything that identifies the run; what is absent is left out."""
    project, image = mapping(results.get("project")), mapping(results.get("image"))
    provenance, plan = mapping(results.get("provenance")), mapping(results.get("plan"))
    values = {
        "project": project.get("name") or project.get("slug"),
        "author": project.get("author"),
        "course": project.get("course"),
        "profile": project.get("profile"),
        "revision": results.get("revision"),
        "ref": results.get("ref"),
        "run": results.get("run"),
        "engine": results.get("engine"),
        "artifact": image.get("reference"),
        "kind": image.get("kind"),
        "digest": image.get("digest"),
        "seed": plan.get("seed"),
        "versions": _joined({key: provenance.get(key) for key in ("gpulab", "templates")}),
        "started": provenance.get("started"),
        "finished": provenance.get("finished"),
        "host": provenance.get("host"),
    }
    return [(label(f"provenance.{name}"), line(value)) for name, value in values.items() if line(value)]


def device_facts(verify: Mapping[str, Any], accelerator: str) -> list[Fact]:
    """Return (label, value) of the device and the software that measured on one accelerator."""
    device = mapping(verify.get("device"))
    found = [
        (label("provenance.device", accelerator=accelerator), line(device.get("name")) or line(device.get("kind"))),
        (label("provenance.environment", accelerator=accelerator), _joined(mapping(verify.get("environment")))),
    ]
    return [(name, value) for name, value in found if value]


def _joined(values: Mapping[str, Any]) -> str:
    shown = [(line(name), _value(value)) for name, value in values.items()]
    return ", ".join(f"{name} {value}" for name, value in shown if value)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return number(value) if isinstance(value, float) else line(value)


def limits(results: Mapping[str, Any]) -> list[Markup]:
    """Return what this report cannot tell, in both languages."""
    verified = [mapping(verify) for verify in mapping(results.get("verify")).values()]
    names = ["forged", "misses", "task"]
    names += ["self"] if any(mapping(v.get("fp32")).get("mode") == "self-consistency" for v in verified) else []
    names += ["local"] if results.get("engine") == "local" else []
    names += ["artifact"] if mapping(results.get("image")).get("kind") == "source artifact" else []
    return [label(f"limits.{name}") for name in names]
