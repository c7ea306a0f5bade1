"""`dbdyno servers`: what can be provisioned here."""

from __future__ import annotations

import click

from dbdyno.cli.options import json_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import megabytes
from dbdyno.servers import Available, available


@click.command()
@json_option
def servers(as_json: bool) -> None:
    """List the servers and tools a study can name."""
    found = available()
    if as_json:
        say_json(
            {
                "schema": 1,
                "servers": [
                    {
                        "provision": server.provision,
                        "kind": server.kind,
                        "version": server.version,
                        "source": server.source.value,
                        "package": server.package,
                        "ready": server.ready,
                        "size_bytes": server.size_bytes,
                    }
                    for server in found
                ],
            }
        )
        return
    width = max(len(server.provision) for server in found)
    for server in found:
        say(f"{server.provision:<{width}}  {_state(server)}")
    say(
        "\nalso: KIND:VERSION@maven, KIND@path:/folder, url:KIND://…; "
        "`dbdyno fetch NAME` downloads one in advance",
        err=True,
    )


def _state(server: Available) -> str:
    """Whether it is here, or what downloading it takes."""
    if server.package is None:
        return "ready"
    size = f", {megabytes(server.size_bytes)}" if server.size_bytes else ""
    if server.ready:
        return f"ready, fetched{size}"
    return f"to be downloaded{size and ', about ' + size[2:]}: {server.package}"
