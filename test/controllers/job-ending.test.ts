/** When a Job has failed often enough. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { endingOf } from '#controllers/job/ending.js'
import { metSuccessRule } from '#controllers/job/indexes.js'
import type { Job } from '#controllers/job/job.js'
import { storedMetadata } from '../stored-metadata.js'

const podOf = (restartCount: number, metadata: object = {}): Pod =>
  ({
    metadata: storedMetadata({ name: 'p', ...metadata }),
    spec: { containers: [] },
    status: { phase: 'Running', containerStatuses: [{ name: 'c', restartCount }] },
  }) as unknown as Pod

t.test('restarts in place count as tries, those of a Pod that is ending too', (t) => {
  const reason = (restartPolicy: string, backoffLimit: number, ...pods: Pod[]) => {
    const template = { spec: { restartPolicy } }
    const job = { spec: { backoffLimit, completions: 1, template } } as unknown as Job
    return endingOf(job, {}, pods, { now: 0, failJob: undefined, kept: 0 })?.reason
  }
  const ending = podOf(2, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  const limit = 'BackoffLimitExceeded'
  t.equal(reason('OnFailure', 3, podOf(1), ending), limit)
  t.equal(reason('OnFailure', 4, podOf(1), ending), undefined)
  t.equal(reason('OnFailure', 0, podOf(0)), undefined)
  t.equal(reason('OnFailure', 0, podOf(1)), limit)
  t.equal(reason('Never', 0, podOf(1)), undefined)
  t.end()
})

const met = (completions: number, succeeded: number[], ...rules: object[]) => {
  const spec = { completions, successPolicy: { rules } }
  return metSuccessRule({ spec } as unknown as Job, new Set(succeeded))
}

t.test('a success policy asks for indexes, for a number of them, or for any number', async (t) => {
  const any = { succeededCount: 2 }
  t.equal(met(4, [], any), undefined)
  t.equal(met(4, [3], any), undefined)
  t.equal(met(4, [0, 3], any), 0)
  const first = { succeededIndexes: '0-1', succeededCount: 1 }
  t.equal(met(4, [2, 3], first), undefined)
  t.equal(met(4, [2, 1], first), 0)
  t.equal(met(4, [2, 1], { succeededIndexes: '0-1' }, any), 1, 'the first that is met')
  t.equal(met(4, [2, 1, 0], { succeededIndexes: '0-1' }, any), 0)
  t.equal(met(4, [2], { succeededIndexes: '' }), undefined)
  t.equal(met(2, [2], { succeededIndexes: '0,2', succeededCount: 1 }), undefined, 'no such index')
  t.equal(met(4, [0], {}), undefined)
})

t.test('a success policy may ask for thousands of millions of indexes', (t) => {
  const most = 2 ** 31 - 1
  const all = { succeededIndexes: `0,2-${2 ** 31 - 2}` }
  t.equal(met(most, [0, 2], all), undefined)
  t.equal(met(most, [1], { ...all, succeededCount: 1 }), undefined, 'not one of those')
  t.equal(met(most, [2 ** 31 - 2, 0, 7], { ...all, succeededCount: 3 }), 0)
  t.equal(met(most, [5, 0, 4], all, { succeededIndexes: '4-5' }), 1)
  t.equal(met(most, [2, 7], { succeededIndexes: '2-7' }), undefined)
  t.end()
})
