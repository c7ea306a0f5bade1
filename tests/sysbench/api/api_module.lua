function from_module(x) return x + 1 end

function own_id(driver)
  return "SELECT " .. (driver:name() == "mysql" and "connection_id()" or "pg_backend_pid()")
end
