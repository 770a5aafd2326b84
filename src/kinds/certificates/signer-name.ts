/** Names of signers: `example.com/path`. Order and texts: kubernetes pkg/apis/core/validation ValidateSignerName. */
import { type FieldError, invalid, required, tooLong } from '#api/field-error.js'
import { isDns1123Label, isDns1123Subdomain } from '#api/names.js'
import { goQuote } from '#go/quote.js'

const domainLengthMax = 253
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
  const errors: FieldError[] =
    Buffer.byteLength(domain) > domainLengthMax ? [tooLong(path, domainLengthMax)] : []
  // The first that is malformed is enough.
  const badLabel = labels.find((label) => isDns1123Label(label).length > 0)
  if (badLabel !== undefined)
    errors.push(
      ...isDns1123Label(badLabel).map((m) =>
        invalid(path, domain, `validating label ${goQuote(badLabel)}: ${m}`),
      ),
    )
  if (labels.length < 2)
    errors.push(
      invalid(path, domain, 'should be a domain with at least two segments separated by dots'),
    )
  const badSegment = rest.split('.').find((segment) => isDns1123Subdomain(segment).length > 0)
  if (badSegment !== undefined)
    errors.push(
      ...isDns1123Subdomain(badSegment).map((m) =>
        invalid(path, rest, `validating label ${goQuote(badSegment)}: ${m}`),
      ),
    )
  if (Buffer.byteLength(name) > lengthMax) errors.push(tooLong(path, lengthMax))
  return errors
}
