"""Permissions that a deployment needs: who may ask, what is reported, and why there is no report."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from rukpak_py.api.accounts import Account, Mode
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.permissions.installer import Needs
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.preflight.permissions import MissingPermissions
from rukpak_py.controllers.deployment.external_values import NO_VALUES, FoundValues, ValuesMissingError
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.permission_report import PermissionReport, PermissionReports
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.report_errors import NOT_YET
from rukpak_py.controllers.deployment.secret_mask import SecretMask
from rukpak_py.controllers.judging import NO_VERDICT, UNDECIDED, Verdict
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.policy_details import PoliciesMissing
from rukpak_py.controllers.result.progress import Fact, Progress, Words
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.helm.request import ValuesDocument
from tests.unit.controllers.fakes import FakeClient
from tests.unit.controllers.values import bundle, deployment, failing, unpacked

SHOP = Account("shop", "installer")
OWN = Account("rukpak-system", "core-admin")
READ, WRITE = (Permission("shop", verb, "", "configmaps") for verb in ("get", "create"))
NAMESPACE = ObjectKey("", "Namespace", "", "brought")


def failed(cause: Cause, text: str = "why") -> Progress:
    return Progress(facts=(Fact(cause=cause, detail=Words(words=text)),))


@dataclass
class Fakes:
    """Parts around the report. `renderings`: of the wanted content, and of the installed one."""

    one: BundleDeployment
    wanted: Bundle | None = field(default_factory=unpacked)
    active: Bundle | None = None
    values: FoundValues = NO_VALUES
    verdict: Verdict = NO_VERDICT
    mode: Mode = Mode.CLASSIC
    renderings: dict[str, Any] = field(default_factory=dict)
    needs: dict[str, Sequence[Permission]] = field(default_factory=dict)
    lacking: Sequence[Permission] = ()
    mask: SecretMask = field(default_factory=SecretMask)
    asked: list[Account] = field(default_factory=list)
    is_known: bool = True

    async def report(self, *, may: bool = True) -> PermissionReport | None:
        async def may_impersonate(account: Account) -> bool:
            self.asked.append(account)
            return may

        state = SimpleNamespace(
            verdict=self.verdict,
            mask=self.mask,
            template_hash=lambda _: "hash",
            values=SimpleNamespace(objects=()),
            lookups=(),
        )
        found = {self.one.metadata.name: self.one} if self.is_known else {}
        reports = PermissionReports(
            Identities(FakeClient().as_client(), system_namespace="rukpak-system", mode=self.mode),
            FakeClient().as_client(),
            deployments=found,  # type: ignore[arg-type]  # all that is asked
            states=SimpleNamespace(of=lambda _: state),  # type: ignore[arg-type]  # all that is asked
            templates=SimpleNamespace(find=lambda *_: self.wanted, active=lambda _: self.active),  # type: ignore[arg-type]  # all that is asked
            values=SimpleNamespace(of=self._values),  # type: ignore[arg-type]  # all that is asked
            attempts=SimpleNamespace(wanted=self._wanted, active=self._active),  # type: ignore[arg-type]  # all that is asked
            rendering=SimpleNamespace(rendered=self._rendered),  # type: ignore[arg-type]  # all that is asked
            review=SimpleNamespace(needs=self._needs, missing=self._missing),  # type: ignore[arg-type]  # all that is asked
        )
        return await reports.of(self.one.metadata.name, may_impersonate)

    async def _missing(self, attempt: Any, *_: object) -> MissingPermissions | None:
        if not self.lacking:
            return None
        return MissingPermissions(account=attempt.account, deployment="shop", missing=frozenset(self.lacking), new=None)

    def _needs(self, attempt: Any, _: object) -> Needs:
        return Needs(permissions=frozenset(self.needs.get(attempt.content, (READ,))))

    def _attempt(self, content: str) -> Any:
        account = SHOP if self.one.spec.service_account_name else None
        return SimpleNamespace(content=content, account=account, is_wanted=content == "wanted")

    def _wanted(self, *_: object) -> Any:
        return self._attempt("wanted")

    def _active(self, *_: object) -> Any:
        return self._attempt("active")

    async def _values(self, *_: object) -> FoundValues:
        return self.values

    async def _rendered(self, attempt: Any) -> Any:
        return self.renderings.get(attempt.content, rendered())


def rendered(*keys: ObjectKey) -> Any:
    found = object.__new__(Rendered)
    object.__setattr__(found, "desired", tuple(SimpleNamespace(key=key) for key in keys))
    return found


def with_account(**rest: Any) -> BundleDeployment:
    return deployment(install_namespace="shop", service_account_name="installer", **rest)


async def reported(**given: Any) -> PermissionReport:
    report = await fakes(**given).report()
    assert report is not None
    return report


def fakes(**given: Any) -> Fakes:
    return Fakes(one=given.pop("one", None) or with_account(), **given)


async def test_unknown_deployment_has_no_report() -> None:
    found = fakes(is_known=False)
    assert await found.report() is None
    assert found.asked == []


@pytest.mark.parametrize(
    ("one", "account"), [(with_account(), SHOP), (deployment(), OWN)], ids=["an account", "the operator's"]
)
async def test_user_who_may_not_impersonate_the_account_learns_nothing(one: BundleDeployment, account: Account) -> None:
    found = fakes(one=one, renderings={"wanted": failed(Cause.RENDERING_CONTENT, "secret of the content")})
    with pytest.raises(AccessError) as refused:
        await found.report(may=False)
    assert found.asked == [account]
    assert str(refused.value) == f"the report needs the verb impersonate on service account {account}"


async def test_report_has_needs_of_wanted_and_installed_content_and_what_is_missing() -> None:
    report = await reported(
        active=unpacked("old"),
        needs={"wanted": (READ,), "active": (WRITE,)},
        lacking=(WRITE,),
        renderings={"wanted": rendered(NAMESPACE)},
    )
    assert report.account == SHOP
    assert report.namespaces == ["brought"]
    (rule,) = report.rules["shop"]
    assert rule["verbs"] == ["get", "create"]
    (missing,) = report.missing["shop"]
    assert missing["verbs"] == ["create"]


async def test_report_of_a_deployment_without_an_account_names_none_and_misses_nothing() -> None:
    report = await reported(one=deployment(), lacking=(WRITE,))
    assert (report.account, report.missing) == (None, {})


async def test_installed_content_is_reported_while_the_wanted_one_is_not_there() -> None:
    report = await reported(wanted=bundle(), active=unpacked("old"), needs={"active": (WRITE,)})
    (rule,) = report.rules["shop"]
    assert rule["verbs"] == ["create"]


STALLED = failing(bundle(), "invalid bundle: no manifests", ContentError("invalid bundle: no manifests"))
RETRYING = failing(bundle(), "registry is down", UnavailableError("registry is down"))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"one": deployment(), "mode": Mode.NARROW}, ConflictError, "set spec.serviceAccountName"),
        (
            {"verdict": Verdict(fact=Fact(cause=Cause.POLICY_MISSING, detail=PoliciesMissing(problems=("gone",))))},
            ConflictError,
            "policies are not in force: gone",
        ),
        ({"verdict": UNDECIDED}, UnavailableError, NOT_YET),
        ({"wanted": None}, UnavailableError, NOT_YET),
        ({"wanted": bundle()}, UnavailableError, NOT_YET),
        ({"wanted": STALLED}, ContentError, "no manifests"),
        ({"wanted": RETRYING}, UnavailableError, "registry is down"),
        ({"values": FoundValues(error=ContentError("invalid YAML"))}, ContentError, "invalid YAML"),
        ({"values": FoundValues(error=ValuesMissingError("Secret shop/a"))}, ConflictError, "Secret shop/a"),
        ({"values": FoundValues(error=AccessError("cannot get"))}, ConflictError, "cannot get"),
        ({"values": FoundValues(error=UnavailableError("no answer"))}, UnavailableError, "no answer"),
        ({"renderings": {"wanted": failed(Cause.RENDERING_CONTENT)}}, ContentError, "why"),
        ({"renderings": {"wanted": failed(Cause.RENDERING_DENIED)}}, ConflictError, "why"),
        ({"renderings": {"wanted": failed(Cause.RENDERING_LOST)}}, ConflictError, "why"),
        ({"renderings": {"wanted": failed(Cause.RENDERING_UNAVAILABLE)}}, UnavailableError, "why"),
        ({"renderings": {"wanted": failed(Cause.RENDERING)}}, UnavailableError, "why"),
        ({"renderings": {"wanted": failed(Cause.REFETCHING)}}, UnavailableError, "why"),
        (
            {"active": unpacked("old"), "renderings": {"active": failed(Cause.RENDERING_LOST)}},
            ConflictError,
            "why",
        ),
    ],
)
async def test_reason_why_there_is_no_report_is_the_class_of_the_error(
    given: dict[str, Any], error: type[RukPakError], words: str
) -> None:
    with pytest.raises(RukPakError) as refused:
        await fakes(**given).report()
    assert isinstance(refused.value, error)
    assert words in str(refused.value)


async def test_text_of_a_failure_shows_no_value_of_a_secret() -> None:
    one, mask = with_account(), SecretMask()
    document = ValuesDocument(document={"password": "correct-horse"}, origin="Secret shop/a", is_secret=True)
    mask.learn(one, [document])
    failure = failed(Cause.RENDERING_CONTENT, 'template: invalid name "correct-horse"')
    with pytest.raises(ContentError) as refused:
        await fakes(one=one, mask=mask, renderings={"wanted": failure}).report()
    assert "correct-horse" not in str(refused.value)
    assert "template: invalid name" in str(refused.value)
