-- run --events=5
ffi.cdef[[
void sb_counter_inc(int, sb_counter_type);
void sb_counter_add(int, sb_counter_type, uint64_t);
int usleep(unsigned int);
]]
function thread_init() sysbench.sql.driver():connect() end
function event(id)
  ffi.C.sb_counter_inc(id, ffi.C.SB_CNT_ERROR)
  ffi.C.sb_counter_inc(id, ffi.C.SB_CNT_WRITE)
  ffi.C.sb_counter_inc(id, "SB_CNT_OTHER")
  ffi.C.usleep(1000)
end
