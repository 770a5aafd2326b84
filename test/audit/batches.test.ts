import t from 'tap'
import { sleep } from '#async/sleep.js'
import type { AuditRecord } from '#audit/audit-record.js'
import { Batches } from '#audit/batches.js'

const record = {} as AuditRecord

t.test('a batch waits for more events for as long as was asked for, also for weeks', async (t) => {
  const sent: number[] = []
  const to = { take: (records: readonly unknown[]) => sent.push(records.length) > 0 }
  const options = { bufferSize: 10, maxSize: 3, maxWaitMs: 30 * 86_400_000 }
  const batches = new Batches({ ...to, close: async () => {} }, options, () => {})
  batches.take([record])
  await sleep(20)
  batches.take([record])
  await sleep(20)
  t.same(sent, [])
  await batches.close()
  t.same(sent, [2], 'what waits is sent when it ends')
})
