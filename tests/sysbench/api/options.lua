-- run --events=1 --a=3 --b-c --e=1,2 --g=off
sysbench.cmdline.options = {
  a = { "a number", 1 }, b_c = { "a switch", false }, d = { "text", "x" }, e = { "list", { "y" } },
  f = { "none" }, g = { "on", true }, h = { "whole", 5, sysbench.cmdline.ARG_INT },
}
function event()
  local o = sysbench.opt
  print("> own", o.a, o.b_c, o.d, o.e[1], o.e[2], type(o.f), o.f, o.g, o.h)
  print("> types", type(o.a), type(o.b_c), type(o.d), type(o.e), type(o.threads))
  print("> general", o.threads, o.events, o.report_interval, o.percentile, o.db_driver)
end
