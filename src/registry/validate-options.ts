/** Validation of CreateOptions, UpdateOptions, PatchOptions and DeleteOptions (apimachinery, meta/v1/validation). */
import { invalid as invalidObject } from '#api/errors.js'
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  shownAsJson,
  tooLong,
} from '#api/field-error.js'
import { unprintable } from '#go/quote.js'
import { limits } from '#limits'
import type { DeleteOptions } from './resource-definition.js'

export interface WriteOptions {
  dryRun: string[]
  fieldManager: string
  fieldValidation: string
  /** PatchOptions only. */
  force?: boolean
}

const codePoint = (char: string): string => {
  const code = `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
  return unprintable.test(char) ? code : `${code} '${char}'`
}

const isPlain = /^[ -~]*$/

/** Each error shows the whole name: of one that is too long, only the first character that is wrong is told. */
export const validateFieldManager = (manager: string, path: string): FieldError[] => {
  if (manager.length <= limits.fieldManagerLengthMax && isPlain.test(manager)) return []
  const errors: FieldError[] = []
  const isTooLong = Buffer.byteLength(manager) > limits.fieldManagerLengthMax
  if (isTooLong) errors.push(tooLong(path, limits.fieldManagerLengthMax))
  let at = 0
  for (const char of manager) {
    if (unprintable.test(char)) {
      errors.push(
        invalid(path, manager, `invalid character ${codePoint(char)} (at position ${at})`),
      )
      if (isTooLong) break
    }
    at += Buffer.byteLength(char)
  }
  return errors
}

const validateDryRun = (dryRun: readonly string[]): FieldError[] =>
  dryRun.every((v) => v === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])]

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn']

const validateCommon = (options: WriteOptions): FieldError[] => [
  ...validateFieldManager(options.fieldManager, 'fieldManager'),
  ...validateDryRun(options.dryRun),
  ...(fieldValidations.includes(options.fieldValidation)
    ? []
    : [notSupported('fieldValidation', options.fieldValidation, fieldValidations)]),
]

const refuse = (kind: string, errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind }, '', errors)
}

export const checkWriteOptions = (
  kind: 'CreateOptions' | 'UpdateOptions',
  options: WriteOptions,
): void => refuse(kind, validateCommon(options))

export const checkPatchOptions = (options: WriteOptions, isApply: boolean): void => {
  const errors: FieldError[] = []
  if (isApply && options.fieldManager === '')
    errors.push(required('fieldManager', 'is required for apply patch'))
  if (!isApply && options.force !== undefined)
    errors.push(forbidden('force', 'may not be specified for non-apply patch'))
  refuse('PatchOptions', [...errors, ...validateCommon(options)])
}

const policies = ['Foreground', 'Background', 'Orphan']

/** Throws a 422 that names every mistake (apimachinery, meta/v1/validation ValidateDeleteOptions). */
export const checkDeleteOptions = (options: DeleteOptions): void => {
  const errors: FieldError[] = []
  const policy = options.propagationPolicy
  if (options.orphanDependents !== undefined && policy !== undefined)
    errors.push(
      invalid(
        'propagationPolicy',
        policy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    )
  if (policy !== undefined && !policies.includes(policy))
    errors.push(shownAsJson(notSupported('propagationPolicy', policy, [...policies, 'nil'])))
  refuse('DeleteOptions', [...errors, ...validateDryRun(options.dryRun ?? [])])
}
