-- Objects and their history in the manner of dbSTRESS: two reads by reference, and a transaction
-- that replaces and changes history rows.
--
-- Why it exists: its statements are short and its rows of equal length, so the optimizer does not
-- hide what a version, a setting or a processor changes in the engine; without think time it shows
-- how redo and purge affect stability. How to read it: events over time, by label.
-- docs/workloads/dbstress_like.md
--
-- Runs on MySQL, MariaDB, PostgreSQL and SQLite.

local sql = require("parts.sql")
local check = require("parts.check")

local ZONES, SECTIONS, STATS = 10, 100, 1000

sysbench.cmdline.options = check.options(sql.options {
  objects = { "Objects: the scale; about 3 KB each with their history", 100000 },
  histories = { "History rows of an object", 20 },
  used_percent = { "Share of the objects that events touch, the same ones in every run", 100 },
  write_every = { "Each client's every so many-th event writes too; 0: none does", 0 },
  text_type = { "Type of the text columns: char or varchar", "char" },
  full_length = { "Texts fill their columns; off: they are from half as long on", true },
  prepared = { "Prepared statements; off: each statement is sent as text", true },
})

if dbdyno then
  dbdyno.volume = function(opt)
    local rows = opt.objects * (1 + opt.histories) + 1110
    return { rows = rows, bytes = rows * 150 }
  end
end

local TABLES = { "stress_zone", "stress_section", "stress_stat", "stress_object",
  "stress_history" }

-- T(n) stands for a text of n characters.
local COLUMNS = {
  stress_zone = "ref T(2) NOT NULL PRIMARY KEY, name T(40)",
  stress_section = "ref T(2) NOT NULL PRIMARY KEY, ref_zone T(2) NOT NULL, name T(40)",
  stress_stat = "ref T(3) NOT NULL PRIMARY KEY, name T(40), note T(100)",
  stress_object = "ref T(10) NOT NULL PRIMARY KEY, ref_section T(2) NOT NULL, name T(36), "
    .. "note T(100)",
  stress_history = "ref_object T(10) NOT NULL, place INTEGER NOT NULL, ref_stat T(3) NOT NULL, "
    .. "begun T(12) NOT NULL, ended T(12), note T(100), PRIMARY KEY (ref_object, place)",
}

local uniform = sysbench.rand.uniform
local patterns = {}

-- Letters for a column of this many characters.
local function text(length)
  local count = sysbench.opt.full_length and length or uniform(math.ceil(length / 2), length)
  patterns[count] = patterns[count] or ("@"):rep(count)
  return sysbench.rand.string(patterns[count])
end

local function moment()
  return ("20%02d%02d%02d%02d%02d"):format(
    uniform(10, 29), uniform(1, 12), uniform(1, 28), uniform(0, 23), uniform(0, 59))
end

