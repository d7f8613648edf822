"""`rukpakctl reconcile` and `rukpakctl refresh`."""

from functools import partial

import click

from rukpak_py.cli.durations import timeout_option
from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, clean, epilog, print_error, print_warning

_EPILOG = epilog(
    no="with --wait, it is not ready then", failed="there is no such BundleDeployment, or the cluster refused"
)


@click.command(epilog=_EPILOG)
@deployment_argument()
@click.option("--wait", "waits", is_flag=True, help="Wait until it is done and nothing is under way.")
@timeout_option("With --wait: how long")
def reconcile(*, name: str, waits: bool, seconds: float) -> int:
    """Reconcile a BundleDeployment now: apply its objects again, and try again what has failed.

    Sets the annotation core.rukpak.io/reconcile-at. Nothing is fetched again: rukpakctl refresh does that.

    This needs get and patch on bundledeployments, or on bundleinstances; --wait needs list and watch, too.
    """
    from rukpak_py.cli.cluster.requesting import Request  # noqa: PLC0415 - other commands must not pay for it

    return _request(name, Request.RECONCILE, "reconcile requested", seconds=seconds if waits else None)


@click.command(epilog=_EPILOG)
@deployment_argument()
@click.option("--wait", "waits", is_flag=True, help="Wait until it is done and nothing is under way.")
@timeout_option("With --wait: how long")
def refresh(*, name: str, waits: bool, seconds: float) -> int:
    """Fetch the content of a BundleDeployment anew: what a tag, a branch or a URL has now.

    Sets the annotation core.rukpak.io/refresh-at. The operator makes another Bundle of the same template; other
    content is an upgrade, with all its checks, approvals and windows. A digest or a commit never moves: there a
    refresh fetches the same content again. Uploaded content has no source: use rukpakctl run.

    This needs get and patch on bundledeployments, or on bundleinstances; --wait needs list and watch, too.
    """
    from rukpak_py.cli.cluster.requesting import Request  # noqa: PLC0415 - other commands must not pay for it

    return _request(name, Request.REFRESH, "refresh requested", seconds=seconds if waits else None)


def _request(name: str, what: str, done: str, *, seconds: float | None) -> int:
    """`seconds`: how long to wait; None: not at all."""
    from rukpak_py.cli.cluster import requesting  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same
    from rukpak_py.cli.cluster.waiting import WaitError  # noqa: PLC0415 - the same

    asked = requesting.Request(what)
    found, value = with_client(partial(requesting.request, name=name, what=asked))
    if asked is requesting.Request.REFRESH and (why := requesting.never_moves(found)):
        print_warning(f"{found.title}: {why}")
    click.echo(clean(f"{found.reference} {done}"))
    if seconds is None:
        return Exit.OK
    tell = partial(_echo, name)
    wait = partial(requesting.wait_until_handled, name=name, what=asked, value=value, seconds=seconds, tell=tell)
    try:
        tell(with_client(wait))
    except WaitError as error:
        print_error(str(error))
        return Exit.NO
    return Exit.OK


def _echo(name: str, text: str) -> None:
    click.echo(clean(f"{name}  {text}"))
