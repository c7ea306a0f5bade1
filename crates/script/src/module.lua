-- `package`, `require` and `module` as scripts see them: a module uses the globals of the client
-- that requires it; its code is shared by all clients.
--
-- Files are searched on the script's own `package.path`; C modules and LuaJIT's built-in ones are
-- found by LuaJIT's own search.

local host, standard, inherit = ...

local getfenv, setfenv, setmetatable, type = getfenv, setfenv, setmetatable, type
local pcall, error, rawget, tostring = pcall, error, rawget, tostring
local open, search, shared = io.open, require, package

local package_meta = inherit(shared)
local loaded_meta, preload_meta = inherit(standard), inherit(shared.preload)

-- A client's `package` table; `path` is where its modules are searched.
local function package_of(env, path)
  local made = setmetatable({
    path = path .. ";" .. shared.path, cpath = shared.cpath,
    loaded = setmetatable({ _G = env }, loaded_meta), preload = setmetatable({}, preload_meta),
    seeall = function(of) return setmetatable(of, { __index = env }) end,
  }, package_meta)
  made.loaded.package = made
  return made
end

-- Cache of files found, by path and name: clients ask for the same ones.
local located = {}

local function locate(path, name)
  local known = located[path] or {}
  located[path] = known
  if known[name] then
    return known[name]
  end
  local file = name:gsub("%.", "/")
  for template in path:gmatch("[^;]+") do
    local candidate = template:gsub("%?", function() return file end)
    local handle = open(candidate)
    if handle then
      handle:close()
      known[name] = candidate
      return candidate
    end
  end
end

local function find(env, name)
  local preloaded = rawget(env.package.preload, name)
  if preloaded then
    return preloaded
  end
  local path = locate(tostring(env.package.path), name)
  if not path then
    return nil
  end
  local make, message = host.module(path)
  if not make then
    error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, message), 3)
  end
  return setfenv(make(), env)
end

local function require_module(name)
  local env = getfenv(0)
  local loaded = env.package.loaded
  if loaded[name] ~= nil then
    return loaded[name]
  end
  local chunk = find(env, name)
  if not chunk then
    shared.path, shared.cpath = env.package.path, env.package.cpath
    local fine, value = pcall(search, name)
    if not fine then
      error(value, 2)
    end
    loaded[name] = value
    return value
  end
  loaded[name] = true
  local value = chunk(name)
  if value ~= nil then
    loaded[name] = value
  end
  return loaded[name]
end

-- A module's table within the client's globals.
local function module_table(env, name)
  local made = env
  for part in name:gmatch("[^.]+") do
    local inner = rawget(made, part)
    if type(inner) ~= "table" then
      inner = {}
      made[part] = inner
    end
    made = inner
  end
  return made
end

local function module(name, ...)
  local env = getfenv(0)
  local made = rawget(env.package.loaded, name)
  if type(made) ~= "table" then
    made = module_table(env, name)
    env.package.loaded[name] = made
  end
  if made._NAME == nil then
    made._M, made._NAME, made._PACKAGE = made, name, name:match("^(.*%.)[^.]*$") or ""
  end
  setfenv(2, made)
  for _, option in ipairs { ... } do
    option(made)
  end
end

return package_of, require_module, module
