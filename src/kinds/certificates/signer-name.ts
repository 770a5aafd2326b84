/** Names of signers: `example.com/path`. Order and texts: kubernetes pkg/apis/core/validation ValidateSignerName. */
import { type FieldError, invalid, required } from '#api/field-error.js'
import { isDns1123Label, isDns1123Subdomain } from '#api/names.js'

const lengthMax = 571

export const validSignerName = (path: string, name: string): FieldError[] => {
  if (name === '') return [required(path)]
  const parts = name.split('/')
  if (parts.length !== 2)
    return [
      invalid(
        path,
        name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ]
  const [domain, rest] = parts as [string, string]
  const labels = domain.split('.')
  const errors: FieldError[] = labels.flatMap((label) =>
    isDns1123Label(label).map((m) =>
      invalid(path, domain, `validating label ${JSON.stringify(label)}: ${m}`),
    ),
  )
  if (labels.length < 2)
    errors.push(
      invalid(path, domain, 'should be a domain with at least two segments separated by dots'),
    )
  for (const segment of rest.split('.'))
    errors.push(
      ...isDns1123Subdomain(segment).map((m) =>
        invalid(path, rest, `validating label ${JSON.stringify(segment)}: ${m}`),
      ),
    )
  if (Buffer.byteLength(name) > lengthMax)
    errors.push({
      type: 'FieldValueTooLong',
      field: path,
      body: `Too long: may not be more than ${lengthMax} bytes`,
    })
  return errors
}
