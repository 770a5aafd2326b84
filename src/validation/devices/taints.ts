/** Taints of devices, and tolerations of them (kubernetes, resource/validation). */
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { validLabelValue, validQualifiedName } from '../formats.js'

const effects = ['NoExecute', 'NoSchedule', 'None']
const operators = ['Equal', 'Exists']

export const validDeviceTaint = (taint: Fields, path: string): FieldError[] => {
  const { key = '', value = '', effect = '' } = taint
  const at = child(path, 'effect')
  return [
    ...validQualifiedName(child(path, 'key'), key),
    ...(value === '' ? [] : validLabelValue(child(path, 'value'), value)),
    ...(effect === '' ? [required(at)] : []),
    ...(effect === '' || effects.includes(effect) ? [] : [notSupported(at, effect, effects)]),
  ]
}

const valueErrors = ({ operator = '', value = '' }: Fields, path: string): FieldError[] => {
  const at = child(path, 'value')
  if (operator === 'Exists')
    return value === '' ? [] : [invalid(at, value, 'must be empty for operator `Exists`')]
  if (operator === 'Equal') return validLabelValue(at, value)
  const operatorAt = child(path, 'operator')
  return [operator === '' ? required(operatorAt) : notSupported(operatorAt, operator, operators)]
}

export const validDeviceToleration = (toleration: Fields, path: string): FieldError[] => {
  const { key = '', effect = '' } = toleration
  return [
    ...(key === '' ? [] : validQualifiedName(child(path, 'key'), key)),
    ...valueErrors(toleration, path),
    ...(effect === '' || effects.includes(effect)
      ? []
      : [notSupported(child(path, 'effect'), effect, effects)]),
  ]
}
