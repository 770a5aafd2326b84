import t from 'tap'
import { isGlobalUnicast } from '#net/global-unicast.js'

t.test('what leads to this machine or to several is no address of one other', (t) => {
  for (const address of [
    '10.0.0.1',
    '192.0.2.1',
    '0.0.0.1',
    '100.64.0.1',
    'fd00::1',
    '2001:db8::1',
  ])
    t.ok(isGlobalUnicast(address), address)
  for (const address of [
    ...['127.0.0.1', '127.8.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1', '239.1.1.1'],
    ...['255.255.255.255', '::', '::1', '0:0:0:0:0:0:0:1', 'fe80::1', 'febf::1', 'ff02::1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', 'localhost', '0127.0.0.1', ''],
  ])
    t.notOk(isGlobalUnicast(address), address)
  t.end()
})
