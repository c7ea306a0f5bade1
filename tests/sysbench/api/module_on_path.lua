-- run --events=1
package.path = "./?.txt;" .. package.path
require("api_module_elsewhere")
function event() print("> module", elsewhere(20)) end
