/** What the status of a job may say (kubernetes, batch/validation and pkg/registry/batch/job). */
import {
  duplicate,
  type FieldError,
  index,
  invalid,
  invalidUnprinted,
  required,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { zeroTime } from '#go/zero-time.js'
import { sameJson } from '../immutable.js'
import { internalForm } from '../internal-form.js'
import { notNegative } from './counts.js'
import { countIndexes, sharedIndex } from './index-intervals.js'

const conditionsError = (why: string): FieldError => invalidUnprinted('status.conditions', why)

const conditionIs = (job: KubeObject, type: string, status: string): boolean =>
  ((job.status?.conditions ?? []) as Fields[]).some((c) => c.type === type && c.status === status)
const has = (job: KubeObject, type: string): boolean => conditionIs(job, type, 'True')
const isFinished = (job: KubeObject): boolean => has(job, 'Complete') || has(job, 'Failed')
const isIndexed = ({ spec }: KubeObject): boolean => spec.completionMode === 'Indexed'

const uncountedErrors = (pods: Fields | undefined): FieldError[] => {
  const seen = new Set<string>()
  return ['succeeded', 'failed'].flatMap((list) =>
    ((pods?.[list] ?? []) as string[]).flatMap((uid, i) => {
      const at = index(`status.uncountedTerminatedPods.${list}`, i)
      if (uid === '') return [invalid(at, uid, 'must not be empty')]
      if (seen.has(uid)) return [duplicate(at, uid)]
      seen.add(uid)
      return []
    }),
  )
}

/** A zero time is shown as null, but given. */
const msOf = (time: string | null): number => Date.parse(time ?? zeroTime)

/** Rules that hold for a status as soon as one of the named things changes: `changed` tells which. */
const conditionErrors = (next: KubeObject, changed: (...what: string[]) => boolean) => {
  const { status } = next
  const { startTime, completionTime } = status
  const complete = has(next, 'Complete')
  const errors: FieldError[] = []
  if (changed('Complete', 'Failed') && complete && has(next, 'Failed'))
    errors.push(conditionsError('cannot set Complete=True and Failed=true conditions'))
  if (changed('Complete', 'FailureTarget') && complete && has(next, 'FailureTarget'))
    errors.push(conditionsError('cannot set Complete=True and FailureTarget=true conditions'))
  const timeAt = 'status.completionTime'
  if (changed('Complete', 'completionTime') && completionTime !== undefined && !complete)
    errors.push(
      invalid(
        timeAt,
        completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      ),
    )
  if (changed('Complete', 'completionTime') && completionTime === undefined && complete)
    errors.push(required(timeAt, 'completionTime is required for Complete jobs'))
  if (
    changed('startTime', 'completionTime') &&
    startTime !== undefined &&
    completionTime !== undefined &&
    msOf(completionTime) < msOf(startTime)
  )
    errors.push(invalid(timeAt, completionTime, 'must be equal to or after `startTime`'))
  if (changed('Failed', 'failedIndexes') && has(next, 'Failed') && !has(next, 'FailureTarget'))
    errors.push(
      conditionsError('cannot set Failed=True condition without the FailureTarget=true condition'),
    )
  if (changed('Complete', 'SuccessCriteriaMet') && complete && !has(next, 'SuccessCriteriaMet'))
    errors.push(
      conditionsError(
        'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
      ),
    )
  return errors
}

const finishedErrors = (next: KubeObject, changed: (...what: string[]) => boolean) => {
  const { spec, status } = next
  if (!isFinished(next)) return []
  const { active = 0, startTime, uncountedTerminatedPods: pods } = status
  const neverRan = spec.suspend === true && spec.completions === 0
  const errors: FieldError[] = []
  if (changed('finished', 'active') && active > 0)
    errors.push(invalid('status.active', active, 'active>0 is invalid for finished job'))
  if (changed('finished', 'startTime') && !neverRan && startTime === undefined)
    errors.push(required('status.startTime', 'startTime is required for finished job'))
  const uncounted = (pods?.succeeded ?? []).length + (pods?.failed ?? []).length
  if (changed('finished', 'uncountedTerminatedPods') && uncounted > 0)
    errors.push(
      invalid(
        'status.uncountedTerminatedPods',
        internalForm('batch.v1.UncountedTerminatedPods', pods),
        'must be empty for finished job',
      ),
    )
  return errors
}

const indexErrors = (next: KubeObject, changed: (...what: string[]) => boolean): FieldError[] => {
  const { spec, status } = next
  const { completions, backoffLimitPerIndex } = spec
  const { completedIndexes = '', failedIndexes } = status
  const errors: FieldError[] = []
  const parsed = (field: string, text: string): FieldError[] => {
    const count = countIndexes(text, completions)
    return typeof count === 'string'
      ? [invalid(`status.${field}`, text, `error parsing ${field}: ${count}`)]
      : []
  }
  if (changed('completedIndexes') && completions !== undefined)
    errors.push(...parsed('completedIndexes', completedIndexes))
  const failedAt = 'status.failedIndexes'
  const isFailedGiven = failedIndexes !== undefined
  const perIndex = backoffLimitPerIndex !== undefined
  if (changed('failedIndexes') && completions !== undefined && perIndex && isFailedGiven)
    errors.push(...parsed('failedIndexes', failedIndexes))
  if (changed('completedIndexes') && completedIndexes !== '' && !isIndexed(next))
    errors.push(
      invalid(
        'status.completedIndexes',
        completedIndexes,
        'cannot set non-empty completedIndexes when non-indexed completion mode',
      ),
    )
  if (changed('failedIndexes') && !perIndex && isFailedGiven)
    errors.push(
      invalid(
        failedAt,
        failedIndexes,
        'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ),
    )
  if (changed('failedIndexes', 'completedIndexes') && completions !== undefined && isFailedGiven) {
    const shared = sharedIndex(completedIndexes, failedIndexes, completions)
    if (shared !== undefined)
      errors.push(
        invalid(
          failedAt,
          failedIndexes,
          `failedIndexes and completedIndexes overlap at index: ${shared}`,
        ),
      )
  }
  return errors
}

const successErrors = (next: KubeObject): FieldError[] => {
  const isMet = has(next, 'SuccessCriteriaMet')
  const errors: FieldError[] = []
  if (isMet && has(next, 'Failed'))
    errors.push(conditionsError('cannot set SuccessCriteriaMet=True and Failed=true conditions'))
  if (isMet && has(next, 'FailureTarget'))
    errors.push(
      conditionsError('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'),
    )
  if (next.spec.successPolicy !== undefined && !isMet && has(next, 'Complete'))
    errors.push(
      conditionsError(
        'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
      ),
    )
  return errors
}

/** What a status must not take back. */
const transitionErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { spec, status } = next
  const before: Fields = previous.status ?? {}
  const errors = ['Failed', 'Complete', 'FailureTarget']
    .filter((type) => has(previous, type) && !has(next, type))
    .map((type) => conditionsError(`cannot disable the terminal ${type}=True condition`))
  const mayShrink = isIndexed(next) && spec.completions === spec.parallelism
  for (const counter of ['failed', ...(mayShrink ? [] : ['succeeded'])])
    if ((status[counter] ?? 0) < (before[counter] ?? 0))
      errors.push(
        invalid(
          `status.${counter}`,
          status[counter] ?? 0,
          `cannot decrease the ${counter} counter`,
        ),
      )
  const { completionTime, startTime } = status
  if (
    completionTime !== undefined &&
    before.completionTime !== undefined &&
    completionTime !== before.completionTime
  )
    errors.push(invalid('status.completionTime', completionTime, 'field is immutable'))
  const resumes =
    conditionIs(previous, 'Suspended', 'True') && conditionIs(next, 'Suspended', 'False')
  if (
    before.startTime !== undefined &&
    startTime !== before.startTime &&
    spec.suspend !== true &&
    !resumes
  )
    errors.push(
      invalid(
        'status.startTime',
        startTime ?? null,
        'field is immutable for unsuspended job once set',
      ),
    )
  const met = 'SuccessCriteriaMet'
  if (has(previous, met) && !has(next, met))
    errors.push(conditionsError('cannot disable the SuccessCriteriaMet=True condition'))
  if (has(previous, 'Complete') && !has(previous, met) && has(next, met))
    errors.push(
      conditionsError(
        'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
      ),
    )
  return errors
}

/** Most rules look only at what changes: an old status that breaks them may stay as it is. */
export const validateJobStatus = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { status } = next
  const conditions = ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet']
  const hasChanged = (what: string): boolean => {
    if (what === 'finished') return isFinished(next) !== isFinished(previous)
    if (conditions.includes(what)) return has(next, what) !== has(previous, what)
    const [now, before] = [status[what], previous.status?.[what]]
    return (now === null) !== (before === null) || !sameJson(now, before)
  }
  const changed = (...what: string[]): boolean => what.some(hasChanged)
  const errors = [
    ...notNegative('status', status, 'active', 'succeeded', 'failed', 'ready', 'terminating'),
    ...uncountedErrors(status.uncountedTerminatedPods),
    ...conditionErrors(next, changed),
    ...finishedErrors(next, changed),
    ...indexErrors(next, changed),
  ]
  const { ready, active = 0, terminating = 0 } = status
  if (changed('finished', 'terminating') && terminating > 0 && isFinished(next))
    errors.push(
      invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job'),
    )
  if (changed('ready', 'active') && ready !== undefined && ready > active)
    errors.push(invalid('status.ready', ready, 'cannot set more ready pods than active'))
  return [...errors, ...successErrors(next), ...transitionErrors(next, previous)]
}
