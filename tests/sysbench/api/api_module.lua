function from_module(x) return x + 1 end
