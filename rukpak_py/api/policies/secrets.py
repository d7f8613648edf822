"""The policy of Secrets of the system namespace that sources name: a user who names one must be allowed to get it.

A source has one member, and a member names one Secret, so one check is enough. It is asked whenever the spec differs in
the source or in the account: the content of another Secret would else be sent to a server of the user's choice.
"""

from rukpak_py.api.policies.document import NOT_THE_OPERATOR, Document, Expression, Token, Validation, policy

NAME = "rukpak-secrets"


def _source(spec: str) -> str:
    return f"has({spec}.template) ? {spec}.template.spec.source : {spec}.source"


def _name(spec: str) -> str:
    return f"({spec}.?serviceAccountName.orValue('') != '' ? {spec}.serviceAccountName : '{Token.DEFAULT_ACCOUNT}')"


def _account(spec: str) -> str:
    """Effective account, empty without one."""
    return f"({_name(spec)} == '' ? '' : {spec}.?installNamespace.orValue('') + '/' + {_name(spec)})"


_NAMES = ", ".join(
    f"variables.source.?{path}.orValue('')"
    for path in ("image.?pullSecret", "git.?auth.?secret.?name", "http.?auth.?secret.?name")
)
_VARIABLES = (
    Expression("source", _source("object.spec")),
    Expression("secrets", f"[{_NAMES}].filter(name, name != '')"),
    Expression(
        "isOld",
        f"request.operation == 'UPDATE' && variables.source == ({_source('oldObject.spec')}) && "
        f"{_account('object.spec')} == {_account('oldObject.spec')}",
    ),
)
_NEEDS = f"of namespace {Token.SYSTEM_NAMESPACE}, which needs the verb get on that Secret"


def secrets() -> Document:
    return policy(
        NAME,
        resources=("bundles", "bundledeployments", "bundleinstances"),
        operations=("CREATE", "UPDATE"),
        conditions=(
            NOT_THE_OPERATOR,
            Expression("spec-is-new", "request.operation == 'CREATE' || object.spec != oldObject.spec"),
        ),
        variables=_VARIABLES,
        validations=(
            Validation(
                "variables.isOld || variables.secrets.size() == 0 || (variables.secrets.size() == 1 && "
                f"authorizer.group('').resource('secrets').namespace('{Token.SYSTEM_NAMESPACE}')"
                ".name(variables.secrets[0]).check('get').allowed())",
                f"its source names a Secret {_NEEDS}",
                f"'its source names Secret ' + variables.secrets.join(', ') + ' {_NEEDS}'",
            ),
        ),
    )
