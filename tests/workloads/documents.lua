-- Every verb of `dbdyno.documents`, and what it returns.

local function said(...)
  local parts = { ... }
  for place = 1, select("#", ...) do parts[place] = tostring(parts[place]) end
  print(table.concat(parts, " "))
end

local function failure(call, ...)
  local fine, failed = pcall(call, ...)
  assert(not fine and type(failed) == "table" or type(failed) == "string", failed)
  return failed
end

sysbench.cmdline.commands = { prepare = { function()
  local d = dbdyno.documents
  local con = d.connect()
  local c = con:collection("verbs")
  said("drop", c:drop())

  local many = {}
  for i = 10, 500 do many[#many + 1] = { _id = i, g = i % 3, c = "x" .. i } end
  said("insert", c:insert_one({
    _id = 1, text = "é", half = 0.5, flag = true, list = { 1, 2, { x = 3 } }, none = d.array {},
    order = d.ordered("z", 1, "a", 2), null = d.null, date = d.date(1000),
    long = d.int64("9007199254740993"), id = d.object_id(("0a"):rep(12)),
    bytes = d.binary("\255"), pattern = d.regex("^a", "i"),
  }), c:insert_many(many))
  local back = c:find_one({ _id = 1 })
  said("values", back.text, back.half, back.flag, back.list.n, back.none.n, back.long, back.date,
    back.null)
  assert(back.list[3].x == 3 and back.bytes.value == "\255")
  assert(back.id == d.object_id(("0a"):rep(12)))
  -- A document equals another one only if its names are in the same order.
  said("ordered", c:find({ order = d.ordered("z", 1, "a", 2) }).n,
    c:find({ order = d.ordered("a", 2, "z", 1) }).n)

  said("find", c:find({ g = 1 }).n, c:read({ g = 1 }, { batchSize = 10 }),
    c:find({ g = 1 }, { batchSize = 7 }).n,
    c:find({}, { sort = { _id = -1 }, limit = 2, projection = { _id = 1 } })[1]._id)
  local one, two = c:update_one({ _id = 10 }, { ["$set"] = { z = 1 } })
  said("update", one, two, c:update_many({ _id = { ["$lt"] = 20 } }, { ["$set"] = { z = 2 } }))
  said("upsert", c:update_one({ _id = 9999 }, { ["$set"] = { z = 2 } }, { upsert = true }))
  said("delete", c:delete_one({ _id = 9999 }), c:delete_many({ g = 2 }))
  said("count", c:count_documents({}), c:count_documents({ g = 1 }), c:count_documents({ g = 7 }))
  said("distinct", c:distinct("g").n)
  said("index", c:create_index({ g = 1 }),
    c:create_index(d.ordered("g", 1, "c", -1), { name = "mine" }))
  local groups = c:aggregate({
    { ["$match"] = { g = { ["$gte"] = 0 } } },
    { ["$group"] = { _id = "$g", n = { ["$sum"] = 1 } } }, { ["$sort"] = { _id = 1 } },
  })
  said("group", groups[1].n, groups[2].n)
  local done = c:bulk_write({
    { insert_one = { _id = 700 } }, { insert_one = { _id = 701 } },
    { update_one = { filter = { _id = 700 }, update = { ["$set"] = { q = 1 } } } },
    { replace_one = { filter = { _id = 700 }, replacement = { w = 1 } } },
    { delete_one = { _id = 701 } },
  })
  said("bulk", done.inserted, done.matched, done.modified, done.deleted)
  said("command", con:command("ping").ok, con:command("collStats", "verbs", { scale = 1 }).count)

  failure(c.insert_one, c, { _id = 1 })
  said("error", con.error_code, con.error_name)
  failure(con.command, con, "nonsense")
  said("refused", con.error_code, con.error_name)
  c:drop()
end } }
