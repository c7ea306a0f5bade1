-- One select by key that carries two moments of its caller for the proxy beside it: when the script
-- asked for the statement, and when it went on after its last one.
--
-- PostgreSQL only. The table is that of served.py.

local ffi = require("ffi")

sysbench.cmdline.options = {
  rows = {"Rows of the table", 100000},
  origin_s = {"What moments are counted from: seconds of 1970", 0},
}

ffi.cdef [[
struct stamped_moment { long seconds, nanoseconds; };
int clock_gettime(int clock, struct stamped_moment *into);
]]

local REALTIME = 0
local moment = ffi.new("struct stamped_moment")
local statement, id, asked, resumed
local asked_ns, resumed_ns = 0, 0

local function now_ns()
  ffi.C.clock_gettime(REALTIME, moment)
  return (tonumber(moment.seconds) - sysbench.opt.origin_s) * 1e9 + tonumber(moment.nanoseconds)
end

function thread_init()
  local connection = sysbench.sql.driver():connect()
  statement = connection:prepare(
    "SELECT value FROM stamped WHERE id = ? AND ?::bigint > 0 AND ?::bigint >= 0"
  )
  id = statement:bind_create(sysbench.sql.type.INT)
  asked = statement:bind_create(sysbench.sql.type.BIGINT)
  resumed = statement:bind_create(sysbench.sql.type.BIGINT)
  statement:bind_param(id, asked, resumed)
end

function event()
  id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
  resumed:set(resumed_ns)
  asked_ns = now_ns()
  asked:set(asked_ns)
  statement:execute()
  resumed_ns = now_ns()
end

-- No statement carries what the last one came to.
function thread_done()
  print(string.format("%d %d", asked_ns, resumed_ns))
end
