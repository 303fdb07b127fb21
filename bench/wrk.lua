-- Repeats one request, each time with another client address. The first argument is a file with the request, in which
-- the address replaces the word ADDRESS. The second one is the first byte of the addresses.
local bit = require('bit')
local before, after, network
local taken = 0

function init(arguments)
  local file = assert(io.open(arguments[1], 'rb'))
  before, after = file:read('*a'):match('^(.-)ADDRESS(.*)$')
  file:close()
  before = before .. arguments[2] .. '.'
end

function request()
  taken = taken + 1
  return before
    .. bit.band(bit.rshift(taken, 16), 255) .. '.'
    .. bit.band(bit.rshift(taken, 8), 255) .. '.'
    .. bit.band(taken, 255) .. after
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\n{"requests":%d,"us":%d,"failed":%d}', summary.requests, summary.duration, failed))
end
