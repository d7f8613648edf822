"""Details of facts about the admission policies of identities. Ready alone tells them, so a line has to hold it all."""

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.controllers.result.progress import Detail, Objects, Words

SETTLING = Words(
    words="the admission policies that guard identities have just come into force: waiting a few seconds, until every "
    "API server has taken them up"
)
_CHANGED_MEANWHILE = (
    "created or changed while the admission policies that guard identities were not known to be in force: "
    "nothing is done for it until a user who may impersonate its account writes it again, for instance with "
)
NOT_JUDGED = Words(
    words=f"{_CHANGED_MEANWHILE}kubectl annotate --overwrite and a new value of {RECONCILE_AT_ANNOTATION}"
)
MIRROR_NOT_JUDGED = Words(
    words=f"{_CHANGED_MEANWHILE}kubectl label --overwrite and a new value of a label that is not of rukpak; what the "
    "operator copies from the BundleInstance does not count"
)


class PoliciesMissing(Detail, frozen=True, kw_only=True):
    """`problems`: what is wrong with which policy or binding."""

    problems: tuple[str, ...]

    def text(self, _: Objects, /) -> str:
        more = f", and {len(self.problems) - 1} more" if len(self.problems) > 1 else ""
        return (
            f"no service account is impersonated, because the policies are not in force: {self.problems[0]}{more}. Run "
            "helm upgrade or kubectl apply with the release of this operator (kubectl replace, where others added "
            "entries)"
        )
