"""PostgreSQL's own shards: a coordinator, to which clients connect, and nodes that hold the rows of
its tables by the hash of their primary key, reached through `postgres_fdw`.

Scripts create their tables as ever: an event trigger of the coordinator makes a partitioned table
of each that has a primary key, with a foreign table for the same table on every node. Indexes and
drops are repeated on the nodes. The coordinator enforces no primary key, as PostgreSQL allows none
over foreign tables; each node does for its own rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dbdyno.errors import ServerError
from dbdyno.model.session import Session
from dbdyno.servers.protocol import (
    DATABASE,
    ROLE,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.topologies.several import COORDINATOR, NODE, Several, ShardsTable
from dbdyno.servers.topologies.topology import Openers, PlannedMember, Topology

_FIRST = 14
"""The first version that appends from foreign tables asynchronously, and inserts in batches."""
_OPTIONS = "async_capable 'true', fetch_size '1000', batch_size '500'"
_SERVER = """
    CREATE SERVER "{name}" FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host '{host}', port '{port}', dbname '{database}', {options})"""
# `spread` replaces a table that was just created by a partitioned table of the same columns; what
# its own statements create and drop must not fire the triggers again (`shards.busy`).
_FUNCTIONS = (
    """
    CREATE FUNCTION shards.everywhere(statement text) RETURNS void LANGUAGE sql AS $$
        SELECT public.dblink_exec(srvname::text, statement) FROM pg_foreign_server ORDER BY srvname
    $$""",
    """
    CREATE FUNCTION shards.spread(made oid, name text, key text) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE own record; node record; columns text;
    BEGIN
        SELECT string_agg(format('%I %s%s', attname, format_type(atttypid, atttypmod),
                                 CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END),
                          ', ' ORDER BY attnum) INTO columns
        FROM pg_attribute WHERE attrelid = made AND attnum > 0 AND NOT attisdropped;
        PERFORM shards.everywhere(
            format('CREATE TABLE public.%I (%s, PRIMARY KEY (%s))', name, columns, key));
        EXECUTE format('CREATE TABLE shards.%I (LIKE public.%I INCLUDING DEFAULTS) '
                       'PARTITION BY HASH (%s)', name, name, key);
        FOR own IN SELECT objid::regclass AS sequence, attname FROM pg_depend
            JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
            WHERE refobjid = made AND deptype = 'a' AND classid = 'pg_class'::regclass LOOP
            EXECUTE format('ALTER SEQUENCE %s OWNED BY NONE', own.sequence);
        END LOOP;
        EXECUTE format('DROP TABLE public.%I', name);
        EXECUTE format('ALTER TABLE shards.%I SET SCHEMA public', name);
        FOR node IN SELECT srvname, row_number() OVER (ORDER BY srvname) AS number,
            count(*) OVER () AS count FROM pg_foreign_server LOOP
            EXECUTE format('CREATE FOREIGN TABLE shards.%I PARTITION OF public.%I '
                           'FOR VALUES WITH (MODULUS %s, REMAINDER %s) SERVER %I '
                           'OPTIONS (schema_name ''public'', table_name %L)',
                           name || '_' || node.number, name, node.count, node.number - 1,
                           node.srvname, name);
        END LOOP;
    END $$""",
    """
    CREATE FUNCTION shards.on_create() RETURNS event_trigger LANGUAGE plpgsql AS $$
    DECLARE made record; key text;
    BEGIN
        IF current_setting('shards.busy', true) = 'on' THEN RETURN; END IF;
        PERFORM set_config('shards.busy', 'on', true);
        FOR made IN SELECT objid, relname::text AS name
            FROM pg_event_trigger_ddl_commands() JOIN pg_class ON pg_class.oid = objid
            WHERE relkind = 'r' AND schema_name = 'public' LOOP
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY place) INTO key
            FROM pg_index CROSS JOIN LATERAL unnest(indkey) WITH ORDINALITY AS k (number, place)
            JOIN pg_attribute ON attrelid = indrelid AND attnum = k.number
            WHERE indrelid = made.objid AND indisprimary;
            IF key IS NOT NULL THEN
                PERFORM shards.spread(made.objid, made.name, key);
            END IF;
        END LOOP;
        FOR made IN SELECT objid FROM pg_event_trigger_ddl_commands()
            JOIN pg_class ON pg_class.oid = objid WHERE relkind = 'I' LOOP
            PERFORM shards.everywhere(replace(pg_get_indexdef(made.objid), ' ON ONLY ', ' ON '));
        END LOOP;
        PERFORM set_config('shards.busy', 'off', true);
    END $$""",
    """
    CREATE FUNCTION shards.on_drop() RETURNS event_trigger LANGUAGE plpgsql AS $$
    DECLARE gone record;
    BEGIN
        IF current_setting('shards.busy', true) = 'on' THEN RETURN; END IF;
        FOR gone IN SELECT object_name FROM pg_event_trigger_dropped_objects()
            WHERE object_type = 'table' AND schema_name = 'public' LOOP
            PERFORM shards.everywhere(format('DROP TABLE IF EXISTS public.%I', gone.object_name));
        END LOOP;
    END $$""",
    """
    CREATE EVENT TRIGGER shards_create ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'CREATE INDEX') EXECUTE FUNCTION shards.on_create()""",
    "CREATE EVENT TRIGGER shards_drop ON sql_drop EXECUTE FUNCTION shards.on_drop()",
)


class PostgresFdw(Several):
    """Its database is the coordinator's."""

    _same_rows = False

    def _join(self, *, new: bool) -> None:
        """Ports and folders of sockets stay when they are started again."""
        if not new:
            return
        with closing(self._first.server.database.inside()) as session:
            for extension in ("postgres_fdw", "dblink"):
                _install(session, extension)
            session.rows("CREATE SCHEMA shards")
            for node in self._members[1:]:
                target: Mapping[str, Any] = node.server.entry.target("unix")
                host, _, port = target["endpoints"][0]["unix"].rpartition("/.s.PGSQL.")
                place = {"host": host, "port": port, "database": DATABASE, "options": _OPTIONS}
                session.rows(_SERVER.format(name=node.name, **place))
                mapping = f'CREATE USER MAPPING FOR {ROLE} SERVER "{node.name}"'
                session.rows(f"{mapping} OPTIONS (user '{ROLE}')")
            for statement in _FUNCTIONS:
                session.rows(statement)

    def _settle(self, limit_s: float) -> None:
        """Nothing to wait for: a commit is on the nodes when it returns."""


