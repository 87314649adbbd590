// Lua scripts for the windows in Redis. Each operation is one script, so it is atomic.

/**
 * KEYS: the window, the set of processes. ARGV: length of a slot in ms, number of slots, this process, how long a
 * silent process counts in ms, then the arguments of the script itself.
 */
const prelude = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local slotMs, slotCount, peerTtlMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local current = math.floor(now / slotMs)
local slots, total = {}, { r = 0, t = 0 }

local function count(kind, slot, amount)
  slots[slot] = slots[slot] or { r = 0, t = 0 }
  slots[slot][kind] = slots[slot][kind] + amount
  total[kind] = total[kind] + amount
end

local stored = redis.call('HGETALL', KEYS[1])
for index = 1, #stored, 2 do
  local field = stored[index]
  local slot = tonumber(field:sub(2))
  if slot <= current - slotCount then
    redis.call('HDEL', KEYS[1], field)
  else
    count(field:sub(1, 1), slot, tonumber(stored[index + 1]))
  end
end

local function add(kind, slot, amount)
  if amount == 0 then return end
  redis.call('HINCRBYFLOAT', KEYS[1], kind .. string.format('%.0f', slot), amount)
  count(kind, slot, amount)
end

local function countPeers()
  redis.call('ZADD', KEYS[2], now, ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - peerTtlMs)
  redis.call('PEXPIRE', KEYS[2], math.ceil(peerTtlMs))
  redis.call('PEXPIRE', KEYS[1], math.ceil(2 * slotCount * slotMs))
  return redis.call('ZCARD', KEYS[2])
end
`;

/**
 * ARGV: tokens, limit of requests, limit of tokens ('' for no limit).
 * Returns 1 and the slot or 0 and the wait, then peers, requests, tokens.
 */
const reserve = `
local tokens = tonumber(ARGV[5])
local requestsOver = total.r + 1 - (tonumber(ARGV[6]) or math.huge)
local tokensOver = total.t + tokens - (tonumber(ARGV[7]) or math.huge)
if requestsOver <= 0 and tokensOver <= 0 then
  add('r', current, 1)
  add('t', current, tokens)
  return { 1, current, countPeers(), tostring(total.r), tostring(total.t) }
end
local wait = slotCount * slotMs
for slot = current - slotCount + 1, current do
  local use = slots[slot]
  if use then
    requestsOver = requestsOver - use.r
    tokensOver = tokensOver - use.t
    if requestsOver <= 0 and tokensOver <= 0 then
      wait = (slot + slotCount) * slotMs - now
      break
    end
  end
end
return { 0, math.max(1, math.ceil(wait)), countPeers(), tostring(total.r), tostring(total.t) }
`;

/** ARGV: slot, change of its tokens. An expired slot is left alone. */
const settle = `
local slot = tonumber(ARGV[5])
if slots[slot] then add('t', slot, math.max(tonumber(ARGV[6]), -slots[slot].t)) end
return { countPeers() }
`;

/** ARGV: requests, tokens, when they expire in ms. */
const raise = `
local expires = math.ceil((now + tonumber(ARGV[7])) / slotMs)
local slot = math.min(math.max(expires - slotCount, current - slotCount + 1), current)
add('r', slot, math.max(0, tonumber(ARGV[5]) - total.r))
add('t', slot, math.max(0, tonumber(ARGV[6]) - total.t))
return { countPeers() }
`;

/** ARGV: age, requests and tokens of each slot to add. Returns peers, then age, requests and tokens of every slot. */
const merge = `
for index = 5, #ARGV, 3 do
  local slot = current - tonumber(ARGV[index])
  add('r', slot, tonumber(ARGV[index + 1]))
  add('t', slot, tonumber(ARGV[index + 2]))
end
local reply = { countPeers() }
for slot, use in pairs(slots) do
  reply[#reply + 1] = current - slot
  reply[#reply + 1] = tostring(use.r)
  reply[#reply + 1] = tostring(use.t)
end
return reply
`;

const leave = `
redis.call('ZREM', KEYS[2], ARGV[3])
return {}
`;

export const scripts = {
  reserve: prelude + reserve,
  settle: prelude + settle,
  raise: prelude + raise,
  merge: prelude + merge,
  leave,
};
