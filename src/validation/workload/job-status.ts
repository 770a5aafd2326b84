/** What the status of a job may say (kubernetes, batch/validation and pkg/registry/batch/job). */
import { type FieldError, invalid, required } from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { notNegative } from './counts.js'

/** An invalid value that upstream does not print. */
const unprinted = (why: string): FieldError => ({
  type: 'FieldValueInvalid',
  field: 'status.conditions',
  body: `Invalid value: ${why}`,
})

const hasCondition = (status: Fields, type: string): boolean =>
  ((status.conditions ?? []) as Fields[]).some((c) => c.type === type && c.status === 'True')

const conditionErrors = (status: Fields): FieldError[] => {
  const has = (type: string): boolean => hasCondition(status, type)
  const errors: FieldError[] = []
  if (has('Complete') && has('Failed'))
    errors.push(unprinted('cannot set Complete=True and Failed=true conditions'))
  if (has('Complete') && has('FailureTarget'))
    errors.push(unprinted('cannot set Complete=True and FailureTarget=true conditions'))
  if (status.completionTime !== undefined && !has('Complete'))
    errors.push(
      invalid(
        'status.completionTime',
        status.completionTime,
        'cannot set completionTime when there is no Complete=True condition',
      ),
    )
  if (has('Complete') && status.completionTime === undefined)
    errors.push(required('status.completionTime', 'completionTime is required for Complete jobs'))
  if (has('Failed') && !has('FailureTarget'))
    errors.push(
      unprinted('cannot set Failed=True condition without the FailureTarget=true condition'),
    )
  if (has('Complete') && !has('SuccessCriteriaMet'))
    errors.push(
      unprinted('cannot set Complete=True condition without the SuccessCriteriaMet=true condition'),
    )
  return errors
}

/** Old conditions may stay what they are; only what this update makes wrong is refused. */
export const validateJobStatus = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { status } = next
  const isFinished = hasCondition(status, 'Complete') || hasCondition(status, 'Failed')
  const errors = [
    ...notNegative('status', status, 'active', 'succeeded', 'failed', 'ready', 'terminating'),
  ]
  if (status.ready !== undefined && status.ready > (status.active ?? 0))
    errors.push(invalid('status.ready', status.ready, 'cannot set more ready pods than active'))
  const before = new Set(conditionErrors(previous.status ?? {}).map((error) => error.body))
  errors.push(...conditionErrors(status).filter((error) => !before.has(error.body)))
  if (isFinished && status.startTime === undefined)
    errors.push(required('status.startTime', 'startTime is required for finished job'))
  if (isFinished && (status.active ?? 0) > 0)
    errors.push(invalid('status.active', status.active, 'active>0 is invalid for finished job'))
  return errors
}
