-- `require` as scripts see it: modules have the globals of the client that asks for them.
--
-- First come files beside the script and in its folders, which all clients share as compiled code;
-- then whatever the script has put on its `package.path`; then LuaJIT's own search (LUA_PATH, the
-- system's modules, modules in C), whose modules have no client's globals.

local host, preloaded = ...

local getfenv, setfenv, pcall, error, loadfile = getfenv, setfenv, pcall, error, loadfile
local open = io.open
local search = require

local function on_path(path, name)
  local file = name:gsub("%.", "/")
  for template in (path or ""):gmatch("[^;]+") do
    local candidate = template:gsub("%?", file)
    local handle = open(candidate)
    if handle then
      handle:close()
      local chunk, message = loadfile(candidate)
      if not chunk then
        error(message, 3)
      end
      return chunk
    end
  end
end

local function find(env, name)
  if env.package.preload[name] then
    return env.package.preload[name]
  end
  local make, message = host.module(name)
  if make then
    return make()
  end
  return on_path(env.package.path, name), message
end

return function(name)
  local env = getfenv(0)
  local loaded = env.package.loaded
  if loaded[name] ~= nil then
    return loaded[name]
  end
  if preloaded[name] ~= nil then
    return preloaded[name]
  end
  local chunk, message = find(env, name)
  if not chunk then
    local fine, value = pcall(search, name)
    if not fine then
      error(message, 2)
    end
    loaded[name] = value
    return value
  end
  loaded[name] = true
  local value = setfenv(chunk, env)(name)
  if value ~= nil then
    loaded[name] = value
  end
  return loaded[name]
end
