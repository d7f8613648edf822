"""The user's configuration, checked in the words of upstream's schema; each text was seen from upstream's own code."""

import pytest

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.render.config import Config, checked_config
from tests.unit.bundles import bundle, csv_document, modes
from tests.unit.rendering import bundle_of

ALL, MULTI, OWN, SINGLE = "AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"
PATTERN = 'field "watchNamespace" must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"'
MISSING = 'required field "watchNamespace" is missing'
UNKNOWN = 'unknown field "watchNamespace"'
NOT_OWN = (
    "invalid format for field \"watchNamespace\": 'other' is not valid ownNamespaceInstallMode: invalid value "
    '"other": must be "ns" (the namespace where the operator is installed) because this operator only supports '
    "OwnNamespace install mode"
)
NOT_OTHER = (
    "invalid format for field \"watchNamespace\": 'ns' is not valid singleNamespaceInstallMode: invalid value "
    '"ns": must be different from "ns" (the install namespace) because this operator uses SingleNamespace install '
    "mode to watch a different namespace"
)
TOO_LONG = "a" * 64


def config(supported: list[str], text: str | None, *, parity: bool = True, namespace: str = "ns") -> Config:
    tree = bundle(csv=csv_document(installModes=modes(*supported)))
    value = {} if text is None else yaml.load(text.encode())
    return checked_config(bundle_of(tree, parity=parity), namespace, value)


def several(*problems: str) -> str:
    return "\n".join(["multiple errors found:", *(f"  - {problem}" for problem in problems)])


@pytest.mark.parametrize(
    ("supported", "text", "problem"),
    [
        # the field is there only where there is a choice
        ([], "{watchNamespace: ns}", UNKNOWN),
        ([ALL], "{watchNamespace: ns}", UNKNOWN),
        ([MULTI], "{watchNamespace: null}", UNKNOWN),
        ([ALL, MULTI], "{watchNamespace: ''}", UNKNOWN),
        ([OWN], None, MISSING),
        ([SINGLE], "{}", MISSING),
        ([OWN, SINGLE], "{watchNamespace: null}", MISSING),
        # its value
        ([OWN], "{watchNamespace: other}", NOT_OWN),
        ([SINGLE], "{watchNamespace: ns}", NOT_OTHER),
        ([SINGLE], "{watchNamespace: A_b}", PATTERN),
        ([OWN, SINGLE], f"{{watchNamespace: {TOO_LONG}}}",
         'field "watchNamespace" must have maximum length of 63 (len=64)'),
        ([OWN, SINGLE], "{watchNamespace: ''}",
         several('field "watchNamespace" must have minimum length of 1 (len=0)', PATTERN)),
        ([OWN, SINGLE], f"{{watchNamespace: {TOO_LONG}_}}",
         several('field "watchNamespace" must have maximum length of 63 (len=65)', PATTERN)),
        ([SINGLE], "{watchNamespace: 5}", 'invalid type for field "watchNamespace": got number, want string'),
        ([SINGLE], "{watchNamespace: true}", 'invalid type for field "watchNamespace": got boolean, want string'),
        ([SINGLE], "{watchNamespace: [a]}", 'invalid type for field "watchNamespace": got array, want string'),
        ([SINGLE], "{watchNamespace: {}}", 'invalid type for field "watchNamespace": got object, want string'),
        # where it may be null too, upstream tells both alternatives
        ([ALL, OWN], "{watchNamespace: other}",
         several('invalid value for field "watchNamespace"',
                 'invalid type for field "watchNamespace": got string, want null', NOT_OWN)),
        ([ALL, SINGLE], "{watchNamespace: ''}",
         several('invalid value for field "watchNamespace"',
                 'invalid type for field "watchNamespace": got string, want null', "validation failed",
                 'field "watchNamespace" must have minimum length of 1 (len=0)', PATTERN)),
        # the rest
        ([ALL], "{b: 1}", 'unknown field "b"'),
        ([OWN], "{b: 1}", several(MISSING, 'unknown field "b"')),
        ([ALL], "true", "invalid type: got boolean, want object"),
        ([ALL], "[]", "invalid type: got array, want object"),
        ([ALL], "x", "invalid type: got string, want object"),
        ([ALL], "", "invalid type: got null, want object"),
        # deployment configuration
        ([ALL], "{deploymentConfig: true}", 'invalid type for field "deploymentConfig": got boolean, want object'),
        ([ALL], "{deploymentConfig: {selector: {}}}", 'unknown field "selector"'),
        ([ALL], "{deploymentConfig: {env: {}}}",
         'invalid type for field "deploymentConfig.env": got object, want array'),
        ([ALL], "{deploymentConfig: {foo: 1, env: 1}}",
         several('invalid type for field "deploymentConfig.env": got number, want array', 'unknown field "foo"')),
    ],
)  # fmt: skip
def test_refused(supported: list[str], text: str | None, problem: str) -> None:
    with pytest.raises(ContentError) as refused:
        config(supported, text)
    assert str(refused.value) == f"invalid ClusterExtension configuration: invalid configuration: {problem}"


def test_people_read_neither_upstreams_kind_nor_its_alternatives() -> None:
    with pytest.raises(ContentError) as refused:
        config([ALL, OWN], "{watchNamespace: other}", parity=False)
    assert str(refused.value) == f"invalid configuration: {NOT_OWN}"


@pytest.mark.parametrize(
    ("supported", "text", "watched"),
    [
        ([ALL], None, None),
        ([], "{}", None),
        ([ALL, OWN], "{watchNamespace: null}", None),
        ([OWN], "{watchNamespace: ns}", "ns"),
        ([SINGLE], "{watchNamespace: other}", "other"),
        ([OWN, SINGLE], "{watchNamespace: other}", "other"),
        ([ALL, SINGLE], '{"watchNamespace": "other"}', "other"),
    ],
)
def test_accepted(supported: list[str], text: str | None, watched: str | None) -> None:
    found = config(supported, text)
    assert found.watch_namespace == watched
    assert found.watch_namespaces == (None if watched is None else (watched,))


@pytest.mark.parametrize(("supported", "watched"), [([OWN], "other"), ([SINGLE], "ns")])
def test_without_an_install_namespace_any_name_will_do(supported: list[str], watched: str) -> None:
    assert config(supported, f"{{watchNamespace: {watched}}}", namespace="").watch_namespace == watched


def test_a_deployment_configuration_comes_with_it() -> None:
    assert config([ALL], "{deploymentConfig: {env: [{name: A}]}}").deployment_config == {"env": [{"name": "A"}]}
    assert config([ALL], "{deploymentConfig: null}").deployment_config is None
