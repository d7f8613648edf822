"""Texts of flags as values; what is wrong with one is told in a line."""

import argparse
import re
from collections.abc import Callable
from typing import TypeVar

from rukpak_py.api.deployment_spec import DNS_SUBDOMAIN
from rukpak_py.controllers.deployment.lookups import EVERY_NAMESPACE
from rukpak_py.core.errors import ContentError
from rukpak_py.server.listener import Address

LONGEST_DELAY = 20  # seconds; a stop as a whole has 25
LONGEST_ACCOUNT = 253
LONGEST_DOMAIN = 150  # with the name and the namespace of a Service before it, a host name has at most 253
LONGEST_HOOK = 86_400  # seconds
T = TypeVar("T")


def one_of(*words: str) -> Callable[[str], str]:
    """Type of an argument with these values. argparse does not check its `choices` for values of the environment."""

    def word(text: str) -> str:
        if text not in words:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(words)}")
        return text

    return word


def parsed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """The type of a flag; what `parse` refuses is told in its own words."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except (ContentError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def namespace(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid namespace name")
    return text


def optional_namespace(text: str) -> str:
    return namespace(text) if text else ""


def domain(text: str) -> str:
    if not (len(text) <= LONGEST_DOMAIN and re.fullmatch(DNS_SUBDOMAIN, text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid DNS domain")
    return text


def account(text: str) -> str:
    if text and not (len(text) <= LONGEST_ACCOUNT and re.fullmatch(DNS_SUBDOMAIN, text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid name of a service account")
    return text


def lookup_namespaces(text: str) -> frozenset[str]:
    found = names(text)
    for name in found - {EVERY_NAMESPACE}:
        namespace(name)
    return found


def address(text: str) -> Address:
    try:
        return Address.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def url(text: str) -> str:
    if text and not re.fullmatch(r"https://[^/?#@\s]+/?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL of the form https://HOST or https://HOST:PORT")
    return text.rstrip("/")


def names(text: str) -> frozenset[str]:
    return frozenset(name for part in text.split(",") if (name := part.strip()))


def flag(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


def delay(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?", text) or float(text) > LONGEST_DELAY:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds up to {LONGEST_DELAY}")
    return float(text)


def hook_timeout(text: str) -> float:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", text) or int(text) > LONGEST_HOOK:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to {LONGEST_HOOK}")
    return float(text)


def interval(text: str) -> float:
    if not re.fullmatch(r"0|[1-9][0-9]{0,6}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 9999999")
    return float(text)
