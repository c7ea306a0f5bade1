-- Draws records as `ycsb` does, and prints each key with how often it came.

local draw = require("parts.ycsb_draw")
local file = require("parts.ycsb_file")

sysbench.cmdline.options = file.options {
  file = { "As for ycsb", "" },
  draws = { "How many", 1000 },
}

function prepare()
  local found = file.properties()
  local record = draw.record(found, function() return found.recordcount - 1 end)
  local drawn, lines = {}, {}
  for _ = 1, sysbench.opt.draws do
    local number = record()
    drawn[number] = (drawn[number] or 0) + 1
  end
  for number, times in pairs(drawn) do
    lines[#lines + 1] = ("%s,%d"):format(draw.key(number, found), times)
  end
  for first = 1, #lines, 50 do
    print(table.concat(lines, " ", first, math.min(first + 49, #lines)))
  end
end
