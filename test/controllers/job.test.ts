/** How Pods of a Job are counted. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { account } from '#controllers/job/accounting.js'
import { type Job, trackingFinalizer } from '#controllers/job/job.js'
import { runningCounts } from '#controllers/job/status.js'
import { storedMetadata } from '../stored-metadata.js'

const pod = (name: string, phase: string, isTerminating: boolean): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name,
    uid: name,
    finalizers: [trackingFinalizer],
    ...(isTerminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  }),
  spec: { containers: [] },
  status: { phase },
})
const job = (conditions: object[]): Job =>
  ({
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: storedMetadata({ name: 'j' }),
    spec: { podReplacementPolicy: 'Failed', template: { spec: { containers: [] } } },
    status: { conditions },
  }) as unknown as Job

t.test('once a Job has failed, Pods that are ending count as failed and are let go', (t) => {
  const pods = [pod('over', 'Failed', true), pod('ending', 'Running', true)]
  const released = (conditions: object[]) =>
    account(job(conditions), pods).release.map(({ metadata }) => metadata.name)
  t.same(released([]), ['over'], 'podReplacementPolicy Failed: not before it has failed')
  t.same(released([{ type: 'FailureTarget', status: 'True' }]), ['over', 'ending'])
  t.end()
})

t.test('a Job that is deleted goes on telling what runs, and counts nothing more', (t) => {
  const deleted = { ...job([]), status: { active: 2, ready: 2, failed: 1 } } as unknown as Job
  const pods = [pod('up', 'Running', false), pod('ending', 'Running', true)]
  t.same(runningCounts(deleted, pods), { active: 1, failed: 1, ready: 0, terminating: 1 })
  t.same(runningCounts(deleted, [pod('over', 'Failed', true)]), {
    failed: 1,
    ready: 0,
    terminating: 0,
  })
  t.end()
})
