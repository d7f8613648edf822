"""Mistakes in workloads, their disruption budgets and their autoscalers."""

from random import Random

from bench.mutations.changes import Document, add, both, cases, drop, put, put_all, rename

_RESOURCE = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}},
}
_ROLLING = {"maxUnavailable": 1}


def _lose_label(workload: Document, _: Random) -> bool:
    """The template loses its labels, as if only the selector had been renamed."""
    labels = workload["spec"].get("template", {}).get("metadata", {}).get("labels")
    if not labels or workload["kind"] == "Job":
        return False
    labels.clear()
    labels["app"] = "another"
    return True


CASES = (
    *cases(
        "wrong type",
        "workload",
        {
            "replicas string": put("spec.replicas", "3", "one", 1.5, [1]),
            "matchLabels list": put("spec.selector.matchLabels", ["app"], [{"app": "a"}]),
            "matchLabels number": put("spec.selector.matchLabels.version", 1, True, 1.5),
            "label number": put("spec.template.metadata.labels.version", 1, 1.5, True),
            "label null": put("spec.template.metadata.labels.tier", {"a": "b"}, ["a"]),
            "annotation boolean": put("spec.template.metadata.annotations.scrape", True, 9090),
            "template list": put("spec.template", [{"spec": {}}]),
            "revisionHistoryLimit string": put("spec.revisionHistoryLimit", "3"),
            "matchExpressions mapping": put("spec.selector.matchExpressions", {"key": "a", "operator": "Exists"}),
        },
    ),
    *cases(
        "wrong type",
        "Deployment",
        {
            "strategy string": put("spec.strategy", "Recreate", "RollingUpdate"),
            "maxSurge list": put("spec.strategy.rollingUpdate.maxSurge", [1], {"a": 1}, True),
            "minReadySeconds string": put("spec.minReadySeconds", "5", "5s"),
            "paused string": put("spec.paused", "false"),
        },
    ),
    *cases(
        "enumeration",
        "Deployment",
        {"strategy": put("spec.strategy", {"type": "rollingUpdate"}, {"type": "Rolling"}, {"type": "OnDelete"})},
    ),
    *cases(
        "enumeration",
        "StatefulSet",
        {
            "update strategy": put("spec.updateStrategy", {"type": "Recreate"}, {"type": "onDelete"}),
            "podManagementPolicy": put("spec.podManagementPolicy", "parallel", "Ordered"),
            "retention": put("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "retain", "Keep"),
        },
    ),
    *cases(
        "enumeration",
        "DaemonSet",
        {"update strategy": put("spec.updateStrategy", {"type": "Recreate"}, {"type": "rollingUpdate"})},
    ),
    *cases(
        "enumeration",
        "Job",
        {
            "completionMode": put("spec.completionMode", "indexed"),
            "restartPolicy": put("spec.template.spec.restartPolicy", "Always", "Allways"),
            "podReplacementPolicy": put("spec.podReplacementPolicy", "failed"),
        },
    ),
    *cases(
        "enumeration",
        "CronJob",
        {
            "concurrencyPolicy": put("spec.concurrencyPolicy", "forbid", "Never"),
            "restartPolicy": put("spec.jobTemplate.spec.template.spec.restartPolicy", "Always"),
        },
    ),
    *cases(
        "enumeration",
        "PodDisruptionBudget",
        {"eviction policy": put("spec.unhealthyPodEvictionPolicy", "Always", "alwaysAllow")},
    ),
    *cases(
        "enumeration",
        "HorizontalPodAutoscaler",
        {
            "metric type": put("spec.metrics", [{**_RESOURCE, "type": "resource"}], [{**_RESOURCE, "type": "CPU"}]),
            "target type": put(
                "spec.metrics",
                [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "utilization"}}}],
            ),
            "select policy": put("spec.behavior.scaleDown.selectPolicy", "max", "Lowest"),
        },
    ),
    *cases(
        "selectors",
        "workload",
        {
            "labels differ": _lose_label,
            "matchLabels empty": put("spec.selector", {}, {"matchLabels": {}}),
            "another matchLabels": put("spec.selector.matchLabels.component", "another"),
            "template without metadata": drop("spec.template.metadata"),
            "template without labels": drop("spec.template.metadata.labels"),
            "selector missing": drop("spec.selector"),
            "flat selector": put("spec.selector", {"app": "a"}),
            "operator": add("spec.selector.matchExpressions", {"key": "a", "operator": "in", "values": ["b"]}),
            "In without values": add("spec.selector.matchExpressions", {"key": "a", "operator": "In"}),
            "Exists with values": add(
                "spec.selector.matchExpressions", {"key": "a", "operator": "Exists", "values": ["b"]}
            ),
            "value with space": put("spec.selector.matchLabels.component", "a b", "x" * 64, "-a"),
        },
    ),
    *cases(
        "required",
        "workload",
        {
            "template": drop("spec.template"),
            "spec of template": drop("spec.template.spec"),
            "template empty": put("spec.template", {}),
            "template misspelt": rename("spec.template", "templates"),
        },
    ),
    *cases(
        "required",
        "CronJob",
        {"schedule": drop("spec.schedule"), "jobTemplate": drop("spec.jobTemplate"), "spec": put("spec", {})},
    ),
    *cases("required", "StatefulSet", {"spec": drop("spec")}),
    *cases("required", "Deployment", {"spec": drop("spec")}),
    *cases("required", "Job", {"spec": drop("spec")}),
    *cases(
        "required",
        "HorizontalPodAutoscaler",
        {
            "maxReplicas": drop("spec.maxReplicas"),
            "scaleTargetRef": drop("spec.scaleTargetRef"),
            "target kind": drop("spec.scaleTargetRef.kind"),
            "metric source": put("spec.metrics", [{"type": "Resource"}]),
            "target value": put(
                "spec.metrics",
                [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}],
            ),
        },
    ),
    *cases(
        "numbers",
        "workload",
        {
            "replicas negative": put("spec.replicas", -1),
            "revisionHistoryLimit negative": put("spec.revisionHistoryLimit", -1),
            "minReadySeconds negative": put("spec.minReadySeconds", -5),
        },
    ),
    *cases(
        "numbers",
        "Deployment",
        {
            "deadline": put("spec.progressDeadlineSeconds", 0, -1),
            "deadline below ready": put_all({"spec.minReadySeconds": 60, "spec.progressDeadlineSeconds": 30}),
            "replicas large": put("spec.replicas", 2**31, 2**40),
        },
    ),
    *cases(
        "numbers",
        "Job",
        {
            "backoffLimit": put("spec.backoffLimit", -1),
            "parallelism": put("spec.parallelism", -1),
            "completions": put("spec.completions", -1),
            "ttl": put("spec.ttlSecondsAfterFinished", -1),
            "indexed without completions": both(put("spec.completionMode", "Indexed"), put("spec.completions", None)),
        },
    ),
    *cases(
        "numbers",
        "CronJob",
        {
            "history": put("spec.successfulJobsHistoryLimit", -1),
            "deadline": put("spec.startingDeadlineSeconds", -1),
        },
    ),
    *cases(
        "numbers",
        "HorizontalPodAutoscaler",
        {
            "min above max": put_all({"spec.minReplicas": 10, "spec.maxReplicas": 2}),
            "min zero": put("spec.minReplicas", 0, -1),
            "max zero": put("spec.maxReplicas", 0),
            "utilization zero": put(
                "spec.metrics",
                [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}},
                    }
                ],
            ),
            "window": put("spec.behavior.scaleDown.stabilizationWindowSeconds", -1, 5000),
        },
    ),
    *cases(
        "strategies",
        "Deployment",
        {
            "recreate with rolling": put("spec.strategy", {"type": "Recreate", "rollingUpdate": _ROLLING}),
            "both zero": put(
                "spec.strategy", {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}
            ),
            "surge negative": put("spec.strategy", {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": -1}}),
            "percent": put(
                "spec.strategy",
                {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "101%"}},
                {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "half"}},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25"}},
            ),
            "restartPolicy": put("spec.template.spec.restartPolicy", "Never", "OnFailure"),
            "activeDeadlineSeconds": put("spec.template.spec.activeDeadlineSeconds", 600),
        },
    ),
    *cases(
        "strategies",
        "StatefulSet",
        {
            "partition": put("spec.updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}),
            "on delete with rolling": put(
                "spec.updateStrategy", {"type": "OnDelete", "rollingUpdate": {"partition": 1}}
            ),
            "ordinals": put("spec.ordinals.start", -1),
        },
    ),
    *cases(
        "strategies",
        "DaemonSet",
        {
            "zero": put("spec.updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}}),
            "restartPolicy": put("spec.template.spec.restartPolicy", "OnFailure"),
        },
    ),
    *cases(
        "strategies",
        "Job",
        {
            "restartPolicy missing": drop("spec.template.spec.restartPolicy"),
            "manual selector": put("spec.selector", {"matchLabels": {"app": "a"}}),
            "failure policy": put(
                "spec.podFailurePolicy",
                {"rules": [{"action": "Ignored", "onExitCodes": {"operator": "In", "values": [1]}}]},
                {"rules": [{"action": "FailJob"}]},
                {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": []}}]},
            ),
        },
    ),
    *cases(
        "cron",
        "CronJob",
        {
            "minute": put("spec.schedule", "60 * * * *", "-5 * * * *"),
            "hour": put("spec.schedule", "0 24 * * *"),
            "four fields": put("spec.schedule", "0 0 * *", "* * *"),
            "six fields": put("spec.schedule", "0 0 0 * * *"),
            "words": put("spec.schedule", "daily", "@dayly", "every 5m", ""),
            "step": put("spec.schedule", "*/0 * * * *", "*/x * * * *"),
            "time zone": put("spec.timeZone", "Europe/Berlim", "CEST+2", ""),
            "time zone in the schedule": put("spec.schedule", "TZ=UTC 0 0 * * *"),
            "number": put("spec.schedule", 5),
        },
    ),
    *cases(
        "disruption budgets",
        "PodDisruptionBudget",
        {
            "both": put_all({"spec.minAvailable": 1, "spec.maxUnavailable": 1}),
            "negative": put("spec.minAvailable", -1),
            "percent": put("spec.minAvailable", "150%", "half", "1"),
            "selector operator": put(
                "spec.selector", {"matchExpressions": [{"key": "a", "operator": "Equals", "values": ["b"]}]}
            ),
            "flat selector value": put("spec.selector", {"matchLabels": {"app": "a b"}}),
            "minAvailable boolean": put("spec.minAvailable", True),
            "selector string": put("spec.selector", "app=a"),
        },
    ),
    *cases(
        "claims",
        "StatefulSet",
        {
            "template without access": add(
                "spec.volumeClaimTemplates",
                {"metadata": {"name": "more"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}},
            ),
            "template without size": add(
                "spec.volumeClaimTemplates", {"metadata": {"name": "more"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
            ),
            "template name": put("spec.volumeClaimTemplates[].metadata.name", "Data_1", "other"),
        },
    ),
)
