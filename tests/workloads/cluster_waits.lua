-- For tests of clusters: waits for `{go}` and then gets or sets `k1` to `k100`, `pipeline` at once.

sysbench.cmdline.options = {
  pipeline = { "Commands at once", 1 },
}

local con

function thread_init()
  con = dbdyno.keys.connect()
end

local function all()
  for number = 1, 100 do
    con:run("SET", "k" .. number, "v" .. number)
  end
end

function event()
  con:command("BLPOP", "{go}", 0)
  if sysbench.opt.pipeline > 1 then
    dbdyno.pipeline(con, sysbench.opt.pipeline, all)
  else
    all()
  end
  for number = 1, 100 do
    assert(con:command("GET", "k" .. number) == "v" .. number)
  end
  local found = con:command("EVAL", "return {KEYS[1], redis.call('GET', KEYS[1])}", 1, "k7")
  print(found[1], found[2], con:run("GET", "none"), con:command("PING"))
  print(pcall(con.run, con, "MULTI"))
  print(pcall(con.run, con, "MGET", "k1", "k2"))
  print(tostring(con))
end
