-- run --events=4 --threads=2
function event()
  ffi.cdef("int usleep(unsigned int)")
  ffi.C.usleep(2000)
  os.execute("sleep 0.01")
end
