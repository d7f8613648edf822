"""Measurements as lines for people, each with the bar that it is held to."""

import statistics
from collections.abc import Mapping

from bench.operator_metrics import Requests
from bench.sides import Measurement, OperatorMeasurement

MIB = 1024 * 1024
KUBECTL_BAR = 1.8
CPU_BAR = 3.0
PSS_BAR_MIB = 150
REST_BAR = 0.01  # of a core


def print_ratios(medians: Mapping[str, Measurement], count: int) -> None:
    print(f"{'':12}{'seconds':>9}{'CPU ms each':>13}{'API server ms each':>20}")
    for side, one in medians.items():
        each, served = one.cpu / count * 1000, one.apiserver_cpu / count * 1000
        print(f"{side:12}{one.seconds:>9.2f}{each:>13.2f}{served:>20.2f}")
    ours, kubectl, bare = (medians.get(side) for side in ("operator", "kubectl", "bare"))
    acting = medians.get("as account")
    if ours and acting:
        _bar("time, as account : operator", f"{acting.seconds / ours.seconds:.2f}")
        _bar("CPU, as account : operator", f"{acting.cpu / ours.cpu:.2f}")
        _bar("API server CPU, as account", f"{acting.apiserver_cpu / ours.apiserver_cpu:.2f}")
    if ours and kubectl:
        _bar("time, operator : kubectl", f"{ours.seconds / kubectl.seconds:.2f}", f"<= {KUBECTL_BAR}")
    if ours and bare:
        _bar("time, operator : bare client", f"{ours.seconds / bare.seconds:.2f}")
        _bar("CPU, operator : bare client", f"{ours.cpu / bare.cpu:.2f}", f"<= {CPU_BAR:.0f}")


def print_operator(one: OperatorMeasurement, count: int) -> None:
    print_requests(one.requests, count)
    looks = ", ".join(f"{kind} {number / count:.2f}" for kind, number in sorted(one.reconciles.items()))
    _bar("reconciles per deployment", looks)
    _bar("dropped Events", str(one.dropped_events or 0), "0")
    _bar("peak PSS", f"{one.peak_pss / MIB:.0f} MiB", f"<= {PSS_BAR_MIB}")
    _bar("event loop lag, p99", f"<= {one.loop_lag} s")
    if one.at_rest.seconds:
        share = one.at_rest.cpu / one.at_rest.seconds
        _bar(f"CPU in {one.at_rest.seconds:.0f} s at rest", f"{share:.2%} of a core", f"< {REST_BAR:.0%}")
        sent = ", ".join(f"{number} {verb} {what}" for (verb, what), number in sorted(one.at_rest.requests.items()))
        _bar("requests at rest", sent or "none", "lease, watches, LIST of our kinds")
    if len(one.drift) > 1:
        _bar(f"drift p95 of {len(one.drift)}", f"{p95(one.drift):.3f} s (median {statistics.median(one.drift):.3f} s)")


def print_requests(requests: Requests, count: int) -> None:
    """Print requests by kind, per deployment; those sent once for all deployments show as they are."""
    each = sum(requests.values()) / count
    print(f"requests: {sum(requests.values())}, {each:.2f} per deployment")
    for (verb, what), number in sorted(requests.items()):
        print(f"  {verb:9}{what:28}{number:>8}{number / count:>9.2f}")


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _bar(what: str, figure: str, bar: str = "") -> None:
    print(f"{what:32}{figure}{f'   (bar: {bar})' if bar else ''}")
