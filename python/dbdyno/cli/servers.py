"""`dbdyno servers`: what can be provisioned here."""

from __future__ import annotations

import click

from dbdyno.cli.options import json_option, print_json
from dbdyno.servers import available


@click.command()
@json_option
def servers(as_json: bool) -> None:
    """List the servers a study can name."""
    found = available()
    if as_json:
        print_json(
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
                    }
                    for server in found
                ],
            }
        )
        return
    width = max(len(server.provision) for server in found)
    for server in found:
        state = "ready" if server.ready else f"to be downloaded: {server.package}"
        click.echo(f"{server.provision:<{width}}  {state}")
    click.echo("\nalso: KIND:VERSION@maven, KIND@path:/folder, url:KIND://…", err=True)
