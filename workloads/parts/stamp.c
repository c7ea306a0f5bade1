/*
 * Trigger functions that stamp a row of `transdtls` with the time of the transaction: insert_ts on
 * INSERT, update_ts on UPDATE. `stamp_by_number` knows the columns' places, `stamp_by_name` looks
 * them up for each row. `stamp_by_spi_number` and `stamp_by_spi_name` do the same in the way of
 * published examples: they read the time from the word "now" and change the row by the Server
 * Programming Interface. docs/workloads/trigger_load.md says how to compile it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(stamp_by_number);
PG_FUNCTION_INFO_V1(stamp_by_name);
PG_FUNCTION_INFO_V1(stamp_by_spi_number);
PG_FUNCTION_INFO_V1(stamp_by_spi_name);

enum { INSERT_TS = 2, UPDATE_TS = 3 };

static TriggerData *
trigger_of(FunctionCallInfo call)
{
    TriggerData *trigger = (TriggerData *) call->context;

    if (!CALLED_AS_TRIGGER(call) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event)
        || !TRIGGER_FIRED_BEFORE(trigger->tg_event))
        ereport(ERROR, (errmsg("a stamp function is for triggers BEFORE each row")));
    return trigger;
}

/* The row that is to be stored. */
static HeapTuple
row_of(TriggerData *trigger)
{
    return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple
                                                      : trigger->tg_trigtuple;
}

/* That row with the time of the transaction in one column. */
static Datum
stamped(TriggerData *trigger, int column)
{
    bool null = false;
    Datum now = DirectFunctionCall1(timestamptz_timestamp,
        TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()));

    return PointerGetDatum(heap_modify_tuple_by_cols(
        row_of(trigger), RelationGetDescr(trigger->tg_relation), 1, &column, &now, &null));
}

/* The same by a connection to SPI for each row, with the time read from the word "now". */
static Datum
stamped_by_spi(TriggerData *trigger, int column)
{
    HeapTuple changed;
    Datum now = DirectFunctionCall3(timestamp_in, CStringGetDatum("now"),
        ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));

    if (SPI_connect() != SPI_OK_CONNECT)
        ereport(ERROR, (errmsg("no connection to SPI")));
    changed = SPI_modifytuple(trigger->tg_relation, row_of(trigger), 1, &column, &now, NULL);
    if (changed == NULL)
        ereport(ERROR, (errmsg("SPI can't change column %d of table \"%s\": %d", column,
            RelationGetRelationName(trigger->tg_relation), SPI_result)));
    SPI_finish();
    return PointerGetDatum(changed);
}

static int
column_by_number(TriggerData *trigger)
{
    return TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? UPDATE_TS : INSERT_TS;
}

static int
column_by_name(TriggerData *trigger)
{
    const char *name = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? "update_ts" : "insert_ts";
    int column = SPI_fnumber(RelationGetDescr(trigger->tg_relation), name);

    if (column <= 0)
        ereport(ERROR, (errmsg("table \"%s\" has no column \"%s\"",
            RelationGetRelationName(trigger->tg_relation), name)));
    return column;
}

Datum
stamp_by_number(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);

    return stamped(trigger, column_by_number(trigger));
}

Datum
stamp_by_name(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);

    return stamped(trigger, column_by_name(trigger));
}

Datum
stamp_by_spi_number(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);

    return stamped_by_spi(trigger, column_by_number(trigger));
}

Datum
stamp_by_spi_name(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);

    return stamped_by_spi(trigger, column_by_name(trigger));
}
