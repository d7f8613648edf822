"""Options that say where the operator is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from rukpak_py.api.names import CONTENT_SERVICE, DEFAULT_SYSTEM_NAMESPACE, SecretName

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class OperatorAt:
    """Names of the operator's objects."""

    namespace: str
    service: str
    ca_secret: str


def operator_options(*namespace_names: str) -> Callable[[F], F]:
    """Adds them; the command takes them as `**where` for `OperatorAt`. `namespace_names`: how the first is spelt."""
    options: Sequence[Callable[[F], F]] = (
        click.option(
            *namespace_names,
            "namespace",
            default=DEFAULT_SYSTEM_NAMESPACE,
            show_default=True,
            metavar="NAMESPACE",
            help="The operator's namespace.",
        ),
        click.option(
            "--upload-service-name",
            "service",
            default=CONTENT_SERVICE,
            show_default=True,
            metavar="NAME",
            help="The Service in front of the operator's content server.",
        ),
        click.option(
            "--ca-secret-name",
            "ca_secret",
            default=str(SecretName.CA),
            show_default=True,
            metavar="NAME",
            help="The Secret with the authority (ca.crt) of its certificate.",
        ),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add
