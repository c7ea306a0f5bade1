-- Built-in report hooks, and the scripts' own histograms.

local host, settings = ...

local floor, log, exp = math.floor, math.log, math.exp
local getfenv, setmetatable = getfenv, setmetatable

local made = {}

local function rates(stat)
  local seconds = stat.time_interval
  local statements = stat.reads + stat.writes + stat.other
  return stat.events / seconds, statements / seconds, stat.reads / seconds,
    stat.writes / seconds, stat.other / seconds, stat.errors / seconds, stat.reconnects / seconds
end

function made.report_csv(stat)
  local tps, qps, reads, writes, other, errors, reconnects = rates(stat)
  host.write(("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f\n"):format(stat.time_total,
    stat.threads_running, tps, qps, reads, writes, other, stat.latency_pct * 1000, errors,
    reconnects))
end

local OBJECT = [[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

-- JSON arrays opened so far, by the globals of the client.
local open = setmetatable({}, { __mode = "k" })

function made.report_json(stat)
  local env = getfenv(0)
  host.write(open[env] and ",\n" or "[\n")
  open[env] = true
  local tps, qps, reads, writes, other, errors, reconnects = rates(stat)
  host.write(OBJECT:format(stat.time_total, stat.threads_running, tps, qps, reads, writes, other,
    stat.latency_pct * 1000, errors, reconnects))
end

function made.report_default(stat)
  local tps, qps, reads, writes, other, errors, reconnects = rates(stat)
  host.write(("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) "
    .. "lat (ms,%s%%): %4.2f err/s %4.2f reconn/s: %4.2f\n"):format(stat.time_total,
    stat.threads_running, tps, qps, reads, writes, other, settings.general.percentile,
    stat.latency_pct * 1000, errors, reconnects))
end

local function close()
  local env = getfenv(0)
  if open[env] then
    open[env] = nil
    host.write("\n]\n")
  end
end

local histogram = {}
local histogram_meta = {
  __index = histogram, __tostring = function() return "<histogram>" end,
}

function histogram.new(size, low, high)
  if not (size and size > 1 and low > 0 and high > low) then
    error("sysbench.histogram.new(size, min, max) needs size > 1 and 0 < min < max", 2)
  end
  return setmetatable({
    size = size, low = log(low), scale = (size - 1) / (log(high) - log(low)), counts = {},
  }, histogram_meta)
end

function histogram:update(value)
  local index = value > 0 and floor((log(value) - self.low) * self.scale + 0.5) or 0
  index = index < 0 and 0 or index >= self.size and self.size - 1 or index
  self.counts[index] = (self.counts[index] or 0) + 1
end

function histogram:print()
  local highest = 0
  for _, count in pairs(self.counts) do
    highest = count > highest and count or highest
  end
  host.write("       value  ------------- distribution ------------- count\n")
  for index = 0, self.size - 1 do
    local count = self.counts[index]
    if count then
      local stars = ("*"):rep(floor(count / highest * 40 + 0.5))
      host.write(("%12.3f |%-40s %d\n"):format(exp(index / self.scale + self.low), stars, count))
    end
  end
end

return made, histogram, close
