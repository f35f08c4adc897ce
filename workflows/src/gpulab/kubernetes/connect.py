"""Log in to the API server: with the pod's ServiceAccount, or with a person's kubeconfig."""

import os
import ssl
from collections.abc import Generator, Mapping
from typing import cast

import httpx
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from gpulab.errors import PlatformError
from gpulab.kubernetes.api import Api

TIMEOUT = httpx.Timeout(30.0, connect=10.0)


class _Login(httpx.Auth):
    """The bearer token of a configuration, read again when it was renewed."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        for setting in self._configuration.auth_settings().values():
            header = cast(Mapping[str, str], setting)
            request.headers[header["key"]] = header["value"]
        yield request


def connect(kubeconfig: str = "", context: str = "") -> Api:
    """The API server of this pod, or of a context (the current one) of a kubeconfig (KUBECONFIG).

    Raises:
        PlatformError: there is neither.
    """
    configuration = Configuration()
    try:
        if os.environ.get("KUBERNETES_SERVICE_HOST") and not (kubeconfig or context):
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            load_kube_config(kubeconfig or None, context or None, configuration)  # type: ignore[no-untyped-call]
    except ConfigException as error:
        raise PlatformError(f"no Kubernetes API to talk to: {error}. Set KUBECONFIG, or run in a pod.") from None
    return Api(
        httpx.Client(
            base_url=configuration.host,
            verify=_trusted(configuration),
            auth=_Login(configuration),
            timeout=TIMEOUT,
            trust_env=False,  # a proxy for the internet is none for the cluster
        )
    )


def _trusted(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
