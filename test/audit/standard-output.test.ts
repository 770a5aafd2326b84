/** What becomes of an audit log that nobody reads for a while. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { killGroup } from '../kill-group.js'

const module = (name: string): string => new URL(`../../src/audit/${name}.js`, import.meta.url).href

/** More than a pipe holds. */
const program = `
import { AuditRecord } from '${module('audit-record')}'
import { StandardOutput } from '${module('standard-output')}'
const log = new StandardOutput('json', (message, error) => console.error(message, error))
const record = (i) => new AuditRecord({
  auditID: String(i), requestURI: 'x'.repeat(10_000), requestReceivedTimestamp: '', stageTimestamp: '',
})
const answers = Array.from({ length: 100 }, (_, i) => log.take([record(i)]))
console.error('all are taken')
await log.close()
const kept = await Promise.all(answers)
console.error(kept.every(Boolean) ? 'all are kept' : 'some are lost')
`

t.test('a reader that comes late gets every line', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  t.teardown(() => killGroup(child))
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  await once(child.stderr, 'data')
  t.equal(said, 'all are taken\n')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  t.equal(said, 'all are taken\nall are kept\n')
  const ids = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).auditID)
  t.same(
    ids,
    Array.from({ length: 100 }, (_, i) => String(i)),
  )
})
