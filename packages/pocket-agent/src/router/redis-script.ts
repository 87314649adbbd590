// What Redis does for the shared windows: one Lua script an operation, so that each is done whole or not at all.

/** KEYS: the window, the processes. ARGV: bucketMs, pieces kept, this process, how long a silent peer counts, then the script's own. */
const common = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local bucketMs, size, aliveMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4])
local head = math.floor(now / bucketMs)
local pieces, sum = {}, { r = 0, t = 0 }

local function count(kind, bucket, amount)
  pieces[bucket] = pieces[bucket] or { r = 0, t = 0 }
  pieces[bucket][kind] = pieces[bucket][kind] + amount
  sum[kind] = sum[kind] + amount
end

local stored = redis.call('HGETALL', KEYS[1])
for index = 1, #stored, 2 do
  local field = stored[index]
  local bucket = tonumber(field:sub(2))
  if bucket <= head - size then
    redis.call('HDEL', KEYS[1], field)
  else
    count(field:sub(1, 1), bucket, tonumber(stored[index + 1]))
  end
end

local function add(kind, bucket, amount)
  if amount == 0 then return end
  redis.call('HINCRBYFLOAT', KEYS[1], kind .. string.format('%.0f', bucket), amount)
  count(kind, bucket, amount)
end

local function present()
  redis.call('ZADD', KEYS[2], now, ARGV[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - aliveMs)
  redis.call('PEXPIRE', KEYS[2], math.ceil(aliveMs))
  redis.call('PEXPIRE', KEYS[1], math.ceil(2 * size * bucketMs))
  return redis.call('ZCARD', KEYS[2])
end
`;

/** ARGV: tokens, limit of requests, limit of tokens ('' for none). Returns taken, piece or wait, peers, requests, tokens. */
const reserve = `
local tokens = tonumber(ARGV[5])
local requestsOver = sum.r + 1 - (tonumber(ARGV[6]) or math.huge)
local tokensOver = sum.t + tokens - (tonumber(ARGV[7]) or math.huge)
if requestsOver <= 0 and tokensOver <= 0 then
  add('r', head, 1)
  add('t', head, tokens)
  return { 1, head, present(), tostring(sum.r), tostring(sum.t) }
end
local wait = size * bucketMs
for bucket = head - size + 1, head do
  local piece = pieces[bucket]
  if piece then
    requestsOver = requestsOver - piece.r
    tokensOver = tokensOver - piece.t
    if requestsOver <= 0 and tokensOver <= 0 then
      wait = (bucket + size) * bucketMs - now
      break
    end
  end
end
return { 0, math.max(1, math.ceil(wait)), present(), tostring(sum.r), tostring(sum.t) }
`;

/** ARGV: piece, change of its tokens. A piece that has left the window is left alone. */
const settle = `
local bucket = tonumber(ARGV[5])
if pieces[bucket] then add('t', bucket, math.max(tonumber(ARGV[6]), -pieces[bucket].t)) end
return { present() }
`;

/** ARGV: requests, tokens, how many pieces ago they are put. */
const raise = `
local bucket = head - tonumber(ARGV[7])
add('r', bucket, math.max(0, tonumber(ARGV[5]) - sum.r))
add('t', bucket, math.max(0, tonumber(ARGV[6]) - sum.t))
return { present() }
`;

/** ARGV: age, requests, tokens of pieces to add, if any. Returns peers, then age, requests, tokens of all pieces. */
const merge = `
for index = 5, #ARGV, 3 do
  local bucket = head - tonumber(ARGV[index])
  add('r', bucket, tonumber(ARGV[index + 1]))
  add('t', bucket, tonumber(ARGV[index + 2]))
end
local reply = { present() }
for bucket, piece in pairs(pieces) do
  reply[#reply + 1] = head - bucket
  reply[#reply + 1] = tostring(piece.r)
  reply[#reply + 1] = tostring(piece.t)
end
return reply
`;

const leave = `
redis.call('ZREM', KEYS[2], ARGV[3])
return {}
`;

export type ScriptName = 'reserve' | 'settle' | 'raise' | 'merge' | 'leave';

export const scripts: Readonly<Record<ScriptName, string>> = {
  reserve: common + reserve,
  settle: common + settle,
  raise: common + raise,
  merge: common + merge,
  leave,
};
