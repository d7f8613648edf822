"""The signer for webhooks that a bundle brings: their serving certificates, and the CA in everything that calls them.

`wanted_certificates` says what a content asks for, `ServingSecrets` watches the Secrets of all deployments, and
`ServingCertificates` keeps both as they should be.
"""

from rukpak_py.apply.serving_certificates.keeper import ServingCertificates
from rukpak_py.apply.serving_certificates.passes import CertificateMemory, CertificateResult
from rukpak_py.apply.serving_certificates.steps import CertificateSettings
from rukpak_py.apply.serving_certificates.wanted import WantedCertificates, wanted_certificates
from rukpak_py.apply.serving_certificates.watching import ServingSecrets

__all__ = [
    "CertificateMemory",
    "CertificateResult",
    "CertificateSettings",
    "ServingCertificates",
    "ServingSecrets",
    "WantedCertificates",
    "wanted_certificates",
]
