// What the server does in one step. Names of sessions, owners and so on come escaped; times are milliseconds since 1970.

/**
 * Keys, all behind one base with one hash tag, so that a script may touch all of them:
 * `session:S` hash, `log:S` list, `payloads:S` hash, `asked:S` hash of approvals, `live:S`, `runs:S` and `open:S` sorted sets of run ids by
 * order: of one session, with one time to live, and `run:R` hashes, which may go a little later. `ids:S`: which ids stand in indices, without contents, until they are swept.
 * `sessions…`, `approvals…`, `allruns…`: indices for lists. `expiring`: sessions by their end. `later:Q`, `ready:Q`, `held:Q…`: queues.
 */
const library = `
local base = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function int(number) return string.format('%.0f', number) end
local function key(kind, name) return base .. kind .. ':' .. name end
local function each(list, step, call)
  for at = 1, #list, step do
    local part = {}
    for place = at, math.min(at + step - 1, #list) do part[#part + 1] = list[place] end
    call(unpack(part))
  end
end
local function fields(name)
  local flat, found = redis.call('HGETALL', name), {}
  for at = 1, #flat, 2 do found[flat[at]] = flat[at + 1] end
  return found
end
local function tell(session) redis.call('PUBLISH', base .. 'changes', session) end

local parts = { 'session', 'log', 'payloads', 'asked', 'live', 'runs', 'open' }
-- A session that a run needs for longer is not ended earlier by what is written meanwhile.
local function touch(session, ttl, due)
  if ttl == '' or not ttl then return end
  local stood = redis.call('HMGET', key('session', session), 'expiresAt', 'runsExpireAt')
  local ends = math.max(tonumber(stood[1] or '0'), math.max(now, due or 0) + tonumber(ttl))
  redis.call('HSET', key('session', session), 'expiresAt', int(ends))
  for _, part in ipairs(parts) do redis.call('PEXPIREAT', key(part, session), int(ends)) end
  -- Its runs go a little later, so that few writes have to reach each of them. One whose session is gone is none: see runOf.
  if ends > tonumber(stood[2] or '0') then
    local later = int(ends + math.ceil(tonumber(ttl) / 10))
    redis.call('HSET', key('session', session), 'runsExpireAt', later)
    for _, run in ipairs(redis.call('ZRANGE', key('runs', session), 0, -1)) do redis.call('PEXPIREAT', key('run', run), later) end
  end
  redis.call('ZADD', base .. 'expiring', int(ends), session)
end
-- The fields of a run; none where its session is gone.
local function runOf(id)
  local run = fields(key('run', id))
  if run.session and redis.call('EXISTS', key('session', run.session)) == 0 then return {} end
  return run
end

local function indicesOf(owner, tenant, queue)
  return { base .. 'allruns', base .. 'allruns:active', base .. 'allruns:waiting', key('allruns:o', owner), key('allruns:t', tenant),
    key('later', queue), key('held', queue), key('heldby:' .. #queue .. ':' .. queue, tenant) }
end
local function unindex(session)
  local ids = fields(key('ids', session))
  local owners = { ids['@owner'], ids['@tenant'] }
  redis.call('ZREM', base .. 'sessions', session)
  redis.call('ZREM', key('sessions:o', ids['@owner'] or ''), session)
  redis.call('ZREM', key('sessions:t', ids['@tenant'] or ''), session)
  for name, value in pairs(ids) do
    local kind, id = string.sub(name, 1, 1), string.sub(name, 2)
    if kind == 'a' then
      redis.call('HDEL', base .. 'askedby', id)
      for _, index in ipairs({ base .. 'approvals', base .. 'approvals:open', base .. 'approvals:decided', key('approvals:o', ids['@owner'] or ''), key('approvals:t', ids['@tenant'] or '') }) do
        redis.call('ZREM', index, id)
      end
    elseif kind == 'r' then
      local place = cjson.decode(value)
      -- Another session may have a run of this id since: it stays, and where it stands.
      local run = fields(key('run', id))
      local isOther = run.session and run.session ~= session
      local isKept = {}
      if isOther then
        for _, index in ipairs(indicesOf(run.owner or '', run.tenant or '', run.queue)) do isKept[index] = true end
      else redis.call('DEL', key('run', id)) end
      for _, index in ipairs(indicesOf(place.owner, place.tenant, place.queue)) do
        if not isKept[index] then redis.call('ZREM', index, id) end
      end
    end
  end
  redis.call('DEL', key('ids', session))
  redis.call('ZREM', base .. 'expiring', session)
end
local function purge(session)
  unindex(session)
  for _, part in ipairs(parts) do redis.call('DEL', key(part, session)) end
end

local function order(session, record)
  redis.call('ZADD', base .. 'sessions', record.updatedAt, session)
  if record.owner then redis.call('ZADD', key('sessions:o', record.owner), record.updatedAt, session) end
  if record.tenant then redis.call('ZADD', key('sessions:t', record.tenant), record.updatedAt, session) end
end
local function create(session, given)
  if redis.call('EXISTS', key('ids', session)) == 1 then purge(session) end
  local time = int(now)
  local set = { 'inc', given.inc, 'events', '0', 'createdAt', time, 'updatedAt', time }
  for _, name in ipairs({ 'owner', 'tenant', 'ttl' }) do
    if given[name] and given[name] ~= '' then set[#set + 1] = name; set[#set + 1] = given[name] end
  end
  redis.call('HSET', key('session', session), unpack(set))
  redis.call('HSET', key('ids', session), '@owner', given.owner or '', '@tenant', given.tenant or '')
  local record = fields(key('session', session))
  order(session, record)
  touch(session, record.ttl)
  return fields(key('session', session))
end
local function flat(record)
  local list = {}
  for name, value in pairs(record) do list[#list + 1] = name; list[#list + 1] = value end
  return list
end

local function putPayloads(session, first, count)
  for at = first, first + count * 2 - 1, 2 do redis.call('HSETNX', key('payloads', session), ARGV[at], ARGV[at + 1]) end
end
local function putApproval(session, record, approval)
  redis.call('HSET', key('asked', session), approval.id, approval.text)
  redis.call('HSET', key('ids', session), 'a' .. approval.id, '')
  redis.call('HSET', base .. 'askedby', approval.id, session)
  redis.call('ZADD', base .. 'approvals', approval.at, approval.id)
  if record.owner then redis.call('ZADD', key('approvals:o', record.owner), approval.at, approval.id) end
  if record.tenant then redis.call('ZADD', key('approvals:t', record.tenant), approval.at, approval.id) end
  for _, state in ipairs({ 'open', 'decided' }) do
    if approval.state == state then redis.call('ZADD', key('approvals', state), approval.at, approval.id)
    else redis.call('ZREM', key('approvals', state), approval.id) end
  end
end

-- Names hold no U+0000. What a claim asks first stands in it, so that those that it passes by cost it nothing.
local function ready(run, id)
  return string.format('%016.0f:', tonumber(run.dueAt)) .. id .. '\\0' .. (run.tenant or '') .. '\\0' .. run.agent
end
local function heldBy(run) return key('heldby:' .. #run.queue .. ':' .. run.queue, run.tenant or '') end
local function dequeue(run, id)
  redis.call('ZREM', key('later', run.queue), id)
  redis.call('ZREM', key('ready', run.queue), ready(run, id))
  redis.call('ZREM', key('held', run.queue), id)
  redis.call('ZREM', heldBy(run), id)
end
local function enqueue(run, id)
  local position = run.position
  if run.state == 'ended' then redis.call('ZREM', key('open', run.session), id)
  else redis.call('ZADD', key('open', run.session), position, id) end
  if run.state == 'waiting' then redis.call('ZADD', base .. 'allruns:waiting', position, id)
  else redis.call('ZREM', base .. 'allruns:waiting', id) end
  if run.state == 'queued' or run.state == 'running' then redis.call('ZADD', base .. 'allruns:active', position, id)
  else redis.call('ZREM', base .. 'allruns:active', id) end
  if run.state == 'queued' then
    -- What was due when it was written is due, also where the clock is set back.
    if tonumber(run.dueAt) <= tonumber(run.updatedAt) then redis.call('ZADD', key('ready', run.queue), run.priority, ready(run, id))
    else redis.call('ZADD', key('later', run.queue), run.dueAt, id) end
  elseif run.state == 'running' and run.leaseUntil then
    redis.call('ZADD', key('held', run.queue), run.leaseUntil, id)
    redis.call('ZADD', heldBy(run), run.leaseUntil, id)
  end
  -- The rule is that of \`neededUntil\` in \`@guardloop/store\`.
  if run.state == 'queued' or run.state == 'running' then
    local needed = run.dueAt
    if run.state == 'running' then needed = run.leaseUntil end
    touch(run.session, redis.call('HGET', key('session', run.session), 'ttl'), tonumber(needed or '0'))
  end
end
`;