def _install(session: Session, extension: str) -> None:
    try:
        session.rows(f"CREATE EXTENSION {extension}")
    except ServerError as error:
        hint = "take a PostgreSQL with its contributed extensions: `postgresql@system`"
        raise error.reworded(f"{COORDINATOR}: {error.message}", hint=hint) from error


def _members(spec: ServerSpec, keys: ShardsTable, _openers: Openers) -> Sequence[PlannedMember]:
    return keys.planned(spec)


def _open(spec: ServerSpec, keys: ShardsTable, openers: Openers, folder: Path) -> Server:
    return PostgresFdw(TOPOLOGY.name, keys.opened(spec, openers, folder))


def _refuses(provision: Provision, keys: ShardsTable, _openers: Openers) -> str | None:
    if provision.kind != "postgresql":
        return f"its servers are PostgreSQL, not `{provision.kind}`"
    if provision.source is Source.URL:
        return "a server by URL is somebody else's, and gets no nodes"
    major = (provision.version or "").partition(".")[0]
    if major.isdecimal() and int(major) < _FIRST:
        return f"it takes PostgreSQL {_FIRST} or newer; this is {provision.version}"
    return keys.unknown_role(COORDINATOR, NODE)


TOPOLOGY = Topology("postgres-fdw", _open, keys=ShardsTable, members=_members, refuses=_refuses)
