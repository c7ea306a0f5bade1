"""Names and addresses of hosts."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own, which no other machine reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