const script = (body: string, flags = ''): string => `#!lua${flags === '' ? '' : ` flags=${flags}`}\n${library}\n${body}`;

export const scripts = {
  /** session, afterSeq → { events held, texts }. */
  load: script(
    `
local events = tonumber(redis.call('HGET', key('session', ARGV[1]), 'events') or '0')
local log = key('log', ARGV[1])
if redis.call('LLEN', log) ~= events then return { 'damaged' } end
return { 'ok', redis.call('LRANGE', log, ARGV[2], -1) }`,
    'no-writes',
  ),

  /**
   * session, afterSeq, incarnation that was read or '', a new one, the store's ttl, run, agent, status, counts of texts, payloads,
   * approvals; texts; digest and text of each payload; id, text that was read or '', new text, its state, time of the question of
   * each approval.
   */
  append: script(`
local session, after, inc = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local name = key('session', session)
local held = redis.call('HMGET', name, 'events', 'inc')
local found = tonumber(held[1] or '0')
if found ~= after then return { 'conflict', int(found) } end
if (held[2] or '') ~= inc then return { 'again' } end
if redis.call('LLEN', key('log', session)) ~= after then return { 'damaged' } end
local texts, payloads, approvals = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local first = 12 + texts + payloads * 2
for at = first, first + approvals * 5 - 1, 5 do
  if (redis.call('HGET', key('asked', session), ARGV[at]) or '') ~= ARGV[at + 1] then return { 'again' } end
  local other = redis.call('HGET', base .. 'askedby', ARGV[at])
  if other and other ~= session then
    if redis.call('EXISTS', key('session', other)) == 1 then return { 'taken', ARGV[at], other } end
    purge(other)
  end
end
if inc == '' then create(session, { inc = ARGV[4], ttl = ARGV[5] }) end
local list = {}
for at = 12, 11 + texts do list[#list + 1] = ARGV[at] end
each(list, 1000, function(...) redis.call('RPUSH', key('log', session), ...) end)
redis.call('HSET', name, 'events', int(after + texts), 'updatedAt', int(now))
for at, field in ipairs({ 'run', 'agent', 'status' }) do
  if ARGV[5 + at] == '' then redis.call('HDEL', name, field) else redis.call('HSET', name, field, ARGV[5 + at]) end
end
local record = fields(name)
putPayloads(session, 12 + texts, payloads)
for at = first, first + approvals * 5 - 1, 5 do
  putApproval(session, record, { id = ARGV[at], text = ARGV[at + 2], state = ARGV[at + 3], at = ARGV[at + 4] })
end
order(session, record)
touch(session, record.ttl)
tell(session)
return { 'ok', record.inc }`),

  /** session, owner, tenant, ttl, a new incarnation → { created, fields }. */
  createSession: script(`
local session = ARGV[1]
local before = fields(key('session', session))
if before.inc then return { 0, flat(before) } end
local record = create(session, { owner = ARGV[2], tenant = ARGV[3], ttl = ARGV[4], inc = ARGV[5] })
tell(session)
return { 1, flat(record) }`),

  /** session → 1 where it was there. Done also where memory is full. */
  deleteSession: script(
    `
local was = redis.call('EXISTS', key('session', ARGV[1]))
purge(ARGV[1])
if was == 1 then tell(ARGV[1]) end
return was`,
    'allow-oom',
  ),

  /** → how many went. */
  sweep: script(
    `
local gone = 0
for _, session in ipairs(redis.call('ZRANGEBYSCORE', base .. 'expiring', '-inf', int(now), 'LIMIT', 0, 100)) do
  if redis.call('EXISTS', key('session', session)) == 0 then
    purge(session)
    gone = gone + 1
  else redis.call('ZREM', base .. 'expiring', session) end
end
return gone`,
    'allow-oom',
  ),

  /** session, id, text that was read, new text, its state, time of the question, count of payloads; digest and text of each. */
  putApproval: script(`
local session = ARGV[1]
if (redis.call('HGET', key('asked', session), ARGV[2]) or '') ~= ARGV[3] then return 0 end
putPayloads(session, 8, tonumber(ARGV[7]))
local record = fields(key('session', session))
putApproval(session, record, { id = ARGV[2], text = ARGV[4], state = ARGV[5], at = ARGV[6] })
if record.expiresAt then redis.call('PEXPIREAT', key('payloads', session), record.expiresAt) end
tell(session)
return 1`),

  /** session, text or ''. Kept only for a session that is there. */
  putLive: script(`
local session = ARGV[1]
local record = fields(key('session', session))
if ARGV[2] == '' or not record.inc then redis.call('DEL', key('live', session))
else
  redis.call('SET', key('live', session), ARGV[2])
  putPayloads(session, 4, tonumber(ARGV[3]))
  if record.expiresAt then
    redis.call('PEXPIREAT', key('live', session), record.expiresAt)
    redis.call('PEXPIREAT', key('payloads', session), record.expiresAt)
  end
end
tell(session)
return 1`),

  /**
   * id, session, a new incarnation, the store's ttl, incarnation of the session that was found to be theirs or '', counts of payloads and
   * fields; digest and text of each payload; name and value of each field → { 1 where it was created, fields }; { 2, fields of the session }
   * where it is to be looked whose that is.
   */
  createRun: script(`
local id, session = ARGV[1], ARGV[2]
local before = runOf(id)
if before.state then return { 0, flat(before) } end
local gone = redis.call('HGET', key('run', id), 'session')
if gone then purge(gone) end
local payloads, count = tonumber(ARGV[6]), tonumber(ARGV[7])
local first = 8 + payloads * 2
local run = {}
for at = first, first + count * 2 - 1, 2 do run[ARGV[at]] = ARGV[at + 1] end
local there = redis.call('HGETALL', key('session', session))
if #there > 0 then
  if (run.owner or run.tenant) and redis.call('HGET', key('session', session), 'inc') ~= ARGV[5] then return { 2, there } end
else
  create(session, { inc = ARGV[3], ttl = ARGV[4], owner = run.owner, tenant = run.tenant })
end
run.position = int(redis.call('INCR', base .. 'orders'))
run.createdAt, run.updatedAt, run.token, run.eventsAtClaim = int(now), int(now), '0', '0'
redis.call('HSET', key('run', id), unpack(flat(run)))
local expiresAt = redis.call('HGET', key('session', session), 'runsExpireAt')
if expiresAt then redis.call('PEXPIREAT', key('run', id), expiresAt) end
redis.call('HSET', key('ids', session), 'r' .. id, cjson.encode({ owner = run.owner or '', tenant = run.tenant or '', queue = run.queue }))
redis.call('ZADD', key('runs', session), run.position, id)
redis.call('ZADD', base .. 'allruns', run.position, id)
if run.owner then redis.call('ZADD', key('allruns:o', run.owner), run.position, id) end
if run.tenant then redis.call('ZADD', key('allruns:t', run.tenant), run.position, id) end
putPayloads(session, 8, payloads)
enqueue(run, id)
tell(session)
return { 1, redis.call('HGETALL', key('run', id)) }`),

  /** ids → the fields of each; none for one that is not there. */
  readRuns: script(
    `
local found = {}
for at, id in ipairs(ARGV) do found[at] = flat(runOf(id)) end
return found`,
    'no-writes',
  ),

  /**
   * id, version that was read, counts of payloads and fields; digest and text of each payload; name and value of each field, '' takes it
   * away.
   */
  updateRun: script(`
local id = ARGV[1]
local name = key('run', id)
local before = runOf(id)
if before.version ~= ARGV[2] then return false end
local payloads, count = tonumber(ARGV[3]), tonumber(ARGV[4])
putPayloads(before.session, 5, payloads)
local expiresAt = redis.call('HGET', key('session', before.session), 'expiresAt')
if expiresAt then redis.call('PEXPIREAT', key('payloads', before.session), expiresAt) end
dequeue(before, id)
for at = 5 + payloads * 2, 4 + payloads * 2 + count * 2, 2 do
  if ARGV[at + 1] == '' then redis.call('HDEL', name, ARGV[at]) else redis.call('HSET', name, ARGV[at], ARGV[at + 1]) end
end
redis.call('HSET', name, 'updatedAt', int(now), 'version', int(tonumber(before.version) + 1))
enqueue(fields(name), id)
tell(before.session)
return redis.call('HGETALL', name)`),

  /** id, token, leaseMs. */
  renewRun: script(`
local id = ARGV[1]
local name = key('run', id)
local run = runOf(id)
if run.state ~= 'running' or not run.leaseUntil or run.token ~= ARGV[2] then return false end
dequeue(run, id)
run.leaseUntil, run.updatedAt, run.version = int(now + tonumber(ARGV[3])), int(now), int(tonumber(run.version) + 1)
redis.call('HSET', name, 'leaseUntil', run.leaseUntil, 'updatedAt', run.updatedAt, 'version', run.version)
enqueue(run, id)
return redis.call('HGETALL', name)`),

  /**
   * owner, leaseMs, run or '', whether agents are named, count of queues, count of agents; name, concurrency, tenantConcurrency of each
   * queue ('' any); agents; runs that are left alone. The rule of which run goes before which is that of `isNext` in `@guardloop/store`.
   */
  claimRun: script(`
local owner, lease, wanted = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local queues, agents, only, except = tonumber(ARGV[5]), {}, ARGV[4] == '1', {}
local excepted = 7 + queues * 3 + tonumber(ARGV[6])
for at = 7 + queues * 3, excepted - 1 do agents[ARGV[at]] = true end
for at = excepted, #ARGV do except[ARGV[at]] = true end

local longest = 3600000
local function isHeld(run)
  local ends = tonumber(run.leaseUntil or '0')
  return not run.leaseUntil or (ends > now and ends <= now + longest)
end
local function isTimeCome(run) return tonumber(run.dueAt) <= math.max(now, tonumber(run.updatedAt)) end
local function begun(run) return tonumber(run.token) > 0 end
local seen = { 'state', 'session', 'token', 'position', 'abandons', 'leaseUntil', 'dueAt', 'updatedAt', 'priority' }
local function look(id)
  local values, run = redis.call('HMGET', key('run', id), unpack(seen)), {}
  for at, field in ipairs(seen) do if values[at] then run[field] = values[at] end end
  return run
end

local stands = {}
local function standOf(session)
  local stand = stands[session]
  if stand then return stand end
  stand = { isHeld = false, isWaiting = false, begun = math.huge, abandoning = math.huge, due = math.huge }
  stands[session] = stand
  for _, id in ipairs(redis.call('ZRANGE', key('open', session), 0, -1)) do
    local run = look(id)
    local position = tonumber(run.position or '0')
    if not run.state then -- evicted
    elseif run.state == 'waiting' then stand.isWaiting = true
    elseif run.state == 'running' and isHeld(run) then
      stand.isHeld = true
      return stand
    elseif begun(run) then stand.begun = math.min(stand.begun, position)
    elseif isTimeCome(run) then
      stand.due = math.min(stand.due, position)
      if run.abandons == '1' then stand.abandoning = math.min(stand.abandoning, position) end
    end
  end
  return stand
end
local function isNext(run)
  local stand, position = standOf(run.session), tonumber(run.position)
  if stand.isHeld or (stand.isWaiting and run.abandons ~= '1') then return false end
  if begun(run) then return stand.begun >= position end
  local first = stand.due
  if stand.isWaiting then first = stand.abandoning end
  return stand.begun == math.huge and first >= position
end

local function promote(queue)
  for _, from in ipairs({ 'later', 'held' }) do
    local ids = redis.call('ZRANGEBYSCORE', key(from, queue), '-inf', int(now))
    if from == 'held' then
      for _, id in ipairs(redis.call('ZRANGEBYSCORE', key(from, queue), '(' .. int(now + longest), '+inf')) do ids[#ids + 1] = id end
    end
    for _, id in ipairs(ids) do
      local run = runOf(id)
      redis.call('ZREM', key(from, queue), id)
      if run.state then
        if from == 'held' then redis.call('ZREM', heldBy(run), id) end
        redis.call('ZADD', key('ready', queue), run.priority, ready(run, id))
      end
    end
  end
end
local rooms = {}
local function hasRoom(queue, tenant, tenantLimit)
  if tenantLimit == '' then return true end
  local name = 'heldby:' .. #queue .. ':' .. queue
  local place = name .. ':' .. tenant
  if rooms[place] == nil then rooms[place] = redis.call('ZCARD', key(name, tenant)) < tonumber(tenantLimit) end
  return rooms[place]
end

local best, bestId
local function isBetter(run, id)
  if not best then return true end
  local left, right = { tonumber(run.priority), tonumber(run.dueAt) }, { tonumber(best.priority), tonumber(best.dueAt) }
  if left[1] ~= right[1] then return left[1] < right[1] end
  if left[2] ~= right[2] then return left[2] < right[2] end
  return id < bestId
end
for at = 7, 6 + queues * 3, 3 do
  local queue, limit, tenantLimit = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  promote(queue)
  if limit == '' or redis.call('ZCARD', key('held', queue)) < tonumber(limit) then
    local function isAsked(tenant, agent) return (not only or agents[agent]) and hasRoom(queue, tenant, tenantLimit) end
    local function consider(id, run)
      if except[id] or not isNext(run) then return false end
      if isBetter(run, id) then best, bestId = run, id end
      return true
    end
    if wanted ~= '' then
      local run = runOf(wanted)
      if run.queue == queue and redis.call('ZSCORE', key('ready', queue), ready(run, wanted)) and isAsked(run.tenant or '', run.agent) then
        consider(wanted, run)
      end
    else
      local place, isOver = 0, false
      while not isOver do
        local members = redis.call('ZRANGE', key('ready', queue), place, place + 499)
        isOver = #members < 500
        place = place + 500
        for _, member in ipairs(members) do
          local first = string.find(member, '\\0', 18, true)
          local second = string.find(member, '\\0', first + 1, true)
          if isAsked(string.sub(member, first + 1, second - 1), string.sub(member, second + 1)) then
            local id = string.sub(member, 18, first - 1)
            local run = look(id)
            if not run.state or redis.call('EXISTS', key('session', run.session)) == 0 then
              redis.call('ZREM', key('ready', queue), member)
              place = place - 1
            elseif consider(id, run) then
              isOver = true
              break
            end
          end
        end
      end
    end
  end
end
if not best then return false end

local name = key('run', bestId)
best = fields(name)
local events = tonumber(redis.call('HGET', key('session', best.session), 'events') or '0')
local attempts = tonumber(best.attempts) + 1
if begun(best) and events > tonumber(best.eventsAtClaim) then attempts = 1 end
dequeue(best, bestId)
redis.call('HDEL', name, 'status')
redis.call('HSET', name, 'state', 'running', 'attempts', int(attempts), 'token', int(tonumber(best.token) + 1), 'eventsAtClaim', int(events),
  'leaseOwner', owner, 'leaseUntil', int(now + lease), 'updatedAt', int(now), 'version', int(tonumber(best.version) + 1))
enqueue(fields(name), bestId)
tell(best.session)
return { bestId, redis.call('HGETALL', name) }`),
} as const;

/** The name of a script. */
export type ScriptName = keyof typeof scripts;
