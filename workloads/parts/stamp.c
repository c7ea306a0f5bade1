/*
 * Trigger functions that stamp a row of `transdtls` with the time of the transaction: insert_ts on
 * INSERT, update_ts on UPDATE. `stamp_by_number` knows the columns' places, `stamp_by_name` looks
 * them up for each row. docs/workloads/trigger_load.md says how to compile it.
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

/* The row that is to be stored, with the present time in one column. */
static Datum
stamped(TriggerData *trigger, int column)
{
    bool updated = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
    HeapTuple row = updated ? trigger->tg_newtuple : trigger->tg_trigtuple;
    bool null = false;
    Datum now = DirectFunctionCall1(timestamptz_timestamp,
        TimestampTzGetDatum(GetCurrentTransactionStartTimestamp()));

    return PointerGetDatum(heap_modify_tuple_by_cols(
        row, RelationGetDescr(trigger->tg_relation), 1, &column, &now, &null));
}

Datum
stamp_by_number(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);
    bool updated = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);

    return stamped(trigger, updated ? UPDATE_TS : INSERT_TS);
}

Datum
stamp_by_name(PG_FUNCTION_ARGS)
{
    TriggerData *trigger = trigger_of(fcinfo);
    bool updated = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
    const char *name = updated ? "update_ts" : "insert_ts";
    int column = SPI_fnumber(RelationGetDescr(trigger->tg_relation), name);

    if (column <= 0)
        ereport(ERROR, (errmsg("table \"%s\" has no column \"%s\"",
            RelationGetRelationName(trigger->tg_relation), name)));
    return stamped(trigger, column);
}
