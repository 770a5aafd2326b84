/** The Windows half of a security context (kubernetes, core/validation: validateWindowsSecurityContextOptions). */
import { child, type FieldError, invalid } from '#api/field-error.js'
import { isDns1123Subdomain } from '#api/names.js'
import type { Fields } from '#api/object.js'

const credentialSpecKiBMax = 64
const domainLengthMax = 255
const userLengthMax = 104
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const controlCharacter = /[\x00-\x1f\x7f]/
const netBiosName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/u
const label = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const dnsName = new RegExp(`^${label}(?:\\.${label})*$`)
const onlyDotsAndSpaces = /^[. ]+$/
const notInUser = /["/\\:;|=,+*?<>@[\]]/

const userNameProblems = (name: string): string[] => {
  if (name === '') return ['runAsUserName cannot be an empty string']
  if (controlCharacter.test(name)) return ['runAsUserName cannot contain control characters']
  const parts = name.split('\\')
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash']
  const user = parts.at(-1)!
  const domain = parts.length === 2 ? parts[0]! : undefined
  const problems: string[] = []
  if (domain !== undefined && Buffer.byteLength(domain) > domainLengthMax)
    problems.push(`runAsUserName's Domain length must be under ${domainLengthMax + 1} characters`)
  if (domain !== undefined && !netBiosName.test(domain) && !dnsName.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
  if (user === '') problems.push("runAsUserName's User cannot be empty")
  else if (Buffer.byteLength(user) > userLengthMax)
    problems.push(`runAsUserName's User length must not be longer than ${userLengthMax} characters`)
  if (onlyDotsAndSpaces.test(user))
    problems.push("runAsUserName's User cannot contain only periods or spaces")
  if (notInUser.test(user))
    problems.push(
      'runAsUserName\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]',
    )
  return problems
}

const credentialSpecProblems = (spec: string): string[] => {
  if (spec === '') return ['gmsaCredentialSpec cannot be an empty string']
  return Buffer.byteLength(spec) > credentialSpecKiBMax * 1024
    ? [`gmsaCredentialSpec size must be under ${credentialSpecKiBMax} KiB`]
    : []
}

/** Upstream prints the value behind a pointer as JSON. */
const pointed = (text: string) => ({ toJSON: () => text })

export const validWindowsOptions = (path: string, options: Fields | undefined): FieldError[] => {
  const check = (field: string, problemsOf: (text: string) => string[]): FieldError[] => {
    const text: string | undefined = options?.[field]
    if (text === undefined) return []
    return problemsOf(text).map((problem) => invalid(child(path, field), pointed(text), problem))
  }
  return [
    ...check('gmsaCredentialSpecName', isDns1123Subdomain),
    ...check('gmsaCredentialSpec', credentialSpecProblems),
    ...check('runAsUserName', userNameProblems),
  ]
}
