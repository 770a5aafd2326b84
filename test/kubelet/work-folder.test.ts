/** Which words of a command name the file for a container's last words. */
import t from 'tap'
import { withOwnFiles } from '#kubelet/runtime/process/work-folder.js'

const own = withOwnFiles([
  { volume: '', hostPath: '/pods/u/0', containerPath: '/dev/termination-log', readOnly: false },
  { volume: 'v', hostPath: '/pods/u/v', containerPath: '/data', readOnly: false },
])
const there = '/dev/termination-log'

t.test('its path, alone and in a script, but no longer path and no volume', async (t) => {
  for (const around of ['*', 'echo a >* && cat "*"', '--log=*', "printf x >'*'; echo .", 'a:*:b'])
    t.equal(own(around.replaceAll('*', there)), around.replaceAll('*', '/pods/u/0'))
  for (const other of [
    '*.1',
    '*s',
    '/host*',
    '$CONTAINER_ROOT*',
    '"$CONTAINER_ROOT*"',
    '"$CONTAINER_ROOT"*',
    '*/x',
  ])
    t.equal(own(other.replaceAll('*', there)), other.replaceAll('*', there))
  t.equal(own('/data/x'), '/data/x')
})

t.test('a text that names it very often holds up nobody', async (t) => {
  const short = withOwnFiles([
    { volume: '', hostPath: '/pods/u/0', containerPath: '/a', readOnly: false },
  ])
  t.ok(short(' /a'.repeat(400_000)) === ' /pods/u/0'.repeat(400_000))
  t.equal(short('/a/a /a'), '/a/a /pods/u/0')
})
