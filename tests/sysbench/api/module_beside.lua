-- run --events=1
require("api_module")
function event() print("> module", from_module(20)) end
