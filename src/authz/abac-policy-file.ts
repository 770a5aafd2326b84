/** Reads files of ABAC policies, one policy a line, with upstream's error texts. */

import { readFileSync } from 'node:fs'
import { authenticatedGroup } from '#api/user-info.js'
import { goFileError } from '#go/file-error.js'
import { limits } from '#limits'
import { decodeConfiguration, UnknownTypeError } from '#registry/decode-configuration.js'
import type { AccessPolicy } from './abac.js'

const group = 'abac.authorization.kubernetes.io'

const types = {
  [`${group}/v1beta1 Policy`]: 'abac.v1beta1.Policy',
  [`${group}/v0 Policy`]: 'abac.v0.Policy',
}

const nothing: AccessPolicy = {
  user: '',
  group: '',
  readonly: false,
  apiGroup: '',
  resource: '',
  namespace: '',
  nonResourcePath: '',
}

/** `*` means every authenticated user, in both versions. */
const withSubject = (policy: AccessPolicy): AccessPolicy =>
  policy.user === '*' || policy.group === '*'
    ? { ...policy, user: '', group: authenticatedGroup }
    : policy

/** In v0 a missing field matches everything, and there are no API groups. */
const fromV0 = (given: Partial<AccessPolicy>): AccessPolicy => {
  const policy = { ...nothing, ...given }
  const { user, namespace, resource } = policy
  return {
    ...policy,
    group: user === '' && policy.group === '' ? authenticatedGroup : policy.group,
    namespace: namespace || '*',
    resource: resource || '*',
    apiGroup: '*',
    nonResourcePath: namespace === '' && resource === '' ? '*' : '',
  }
}

/** A line without a known apiVersion and kind is read as v0, unless its fields do not fit that. */
const readLine = (line: string): AccessPolicy => {
  try {
    return readTyped(line, {})
  } catch (error) {
    if (!(error instanceof UnknownTypeError)) throw error
    return readTyped(line, { kind: 'Policy', apiVersion: `${group}/v0` })
  }
}

const readTyped = (
  line: string,
  defaults: { readonly kind?: string; readonly apiVersion?: string },
): AccessPolicy => {
  const { type, value } = decodeConfiguration(line, types, { strict: false, defaults })
  if (type === 'abac.v0.Policy') return withSubject(fromV0(value))
  if (defaults.kind !== undefined)
    throw new Error('converting (v1beta1.Policy) to (v0.Policy): unknown conversion')
  return withSubject({ ...nothing, ...(value.spec as Partial<AccessPolicy>) })
}

/** Throws an Error. Blank lines and comments are skipped, but count for line numbers. */
export const readPolicyFile = (file: string): AccessPolicy[] => {
  const failed = (what: string): Error => new Error(`invalid authorization config: ${what}`)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    // Go can open a folder, but not read it.
    throw (error as NodeJS.ErrnoException).code === 'EISDIR'
      ? failed(`error reading policy file ${file}: read ${file}: is a directory`)
      : failed(goFileError('open', file, error))
  }
  return text.split(/\r?\n/).flatMap((line, i) => {
    if (Buffer.byteLength(line) >= limits.policyLineBytesMax)
      throw failed(`error reading policy file ${file}: bufio.Scanner: token too long`)
    if (/^\s*(#|$)/.test(line)) return []
    try {
      return [readLine(line)]
    } catch (error) {
      const why = (error as Error).message
      throw failed(`error reading policy file ${file}, line ${i + 1}: ${line}: ${why}`)
    }
  })
}
