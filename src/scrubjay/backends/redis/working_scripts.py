"""What Redis does for working memory, each in one step that nobody comes between.

All keys of a script belong to one tenant, so that a Cluster has them on one node. Every script takes

    KEYS  1  the session, a hash
          2  its messages, a list
          3  their ids, sorted by position
          4  its scratchpad, a hash
          5  the tenant's sessions, sorted by when they have to be looked at
    ARGV  1  the name of the session in 5
          2  now
          3  when the session expires
          4  for how many milliseconds its keys last
          5  the cap of messages

and then what is its own. Moments are microseconds since 1970: a Lua number holds them exactly.
"""

from typing import Final

_COMMON: Final = """
local function known()
  local m = redis.call('HMGET', KEYS[1], 'first', 'following', 'bytes', 'expires', 'ended')
  if not m[1] then return nil end
  local held = {first = tonumber(m[1]), following = tonumber(m[2]), bytes = tonumber(m[3]),
                expires = tonumber(m[4]), ended = m[5]}
  -- A Redis that is full may evict one key of a session and leave the others. What is lost is lost; the rest goes on.
  local count = held.following - held.first
  if redis.call('LLEN', KEYS[2]) ~= count then
    redis.call('DEL', KEYS[2], KEYS[3])
    redis.call('HSET', KEYS[1], 'first', held.following, 'bytes', 0)
    held.first, held.bytes = held.following, 0
  elseif redis.call('ZCARD', KEYS[3]) ~= count then
    redis.call('DEL', KEYS[3])
    for place, body in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
      -- Every body begins with its id.
      redis.call('ZADD', KEYS[3], held.first + place - 1, string.sub(body, 8, 43))
    end
  end
  return held
end

local function is_over(held)
  return held.ended ~= '' or held.expires <= tonumber(ARGV[2])
end

-- When to look at it next: at once when it is over or long, else when it expires.
local function schedule(held)
  local due = held.expires
  if held.ended ~= '' or held.following - held.first > tonumber(ARGV[5]) then due = 0 end
  redis.call('ZADD', KEYS[5], string.format('%.0f', due), ARGV[1])
end

local created = 0

local function renew(held)
  if held and is_over(held) then
    redis.call('DEL', KEYS[4])
    redis.call('HSET', KEYS[1], 'started', ARGV[2], 'ended', '')
  elseif not held then
    created = 1
    redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
    held = {first = 0, following = 0, bytes = 0}
    redis.call('HSET', KEYS[1], 'first', 0, 'following', 0, 'bytes', 0, 'started', ARGV[2], 'ended', '')
  end
  held.ended, held.expires = '', tonumber(ARGV[3])
  redis.call('HSET', KEYS[1], 'expires', ARGV[3])
  return held
end

local function last()
  for key = 1, 4 do redis.call('PEXPIRE', KEYS[key], ARGV[4]) end
end

local function let_go(held)
  if is_over(held) and held.following == held.first then
    redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
    redis.call('ZREM', KEYS[5], ARGV[1])
  end
end

local function shown()
  return redis.call('HMGET', KEYS[1], 'first', 'following', 'bytes', 'started', 'expires', 'ended')
end

local function version_of(name)
  local value = redis.call('HGET', KEYS[4], name)
  return value and string.match(value, '^[^\\n]*') or '', value
end
"""

# Its own: bytes allowed, then id and body of each message, and whether the id has to be new: 0 or 1.
# Answers each with its position and its stored body, and whether the session is new.
APPEND: Final = (
    _COMMON
    + """
local held = known()
local following, taken = held and held.following or 0, held and held.bytes or 0
local first, fresh, answers = held and held.first or 0, {}, {}
for at = 7, #ARGV, 3 do
  local id, position = ARGV[at], fresh[ARGV[at]]
  if not position then
    position = redis.call('ZSCORE', KEYS[3], id)
    if position and ARGV[at + 2] == '1' then return {'met'} end
  end
  if not position then
    position, following, taken = following, following + 1, taken + #ARGV[at + 1]
    fresh[id] = position
    fresh[#fresh + 1] = at
  end
  answers[#answers + 1] = position
end
if taken > tonumber(ARGV[6]) then return {'full', taken} end
held = renew(held)
for _, at in ipairs(fresh) do
  redis.call('RPUSH', KEYS[2], ARGV[at + 1])
  redis.call('ZADD', KEYS[3], fresh[ARGV[at]], ARGV[at])
end
held.following, held.bytes = following, taken
redis.call('HSET', KEYS[1], 'following', following, 'bytes', taken)
schedule(held)
last()
local placed = {}
for place, position in ipairs(answers) do
  position = tonumber(position)
  placed[place] = {position, redis.call('LINDEX', KEYS[2], position - first)}
end
return {'done', placed, created}
"""
)

# Its own: ids. Answers each that is known with its position and its stored body.
KNOWN: Final = (
    _COMMON
    + """
local held = known()
local placed = {}
if not held then return placed end
for at = 6, #ARGV do
  local position = redis.call('ZSCORE', KEYS[3], ARGV[at])
  if position then
    position = tonumber(position)
    placed[#placed + 1] = {position, redis.call('LINDEX', KEYS[2], position - held.first)}
  end
end
return placed
"""
)

