"""Names as Kubernetes judges them: reasons, their words and their order are those of its library (it was asked)."""

from collections.abc import Callable

import pytest

from rukpak_py.formats import dns

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
KEY = f"a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
LONG_63 = "must be no more than 63 characters"
LONG_253 = "must be no more than 253 characters"
BYTES_63 = "must be no more than 63 bytes"


@pytest.mark.parametrize(
    ("check", "valid"),
    [
        (dns.subdomain, ["a", "a.b", "1a", "my.dep", "x" * 253]),
        (dns.label, ["a", "1a", "x" * 63]),
        (dns.dns_1035_label, ["a", "a-1", "x" * 63]),
        (dns.label_value, ["", "a", "A", "a..b", "a_b", "x" * 63]),
        (dns.qualified_name, ["a", "A", "a_b", "a..b", "a/b", "example.com/My.Name"]),
    ],
)
def test_valid_names_have_no_reasons(check: Callable[[str], list[str]], valid: list[str]) -> None:
    assert {name: check(name) for name in valid} == {name: [] for name in valid}


@pytest.mark.parametrize(
    ("check", "name", "reasons"),
    [
        *((dns.subdomain, name, [SUBDOMAIN]) for name in ("", "A", "a..b", "-a", "a-", "a_b", "a.", "é", "a\n", "a/b")),
        (dns.subdomain, "x" * 254, [LONG_253]),
        (dns.subdomain, "X" * 254, [LONG_253, SUBDOMAIN]),
        *((dns.label, name, [LABEL]) for name in ("", "A", "a..b", "-a", "a-", "a_b", "a.", "a\n")),
        (dns.label, "a.b", ["must not contain dots"]),
        (dns.label, "x" * 64, [LONG_63]),
        (dns.label, "é" * 40, [LONG_63, LABEL]),  # 80 bytes
        (dns.label, "a" * 62 + ".b", [LONG_63, "must not contain dots"]),
        *((dns.dns_1035_label, name, [DNS_1035]) for name in ("", "A", "a.b", "1a", "-a", "a-")),
        (dns.dns_1035_label, "X" * 64, [LONG_63, DNS_1035]),
        *((dns.label_value, name, [VALUE]) for name in ("-a", "a-", "a.", "é", "a\n", "a/b")),
        (dns.label_value, "x" * 64, [BYTES_63]),
        (dns.label_value, "é" * 40, [BYTES_63, VALUE]),
        (dns.qualified_name, "", ["name part must be non-empty", f"name part {NAME}"]),
        (dns.qualified_name, "a/", ["name part must be non-empty", f"name part {NAME}"]),
        (dns.qualified_name, "/b", ["prefix part must be non-empty"]),
        (dns.qualified_name, "A/b", [f"prefix part {SUBDOMAIN}"]),
        (dns.qualified_name, "a/b/c", [KEY]),
        (dns.qualified_name, "x/-", [f"name part {NAME}"]),
        (dns.qualified_name, "x/" + "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            dns.qualified_name,
            "a." * 130 + "/x",
            ["prefix part must be no more than 253 bytes", f"prefix part {SUBDOMAIN}"],
        ),
    ],
)
def test_reasons_are_those_of_kubernetes(check: Callable[[str], list[str]], name: str, reasons: list[str]) -> None:
    assert check(name) == reasons


@pytest.mark.parametrize("name", ["a-" * 500_000, "a." * 500_000, "a" * 1_000_000 + "!"])
def test_hostile_names_are_judged_at_once(name: str) -> None:
    """A pattern that tried every way to split them would not come back."""
    checks = (dns.subdomain, dns.label, dns.dns_1035_label, dns.label_value, dns.qualified_name)
    assert all(check(name) for check in checks)
