"""The check of a TLS server that a source connects to: by the system's authorities and those of the source.

A private authority is trusted the way Go trusts one, so that a bundle which works elsewhere works here: any certificate
of `caBundle` may end a chain, an intermediate or the server's own too, and extensions that RFC 5280 demands of an
authority may be missing.
"""

import re
import ssl
from functools import lru_cache

from rukpak_py.core.errors import ContentError

_CONTEXTS = 64  # reading the system's authorities takes tens of milliseconds
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII)


@lru_cache(maxsize=_CONTEXTS)
def client_context(ca_bundle: str = "", *, insecure_skip_verify: bool = False) -> ssl.SSLContext:
    """Blocks for a moment the first time; ContentError when the bundle (PEM) holds no certificate."""
    check_ca_bundle(ca_bundle)
    context = ssl.create_default_context()
    if insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if ca_bundle:
        # Bundles of systems have comments between their certificates, in any language.
        try:
            context.load_verify_locations(cadata="\n".join(_CERTIFICATE.findall(ca_bundle)))
        except (ssl.SSLError, ValueError) as error:
            raise ContentError("caBundle holds no certificate in PEM, or one that cannot be read") from error
    return context


def check_ca_bundle(ca_bundle: str) -> None:
    """Refuse private keys: the bundle is public, as it is in the spec."""
    if _PRIVATE_KEY.search(ca_bundle):
        raise ContentError("caBundle holds a private key: give certificates only, and do not use that key any more")
