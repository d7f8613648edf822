"""Install content on Kubernetes, keep it there, upgrade and remove it, safely."""

__version__ = "0.1.0"
