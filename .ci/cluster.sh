# Sourced by .ci/run, .ci/test, .ci/e2e and the Makefile: a cluster for the command, taken down afterwards unless it was there before.
# RUKPAK_CLUSTER_STATE names its state directory (default .cluster); .ci/run holds one for its steps (RUKPAK_CLUSTER_HELD).
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes start from here, each of which would compile all it imports
state=${RUKPAK_CLUSTER_STATE:-$PWD/.cluster}
# The sockets of a node lie below it, and the kernel has a limit on their paths.
if [ ${#state} -gt 60 ]; then
    state=${TMPDIR:-/tmp}/rukpak-$(printf %s "$state" | cksum | cut -d' ' -f1)
    echo "the state of the cluster lies in $state: the path of this folder is too long for it"
fi

is_root_on_linux() { [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ]; }

# Without the lock: the programs of a cluster that was left behind would hold it for ever.
cluster() { .venv/bin/python -m e2e.cluster "$@" --state "$state" 9>&-; }

# The command that brings the cluster up takes it down: another one that uses it meanwhile would lose it.
use_cluster() {
    if [ "${RUKPAK_CLUSTER_HELD:-}" = "$state" ] || ! command -v flock >/dev/null; then return; fi
    exec 9>>"$state.lock"
    if ! flock --nonblock "$1" 9; then
        echo "error: another command uses the cluster in $state and takes it down: wait for it, or set RUKPAK_CLUSTER_STATE" >&2
        exit 1
    fi
}

# For a command whose clusters are its own from the start: it would take this one down.
refuse_existing() {
    if [ -e "$state/cluster.json" ]; then
        echo "error: there is a cluster in $state, take it down first: .venv/bin/python -m e2e.cluster down --state $state" >&2
        exit 1
    fi
}

# up_until_exit [--node]
up_until_exit() {
    if cluster status >/dev/null 2>&1; then
        use_cluster --shared
    else
        use_cluster --exclusive
        trap "trap '' INT TERM HUP; cluster down" EXIT
        trap 'exit 129' HUP
        trap 'exit 130' INT
        trap 'exit 143' TERM
    fi
    cluster up "$@"
}
