/** Taints of devices, and tolerations of them (kubernetes, resource/validation). */
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import { isLabelValue } from '#api/names.js'
import type { Fields } from '#api/object.js'
import { validLabelName } from '../label-selector.js'

const effects = ['NoExecute', 'NoSchedule', 'None']
const operators = ['Equal', 'Exists']

const labelValueErrors = (path: string, value: string): FieldError[] =>
  isLabelValue(value).map((message) => invalid(path, value, message))

export const validDeviceTaint = (taint: Fields, path: string): FieldError[] => {
  const { key = '', value = '', effect = '' } = taint
  const at = child(path, 'effect')
  return [
    ...validLabelName(child(path, 'key'), key),
    ...(value === '' ? [] : labelValueErrors(child(path, 'value'), value)),
    ...(effect === '' ? [required(at)] : []),
    ...(effect === '' || effects.includes(effect) ? [] : [notSupported(at, effect, effects)]),
  ]
}

const valueErrors = ({ operator = '', value = '' }: Fields, path: string): FieldError[] => {
  const at = child(path, 'value')
  if (operator === 'Exists')
    return value === '' ? [] : [invalid(at, value, 'must be empty for operator `Exists`')]
  if (operator === 'Equal') return labelValueErrors(at, value)
  const operatorAt = child(path, 'operator')
  return [operator === '' ? required(operatorAt) : notSupported(operatorAt, operator, operators)]
}

export const validDeviceToleration = (toleration: Fields, path: string): FieldError[] => {
  const { key = '', effect = '' } = toleration
  return [
    ...(key === '' ? [] : validLabelName(child(path, 'key'), key)),
    ...valueErrors(toleration, path),
    ...(effect === '' || effects.includes(effect)
      ? []
      : [notSupported(child(path, 'effect'), effect, effects)]),
  ]
}
