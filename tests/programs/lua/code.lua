-- Tables, closures, coroutines, patterns, files, integers, and a command through popen.
local function map(list, f)
	local result = {}
	for i, value in ipairs(list) do
		result[i] = f(value)
	end
	return result
end

local function permutations(list, n)
	n = n or #list
	return coroutine.wrap(function()
		if n <= 1 then
			coroutine.yield(table.concat(list))
			return
		end
		for i = 1, n do
			list[n], list[i] = list[i], list[n]
			for p in permutations(list, n - 1) do
				coroutine.yield(p)
			end
			list[n], list[i] = list[i], list[n]
		end
	end)
end

local all = {}
for p in permutations({ "a", "b", "c" }) do
	all[#all + 1] = p
end
table.sort(all)
print("coroutines", table.concat(all, " "))
print("map", table.concat(map({ 1, 2, 3 }, function(n) return n * n end), ","))

local Stack = {}
Stack.__index = Stack
Stack.__len = function(self) return self.size end
function Stack.new() return setmetatable({ size = 0 }, Stack) end
function Stack:push(value) self.size = self.size + 1; self[self.size] = value end
function Stack:pop() local value = self[self.size]; self.size = self.size - 1; return value end
local stack = Stack.new()
for word in ("one two three"):gmatch("%a+") do
	stack:push(word)
end
print("objects", #stack, stack:pop(), #stack)

local name = os.tmpname()
local file = assert(io.open(name, "w"))
for i = 1, 3 do
	file:write(("line %d\n"):format(i))
end
file:close()
local count = 0
for line in io.lines(name) do
	count = count + tonumber(line:match("%d+"))
end
os.remove(name)
print("files", count)

print("integers", 7 // 2, 7 % 3, 1 << 10, math.maxinteger, 3 / 2)
print("utf8", utf8.len("größe"), utf8.char(0x20ac))
print("pack", string.unpack("<i4", string.pack("<i4", -5)))
print("date", os.date("!%Y-%m-%d", 86400))
local pipe = assert(io.popen("echo from sh"))
print("popen", pipe:read("l"), select(3, pipe:close()))
print("caught", select(2, pcall(error, { code = 42 })).code)
file = assert(io.open("report.txt", "w"))
print("written", file:write("done\n"):seek())
file:close()
print("execute", select(3, os.execute("exit 3")))
