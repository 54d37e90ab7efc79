"""What Redis does for whoever changes keys, each in one step that nobody comes between.

Every script takes

    KEYS  1  the session, a hash
          2  its messages, a list
          3  their ids, sorted by position
          4  its scratchpad, a hash

None of them makes a key that is not there, and none changes how long one lasts.
"""

from typing import Final

_FIRST: Final = """
local first = tonumber(redis.call('HGET', KEYS[1], 'first') or -1)
local function body_of(id)
  local position = redis.call('ZSCORE', KEYS[3], id)
  if first < 0 or not position or tonumber(position) < first then return false, 0 end
  local place = tonumber(position) - first
  return redis.call('LINDEX', KEYS[2], place), place
end
"""

# ARGV: from which position, and how many. Answers the position of the first one, and their bodies.
PAGE: Final = (
    _FIRST
    + """
if first < 0 then return {0, {}} end
local place = math.max(tonumber(ARGV[1]) - first, 0)
return {first + place, redis.call('LRANGE', KEYS[2], place, place + tonumber(ARGV[2]) - 1)}
"""
)

# ARGV: ids. Answers what is stored of each.
NAMED: Final = (
    _FIRST
    + """
local found = {}
for at, id in ipairs(ARGV) do found[at] = body_of(id) end
return found
"""
)

# ARGV: of each message its id, what is stored of it, and what is to be. Answers how many were changed.
REPLACE: Final = (
    _FIRST
    + """
local done, grown = 0, 0
for at = 1, #ARGV, 3 do
  local body, place = body_of(ARGV[at])
  if body and body == ARGV[at + 1] then
    redis.call('LSET', KEYS[2], place, ARGV[at + 2])
    done, grown = done + 1, grown + #ARGV[at + 2] - #ARGV[at + 1]
  end
end
if grown ~= 0 then redis.call('HINCRBY', KEYS[1], 'bytes', grown) end
return done
"""
)

# ARGV: a name, what is stored under it, and what is to be. Answers how many were changed.
REPLACE_VALUE: Final = """
if redis.call('HGET', KEYS[4], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[4], ARGV[1], ARGV[3])
return 1
"""
