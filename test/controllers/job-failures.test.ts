/** What failed Pods mean for their Job, and for the index that they worked on. */
import t from 'tap'
import type { Pod } from '#client/pod.js'
import { judgeFailure } from '#controllers/job/failure-policy.js'
import { failedIndexes, failureAnnotations, predecessors } from '#controllers/job/indexes.js'
import { formatIndexes, type Job, trackingFinalizer } from '#controllers/job/job.js'
import { storedMetadata } from '../stored-metadata.js'

const podOf = (name: string, status: object, metadata: object = {}): Pod =>
  ({
    metadata: storedMetadata({ name, finalizers: [trackingFinalizer], ...metadata }),
    spec: { containers: [] },
    status: { phase: 'Failed', ...status },
  }) as unknown as Pod
const exited = (name: string, exitCode: number) => ({ name, state: { terminated: { exitCode } } })
const jobOf = (spec: object): Job =>
  ({ metadata: storedMetadata({ name: 'j' }), spec, status: {} }) as unknown as Job

t.test('the first rule that fits decides', async (t) => {
  const judge = (status: object, ...rules: object[]) => {
    const verdict = judgeFailure(jobOf({ podFailurePolicy: { rules } }), podOf('p', status))
    return 'message' in verdict ? verdict.message : verdict.action
  }
  const codes = (operator: string, values: number[], containerName?: string) => ({
    onExitCodes: { operator, values, ...(containerName && { containerName }) },
  })
  const ignore = (on: object) => ({ action: 'Ignore', ...on })
  const failJob = (on: object) => ({ action: 'FailJob', ...on })
  const failed = (container: string, code: number) =>
    `Container ${container} for pod ns/p failed with exit code ${code} matching FailJob rule at index`
  const two = { containerStatuses: [exited('a', 0), exited('b', 3)] }

  t.equal(judge(two), 'Count', 'without a rule')
  t.equal(judge(two, ignore(codes('In', [1, 3]))), 'Ignore')
  t.equal(judge(two, ignore(codes('In', [1, 0]))), 'Count', 'success is no failure')
  t.equal(judge(two, ignore(codes('NotIn', [3]))), 'Count', 'not that of another container either')
  t.equal(judge(two, ignore(codes('NotIn', [1, 2]))), 'Ignore')
  t.equal(judge(two, ignore(codes('In', [3], 'a'))), 'Count')
  t.equal(judge(two, ignore(codes('In', [3], 'b'))), 'Ignore')
  t.equal(judge(two, { action: 'FailIndex', ...codes('In', [3]) }), 'FailIndex')
  t.equal(judge(two, { action: 'Count', ...codes('In', [3]) }, ignore(codes('In', [3]))), 'Count')
  t.equal(judge(two, ignore(codes('In', [4])), failJob(codes('In', [3]))), `${failed('b', 3)} 1`)
  const running = { containerStatuses: [{ name: 'a', state: { running: {} } }, exited('b', 3)] }
  t.equal(judge(running, ignore(codes('NotIn', [3]))), 'Count')
  const inits = { initContainerStatuses: [exited('i', 4)] }
  t.equal(judge({ ...inits, ...two }, failJob(codes('NotIn', [1]))), `${failed('b', 3)} 0`)
  t.equal(judge(inits, failJob(codes('NotIn', [1]))), `${failed('i', 4)} 0`)

  const conditions = [
    { type: 'Ready', status: 'False' },
    { type: 'A', status: 'True' },
    { type: 'B', status: 'True' },
  ]
  const when = (...onPodConditions: object[]) => ({ onPodConditions })
  t.equal(judge({ conditions }, ignore(when({ type: 'A', status: 'True' }))), 'Ignore')
  t.equal(judge({ conditions }, ignore(when({ type: 'A' }))), 'Ignore')
  t.equal(judge({ conditions, ...two }, ignore(when({ type: 'C' }))), 'Count')
  t.equal(judge({ conditions }, ignore(when({ type: 'A', status: 'False' }))), 'Count')
  t.equal(judge({ conditions }, ignore(when({ type: 'Ready', status: 'True' }))), 'Count')
  t.equal(judge({ conditions }, ignore(when({ type: 'Ready', status: 'False' }))), 'Ignore')
  t.equal(
    judge({ conditions }, failJob(when({ type: 'B', status: 'True' }, { type: 'A' }))),
    'Pod ns/p has condition A matching FailJob rule at index 0',
    'the first of the Pod',
  )
})

