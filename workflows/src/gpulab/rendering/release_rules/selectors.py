"""Does what a release selects exist in the release? A selector that matches nothing is never an error to Kubernetes."""

from collections.abc import Iterator

from gpulab.contract.finding import Finding
from gpulab.contract.words import did_you_mean, shown
from gpulab.rendering.release_rules.release import Release, at, containers, mapping, mappings, pods, selects


def selectors_match(release: Release) -> Iterator[Finding]:
    """A Service without pods answers nobody, and nothing says so; a Deployment must select its own pods."""
    labels = [at(template, "metadata", "labels") for _, template in pods(release.documents)]
    for document in release.of_kind("Service", "PodDisruptionBudget"):
        selector = at(document, "spec", "selector")
        if not selector or not any(selects(selector, one) for one in labels):
            message = f"its selector {shown(selector)} matches no pod of the release"
            yield release.wrong(document, message, "Type: the labels of the Deployment's pod template.")
    for document in release.of_kind("Deployment"):
        selector, own = at(document, "spec", "selector"), at(document, "spec", "template", "metadata", "labels")
        if not selector or not selects(selector, own):
            message = f"its selector {shown(selector)} does not match its own pods, labelled {shown(own)}"
            yield release.wrong(document, message, "Type: the same labels in selector.matchLabels and template.")


def ports_exist(release: Release) -> Iterator[Finding]:
    """A named targetPort is the name of a container's port."""
    for document in release.of_kind("Service"):
        chosen = [
            one
            for _, one in pods(release.documents)
            if selects(at(document, "spec", "selector"), at(one, "metadata", "labels"))
        ]
        names = [
            str(port.get("name")) for one in chosen for each in containers(one) for port in mappings(each.get("ports"))
        ]
        for port in mappings(at(document, "spec", "ports")):
            target = port.get("targetPort")
            if isinstance(target, str) and chosen and target not in names:
                message = f"targetPort {shown(target)} is no port of its pods{did_you_mean(target, names)}"
                yield release.wrong(document, message, "Type: the name of a port of the container.")


def scaled_things_exist(release: Release) -> Iterator[Finding]:
    """A HorizontalPodAutoscaler scales a Deployment of the release."""
    deployments = release.named("Deployment")
    for document in release.of_kind("HorizontalPodAutoscaler"):
        target = mapping(at(document, "spec", "scaleTargetRef"))
        if target.get("kind") != "Deployment" or str(target.get("name")) not in deployments:
            message = f"scales {target.get('kind')}/{target.get('name')}, which the release does not hold"
            yield release.wrong(document, message, f"Type: name: {next(iter(deployments), '…')}")


RULES = (selectors_match, ports_exist, scaled_things_exist)
