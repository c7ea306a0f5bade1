-- run --events=1
-- Counters of patched versions of sysbench, as tpcc_counters.lua uses them.
ffi.cdef "void sb_counter_inc(int, sb_counter_type);"

function event()
  print("> caught", pcall(function() return ffi.C.SB_CNT_1 end))
  ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_2)
end
