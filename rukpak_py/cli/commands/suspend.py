"""`rukpakctl suspend` and `rukpakctl resume`."""

from functools import partial

import click

from rukpak_py.cli.object_names import deployment_argument
from rukpak_py.cli.terminal import Exit, clean, epilog, print_warning

_EPILOG = epilog(failed="there is no such BundleDeployment, or the cluster refused")


@click.command(epilog=_EPILOG)
@deployment_argument("names", nargs=-1, required=True, metavar="NAME...")
def suspend(*, names: tuple[str, ...]) -> int:
    """Suspend BundleDeployments: nothing is applied, corrected or pruned until they are resumed.

    Sets spec.suspend, of the BundleInstance where one owns the BundleDeployment. Deletion still works.

    This needs get and patch on bundledeployments, or on bundleinstances.
    """
    return _set(names, suspended=True)


@click.command(epilog=_EPILOG)
@deployment_argument("names", nargs=-1, required=True, metavar="NAME...")
def resume(*, names: tuple[str, ...]) -> int:
    """Resume BundleDeployments that are suspended: drift is corrected, and upgrades go on.

    Removes spec.suspend, of the BundleInstance where one owns the BundleDeployment.

    This needs get and patch on bundledeployments, or on bundleinstances.
    """
    return _set(names, suspended=False)


def _set(names: tuple[str, ...], *, suspended: bool) -> int:
    from rukpak_py.cli.cluster import requesting  # noqa: PLC0415 - other commands must not pay for it
    from rukpak_py.cli.cluster.session import with_client  # noqa: PLC0415 - the same

    done = "suspended" if suspended else "resumed"
    for name in dict.fromkeys(names):
        found = with_client(partial(requesting.suspend, name=name, suspended=suspended))
        for one in found.others:
            print_warning(f"{found.edited.title}: {one}, and may set spec.suspend again")
        text = done if found.is_changed else ("is suspended already" if suspended else "is not suspended")
        click.echo(clean(f"{found.edited.reference} {text}"))
    return Exit.OK
