-- run --events=1
function event()
  for _, format in ipairs { "###", "@@@-###", "a#b@c", "", "no marks" } do
    local text = sysbench.rand.string(format)
    local pattern = format:gsub("[-]", "%%-"):gsub("#", "%%d"):gsub("@", "%%l")
    print("> string", format, #text, text:match("^" .. pattern .. "$") ~= nil)
  end
end
