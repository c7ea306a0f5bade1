-- run --events=6 --threads=2
local ffi = require("ffi")
function event() end
function thread_run(id)
  while ffi.C.sb_more_events(id) do
    ffi.C.sb_event_start(id)
    event(id)
    ffi.C.sb_event_stop(id)
  end
end