# Its own: how many, and whether those of a session that is over: 0 or 1. Answers the place of the first, and bodies.
RECENT: Final = (
    _COMMON
    + """
local held = known()
if not held or (ARGV[7] == '0' and is_over(held)) then return {0, {}} end
local bodies = redis.call('LRANGE', KEYS[2], -tonumber(ARGV[6]), -1)
return {held.following - #bodies, bodies}
"""
)

# Its own: how many.
TAKE: Final = (
    _COMMON
    + """
local held = known()
if not held then return {0, {}} end
return {held.first, redis.call('LRANGE', KEYS[2], 0, tonumber(ARGV[6]) - 1)}
"""
)

# Its own: name, version, whether one is expected (0 or 1), which, values allowed, and the value.
# Answers whether the session is new.
SET: Final = (
    _COMMON
    + """
local held = known()
local found, value = '', false
if held and not is_over(held) then found, value = version_of(ARGV[6]) end
if found == ARGV[7] then return {'kept', value} end
if ARGV[8] == '1' and found ~= ARGV[9] then return {'conflict', found} end
local count = (held and not is_over(held)) and redis.call('HLEN', KEYS[4]) or 0
if found == '' and count >= tonumber(ARGV[10]) then return {'full', count} end
held = renew(held)
redis.call('HSET', KEYS[4], ARGV[6], ARGV[7] .. '\\n' .. ARGV[11])
schedule(held)
last()
return {'done', created}
"""
)

# Its own: a name, or none for all. Answers names and values.
SCRATCH: Final = (
    _COMMON
    + """
local held = known()
if not held or is_over(held) then return {} end
if not ARGV[6] then return redis.call('HGETALL', KEYS[4]) end
local value = redis.call('HGET', KEYS[4], ARGV[6])
return value and {ARGV[6], value} or {}
"""
)

# Its own: name, whether a version is expected (0 or 1), which. Answers whether it was there.
DELETE: Final = (
    _COMMON
    + """
local held = known()
local found = (held and not is_over(held)) and version_of(ARGV[6]) or ''
if ARGV[7] == '1' and found ~= ARGV[8] then return {'conflict', found} end
return {'done', found ~= '' and redis.call('HDEL', KEYS[4], ARGV[6]) or 0}
"""
)

EXTEND: Final = (
    _COMMON
    + """
local held = known()
if not held or is_over(held) then return {'none'} end
held = renew(held)
schedule(held)
last()
return {'done', shown()}
"""
)

END: Final = (
    _COMMON
    + """
local held = known()
if not held then return {'none'} end
if not is_over(held) then
  held.ended = ARGV[2]
  redis.call('HSET', KEYS[1], 'ended', ARGV[2])
end
redis.call('DEL', KEYS[4])
schedule(held)
local answer = shown()
let_go(held)
return {'done', answer}
"""
)

# Its own: ids. Answers how many of the oldest messages they were.
DRAINED: Final = (
    _COMMON
    + """
local held = known()
if not held then return 0 end
local done, gone = {}, 0
for at = 6, #ARGV do done[ARGV[at]] = true end
for _, id in ipairs(redis.call('ZRANGE', KEYS[3], 0, #ARGV - 6)) do
  if not done[id] then break end
  gone = gone + 1
end
if gone > 0 then
  for _, body in ipairs(redis.call('LRANGE', KEYS[2], 0, gone - 1)) do held.bytes = held.bytes - #body end
  redis.call('LTRIM', KEYS[2], gone, -1)
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, gone - 1)
  held.first = held.first + gone
  redis.call('HSET', KEYS[1], 'first', held.first, 'bytes', held.bytes)
  schedule(held)
end
let_go(held)
return gone
"""
)

# Its own: ids. Answers how many messages of these there were.
DISCARD: Final = (
    _COMMON
    + """
local held = known()
if not held then return 0 end
local unwanted, kept = {}, {}
for at = 6, #ARGV do unwanted[ARGV[at]] = true end
for _, body in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  if unwanted[string.sub(body, 8, 43)] then held.bytes = held.bytes - #body else kept[#kept + 1] = body end
end
local gone = held.following - held.first - #kept
if gone > 0 then
  local lasts = redis.call('PTTL', KEYS[2])
  redis.call('DEL', KEYS[2], KEYS[3])
  held.first = held.first + gone
  for place, body in ipairs(kept) do
    redis.call('RPUSH', KEYS[2], body)
    redis.call('ZADD', KEYS[3], held.first + place - 1, string.sub(body, 8, 43))
  end
  if lasts > 0 then
    for key = 2, 3 do redis.call('PEXPIRE', KEYS[key], lasts) end
  end
  redis.call('HSET', KEYS[1], 'first', held.first, 'bytes', held.bytes)
  schedule(held)
end
let_go(held)
return gone
"""
)

# Take a session off the list that has nothing left: it is over and empty, or its keys are gone.
SWEEP: Final = (
    _COMMON
    + """
local held = known()
if held then let_go(held) else redis.call('ZREM', KEYS[5], ARGV[1]) end
return 0
"""
)
