-- run --events=1
-- Modules in the old way, loaders of the script's own, and what `require` says.
package.preload["made.here"] = function(name)
  module(name, package.seeall)
  function twice(x) return tostring(x * 2) end
end
package.preload.plain = function() return { answer = 42 } end

local made = require("made.here")

function event()
  print("> module", made.twice(4), made._NAME, package.loaded["made.here"] == made,
    made == _G.made.here)
  print("> plain", require("plain").answer, package.loaded.plain.answer,
    require("plain") == require("plain"))
  print("> standard", package.loaded.string == string, package.loaded._G == _G,
    package.loaded.io == io, package.loaded.os == os, require("ffi") == ffi, require("bit") == bit)
  local fine, message = pcall(require, "not.there")
  print("> missing", fine, message:match("module 'not.there' not found:") ~= nil)
  print("> path", package.path:find("/usr/share/sysbench/?.lua", 1, true) ~= nil,
    package.config:sub(1, 1))
  package.loaded.plain = nil
  package.preload.plain = function() return { answer = 43 } end
  print("> anew", require("plain").answer)
end