local function load_small(connection)
  sql.begin_rows(connection, "stress_zone (ref, name)")
  for zone = 0, ZONES - 1 do
    connection:bulk_insert_next(("('%02d', '%s')"):format(zone, text(40)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "stress_section (ref, ref_zone, name)")
  for section = 0, SECTIONS - 1 do
    connection:bulk_insert_next(("('%02d', '%02d', '%s')"):format(
      section, section % ZONES, text(40)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "stress_stat (ref, name, note)")
  for stat = 0, STATS - 1 do
    connection:bulk_insert_next(("('%03d', '%s', '%s')"):format(stat, text(40), text(100)))
  end
  connection:bulk_insert_done()
end

-- Objects come in parts, so that several workers load in parallel, and always the same rows.
local PART = 10000

local function load_part(connection, part)
  local opt = sysbench.opt
  local first, last = (part - 1) * PART + 1, math.min(part * PART, opt.objects)
  sql.begin_rows(connection, "stress_object (ref, ref_section, name, note)", part)
  for number = first, last do
    connection:bulk_insert_next(("('%010d', '%02d', '%s', '%s')"):format(
      number, uniform(0, SECTIONS - 1), text(36), text(100)))
  end
  connection:bulk_insert_done()
  sql.begin_rows(connection, "stress_history (ref_object, place, ref_stat, begun, ended, note)",
    part)
  for number = first, last do
    for place = 1, opt.histories do
      connection:bulk_insert_next(("('%010d', %d, '%03d', '%s', '%s', '%s')"):format(
        number, place, uniform(0, STATS - 1), moment(), moment(), text(100)))
    end
  end
  connection:bulk_insert_done()
end

local function prepare_tables()
  local connection = sql.connect()
  if sysbench.opt.text_type ~= "char" and sysbench.opt.text_type ~= "varchar" then
    error(("--text_type=%s: expected char or varchar"):format(sysbench.opt.text_type), 0)
  end
  if sysbench.tid % sysbench.opt.threads == 0 then
    for _, name in ipairs(TABLES) do
      local columns = COLUMNS[name]:gsub("T%(", sysbench.opt.text_type:upper() .. "(")
      sql.create_table(connection, name, columns)
    end
    load_small(connection)
  else
    sql.await_table(connection, TABLES[#TABLES])
  end
  for part in sql.share(math.ceil(sysbench.opt.objects / PART)) do
    load_part(connection, part)
  end
end

function cleanup()
  sql.drop_tables(sql.connect(), TABLES)
end

local CONDITIONS = {
  { "every object has its history, each place once", [[
    SELECT o.ref, COUNT(h.place), MIN(h.place), MAX(h.place) FROM stress_object o
      LEFT JOIN stress_history h ON h.ref_object = o.ref GROUP BY o.ref
      HAVING COUNT(h.place) <> %d OR COALESCE(MIN(h.place), 1) <> 1
        OR COALESCE(MAX(h.place), %d) <> %d]] },
  { "every history row has its object", [[
    SELECT h.ref_object, h.place FROM stress_history h
      LEFT JOIN stress_object o ON o.ref = h.ref_object WHERE o.ref IS NULL]] },
  { "every history row has its stat", [[
    SELECT h.ref_object, h.place, h.ref_stat FROM stress_history h
      LEFT JOIN stress_stat s ON s.ref = h.ref_stat WHERE s.ref IS NULL]] },
  { "as many objects as the option says", [[
    SELECT found FROM (SELECT COUNT(*) AS found FROM stress_object) counted
      WHERE found <> %d]] },
}

local function verify(connection)
  local opt = sysbench.opt
  local places = opt.histories
  check.conditions(connection, {
    { CONDITIONS[1][1], CONDITIONS[1][2]:format(places, places, places) },
    CONDITIONS[2], CONDITIONS[3],
    { CONDITIONS[4][1], CONDITIONS[4][2]:format(opt.objects) },
  })
end

done = check.after(verify)

sysbench.cmdline.commands = {
  prepare = { prepare_tables, sysbench.cmdline.PARALLEL_COMMAND },
  check = { function() verify(sql.connect()) end },
}

local SELECT_OBJECT = "SELECT o.ref, o.name, o.note, s.ref, s.name, z.ref, z.name "
  .. "FROM stress_object o JOIN stress_section s ON s.ref = o.ref_section "
  .. "JOIN stress_zone z ON z.ref = s.ref_zone WHERE o.ref = ?"
local SELECT_HISTORY = "SELECT h.place, h.begun, h.ended, h.note, t.ref, t.name, t.note "
  .. "FROM stress_history h JOIN stress_stat t ON t.ref = h.ref_stat "
  .. "WHERE h.ref_object = ? ORDER BY h.place"
local DELETE = "DELETE FROM stress_history WHERE ref_object = ? AND place = ?"
local INSERT = "INSERT INTO stress_history (ref_object, place, ref_stat, begun, ended, note) "
  .. "VALUES (?, ?, ?, ?, ?, ?)"
local UPDATE = "UPDATE stress_history SET ref_stat = ?, ended = ?, note = ? "
  .. "WHERE ref_object = ? AND place = ?"

-- A statement as a function of its values: prepared, or built as text each time.
local function maker(connection)
  if sysbench.opt.prepared then
    return function(query, ...) return sql.statement(connection, query, ...) end
  end
  return function(query, ...)
    local kinds, place = { ... }, 0
    local shape = query:gsub("?", function()
      place = place + 1
      return kinds[place] == sql.INTEGER and "%d" or "'%s'"
    end)
    return function(...)
      return connection:query(place == 0 and shape or shape:format(...))
    end
  end
end

local begin, commit, select_object, select_history, delete_history, insert_history, update_history
local used, own, step, number_of_own, until_write

local function read_object(ref)
  select_object(ref)
  select_history(ref)
end

local function write_object(ref)
  local places = sysbench.opt.histories
  local replaced, changed = uniform(1, places), uniform(1, places)
  begin()
  delete_history(ref, replaced)
  insert_history(ref, replaced, ("%03d"):format(uniform(0, STATS - 1)), moment(), moment(),
    text(100))
  update_history(("%03d"):format(uniform(0, STATS - 1)), moment(), text(100), ref, changed)
  commit()
end

function event()
  if until_write ~= 1 then
    sql.label("read")
    read_object(("%010d"):format(sysbench.rand.default(1, used)))
    until_write = until_write - 1
    return
  end
  sql.label("write")
  -- One of this client's own objects: writers wait for the engine, not for each other's rows.
  local ref = ("%010d"):format((sysbench.rand.default(1, number_of_own) - 1) * step + own)
  read_object(ref)
  write_object(ref)
  until_write = sysbench.opt.write_every -- Counted at its end: a restarted event writes again.
end

function thread_init()
  local opt, connection = sysbench.opt, sql.connect()
  local statement = maker(connection)
  local REF, SHORT, MOMENT, NOTE = sql.text(10), sql.text(3), sql.text(12), sql.text(100)
  begin, commit = statement(sql.begin()), statement("COMMIT")
  select_object = statement(SELECT_OBJECT, REF)
  select_history = statement(SELECT_HISTORY, REF)
  delete_history = statement(DELETE, REF, sql.INTEGER)
  insert_history = statement(INSERT, REF, sql.INTEGER, SHORT, MOMENT, MOMENT, NOTE)
  update_history = statement(UPDATE, SHORT, MOMENT, NOTE, REF, sql.INTEGER)
  used = math.max(1, math.floor(opt.objects * opt.used_percent / 100))
  step = opt.threads
  own, number_of_own = sysbench.tid % step + 1, math.floor(used / step)
  if number_of_own == 0 and opt.write_every > 0 then
    error(("%d clients write to objects of their own, and only %d objects are used: raise "
      .. "--objects or --used_percent"):format(step, used), 0)
  end
  until_write = opt.write_every
end
