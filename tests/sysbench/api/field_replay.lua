-- run --events=3
-- Statements from a file that the script writes first; variables of the environment.
local name = os.tmpname()
local out = assert(io.open(name, "w"))
out:write("SELECT 1 + 1;\n-- a comment\nSELECT 'it''s';\n\nSELECT NULL;\n")
out:close()

local function statements(path)
  local list = {}
  for line in io.lines(path) do
    line = line:gsub("%-%-.*$", ""):gsub(";%s*$", "")
    if #line > 0 then list[#list + 1] = line end
  end
  return list
end

local list, place = statements(name), 0
os.remove(name)

function thread_init()
  con = sysbench.sql.driver():connect()
  print("> read", #list, io.type(io.stdout), io.type(out), os.getenv("NOT_A_VARIABLE_OF_ANYONE"))
end

function event()
  place = place % #list + 1
  print("> " .. list[place], con:query_row(list[place]))
end
