-- run --events=3
function event() error("boom") end