const policy = {
  rules: [
    { action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } },
    { action: 'FailIndex', onExitCodes: { operator: 'In', values: [2] } },
  ],
}
const failures = 'batch.kubernetes.io/job-index-failure-count'
const ignored = 'batch.kubernetes.io/job-index-ignored-failure-count'
/** One that has failed for an index, after so many others. */
const tried = (name: string, index: number, code: number, counts: object = {}, more: object = {}) =>
  podOf(
    name,
    { containerStatuses: [{ ...exited('c', code) }] },
    { annotations: { 'batch.kubernetes.io/job-completion-index': `${index}`, ...counts }, ...more },
  )
const indexed = { completions: 3, backoffLimitPerIndex: 1, podFailurePolicy: policy }

t.test('an index has failed when it was tried often enough, or when a rule says so', async (t) => {
  const of = (pods: Pod[], status: object = {}, job = jobOf(indexed)) => {
    const found = failedIndexes(job, status, pods)
    return found && formatIndexes(found)
  }
  const once = { [failures]: '1' }
  t.equal(of([tried('a', 0, 5)]), '', 'once is not too often')
  t.equal(of([tried('a', 0, 5, once)]), '0')
  t.equal(of([tried('a', 0, 1, once)]), '', 'what is ignored does not count')
  t.equal(of([tried('a', 0, 2)]), '0', 'FailIndex')
  t.equal(of([tried('a', 3, 2), tried('b', 2, 2)]), '2', 'there are three')
  t.equal(of([tried('a', 0, 2, {}, { finalizers: [] })], { failedIndexes: '1' }), '1', 'counted')
  const running = tried('a', 0, 2)
  running.status!.phase = 'Running'
  t.equal(of([running]), '')
  const decided = jobOf(indexed)
  decided.status = { conditions: [{ type: 'FailureTarget', status: 'True' }] } as never
  t.equal(of([tried('a', 0, 2)], { failedIndexes: '1' }, decided), '1')
  t.equal(of([tried('a', 0, 2)], {}, jobOf({ completions: 3 })), undefined, 'no limit for each')
})

t.test('the last that failed tells its successor how often the index was tried', async (t) => {
  const job = jobOf(indexed)
  const lastOf = (pods: Pod[], settled: number[] = []) =>
    [...predecessors(job, pods, new Set(settled))].map(
      ([i, { metadata }]) => `${i} ${metadata.name}`,
    )
  const a = tried('a', 0, 5)
  const b = tried('b', 0, 5, { [failures]: '1' })
  const c = tried('c', 0, 5, { [failures]: '0', [ignored]: '2' })
  for (const pods of [
    [a, b, c],
    [c, b, a],
  ])
    t.same(lastOf(pods), ['0 c'])
  t.same(lastOf([a, tried('d', 1, 5)], [0]), ['1 d'], 'not of one that is over')
  t.same(lastOf([tried('d', 3, 5), tried('e', 1, 5, {}, { finalizers: [] })]), [])
  const running = tried('r', 0, 5)
  running.status!.phase = 'Running'
  t.same(lastOf([a, running]), [], 'nor of one that is tried now')
  t.same(predecessors(jobOf({ completions: 3 }), [a], new Set()).size, 0)

  t.same(failureAnnotations(job, undefined), { [failures]: '0' })
  t.same(failureAnnotations(job, b), { [failures]: '2' })
  t.same(failureAnnotations(job, c), { [failures]: '1', [ignored]: '2' })
  t.same(failureAnnotations(job, tried('d', 0, 1)), { [failures]: '0', [ignored]: '1' })
  t.same(failureAnnotations(jobOf({ completions: 3 }), b), {})
})
