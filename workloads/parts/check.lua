-- Conditions that a workload's tables must meet, and error messages if they don't.

local sql = require("parts.sql")

local check = {}

-- Options of every workload whose tables can be checked.
function check.options(own)
  own.check_after = { "Check the tables when a run has ended; a broken condition fails it", false }
  return own
end

-- Up to three rows that violate the condition, as text; nil if there are none.
local function offenders(connection, text)
  local found = connection:query(text .. " LIMIT 3")
  if found.nrows == 0 then
    return nil
  end
  local rows = {}
  for place = 1, found.nrows do
    local row = found:fetch_row()
    for column = 1, found.nfields do
      row[column] = row[column] or "NULL"
    end
    rows[place] = "(" .. table.concat(row, ", ") .. ")"
  end
  return table.concat(rows, ", ")
end

-- Each condition has a name and a query for the rows that violate it; the error lists all violated
-- conditions. `where` names the part of the data checked.
function check.conditions(connection, conditions, where)
  local broken = {}
  for _, condition in ipairs(conditions) do
    local rows = offenders(connection, condition[2])
    if rows then
      broken[#broken + 1] = ("%s: %s"):format(condition[1], rows)
    end
  end
  if #broken > 0 then
    error(("%d of %d conditions do not hold%s; each with rows that break it: %s. Rows were lost, "
      .. "changed from outside, or written by transactions that the server did not keep apart")
      :format(#broken, #conditions, where or "", table.concat(broken, "; ")), 0)
  end
end

-- The hook `done` of a workload, for `--check_after`.
function check.after(verify)
  return function()
    if sysbench.opt.check_after then
      verify(sql.connect())
    end
  end
end

return check
