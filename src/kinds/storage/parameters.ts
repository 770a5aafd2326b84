/** Free-form parameters of storage classes (pkg/apis/storage/validation validateParameters). */
import { type FieldError, invalid, required, tooLong } from '#api/field-error.js'

const countMax = 512
const bytesMax = 256 * 1024

export const parametersErrors = (
  parameters: Record<string, string> | undefined,
  { allowEmpty }: { allowEmpty: boolean },
): FieldError[] => {
  const path = 'parameters'
  const entries = Object.entries(parameters ?? {})
  if (entries.length === 0 && !allowEmpty)
    return [required(path, 'must contain at least one key/value pair')]
  if (entries.length > countMax) return [tooLong(path, countMax)]
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  return [
    ...entries
      .filter(([key]) => key === '')
      .map(() => invalid(path, '', 'field can not be empty.')),
    ...(bytes > bytesMax ? [tooLong(path, bytesMax)] : []),
  ]
}
