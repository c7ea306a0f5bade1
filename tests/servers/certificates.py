"""A certificate authority of our own, made for one test: for servers and clients over TLS."""

import datetime
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_KEY_BITS = 2048


@dataclass(frozen=True, slots=True)
class Certificates:
    """Certificates and keys as PEM files."""

    ca: Path
    certificate: Path
    """The server's: it names 127.0.0.1 and localhost."""
    key: Path
    client_certificate: Path
    client_key: Path
    other_ca: Path
    """An authority that signed none of these."""

    def settings(self) -> Mapping[str, str]:
        """What makes a MySQL or MariaDB server offer TLS with them."""
        return {
            "ssl_ca": str(self.ca),
            "ssl_cert": str(self.certificate),
            "ssl_key": str(self.key),
        }


def make_certificates(folder: Path) -> Certificates:
    """Writes a set of files that everybody may read: servers run as another user, who must be able
    to enter the folders above."""
    folder.chmod(0o755)
    authority, authority_key = _issue("dbdyno test authority", None)
    server, server_key = _issue("127.0.0.1", (authority, authority_key))
    client, client_key = _issue("dbdyno", (authority, authority_key))
    other, _ = _issue("another authority", None)
    return Certificates(
        ca=_write(folder / "ca.pem", authority),
        certificate=_write(folder / "server.pem", server),
        key=_write(folder / "server-key.pem", server_key),
        client_certificate=_write(folder / "client.pem", client),
        client_key=_write(folder / "client-key.pem", client_key),
        other_ca=_write(folder / "other-ca.pem", other),
    )


def _issue(
    name: str, issuer: tuple[x509.Certificate, rsa.RSAPrivateKey] | None
) -> tuple[x509.Certificate, rsa.RSAPrivateKey]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        names = [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def _write(path: Path, content: x509.Certificate | rsa.RSAPrivateKey) -> Path:
    if isinstance(content, x509.Certificate):
        data = content.public_bytes(serialization.Encoding.PEM)
    else:
        data = content.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    path.write_bytes(data)
    path.chmod(0o644)
    return path
