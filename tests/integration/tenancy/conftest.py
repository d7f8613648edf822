"""Operators and tenants for deployments that run under accounts, on the control plane of the worker."""

from tests.integration.operator.conftest import (
    controllers,
    operators,
    proxy,
    pytest_runtest_makereport,
    tenant,
)

__all__ = ["controllers", "operators", "proxy", "pytest_runtest_makereport", "tenant"]
