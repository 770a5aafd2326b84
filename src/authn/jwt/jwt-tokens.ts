/** Authenticates JWTs of configured issuers (apiserver, plugin/pkg/authenticator/token/oidc). */
import { goKindOf } from '#api/decoder-texts.js'
import type { UserInfo } from '#api/user-info.js'
import type { CelValue } from '#cel/values.js'
import type { JsonObject } from '#json/value.js'
import { withAuthenticatedGroup } from '../authenticator.js'
import { claimsValue } from './claims-value.js'
import type { ClaimOrExpression, JwtRules, PrefixedClaimOrExpression } from './configuration.js'
import type { DistributedClaims } from './distributed-claims.js'
import type { Compiled } from './expressions.js'
import { type Issuer, NotReadyError, unverifiedClaims } from './issuer.js'

/** A claim as Go reads it into a string: null is empty. */
const textOf = (claims: JsonObject, name: string): string => {
  if (!Object.hasOwn(claims, name)) throw new Error('claim not present')
  const value = claims[name] ?? ''
  if (typeof value === 'string') return value
  throw new Error(`json: cannot unmarshal ${goKindOf(value)} into Go value of type string`)
}

const inContext = <T>(context: string, make: () => T): T => {
  try {
    return make()
  } catch (error) {
    throw new Error(`oidc: ${context}: ${(error as Error).message}`)
  }
}

const textsOf = (value: CelValue): string[] => {
  if (value === null) return []
  const texts = typeof value === 'string' ? [value] : value
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== 'string'))
    throw new Error('expression must return a string or a list of strings')
  return (texts as string[]).filter((text) => text !== '')
}

/** Refuses an email address that is not verified. */
const checkEmail = (claims: JsonObject): void => {
  const verified = claims.email_verified
  if (!Object.hasOwn(claims, 'email_verified')) return
  if (verified !== null && typeof verified !== 'boolean')
    throw new Error(
      `oidc: parse 'email_verified' claim: json: cannot unmarshal ${goKindOf(verified!)} into Go value of type bool`,
    )
  if (verified !== true) throw new Error('oidc: email not verified')
}

const evaluated = (what: string, { evaluate }: Compiled, value: CelValue): string =>
  inContext(`error evaluating ${what} claim expression`, () => {
    const text = evaluate(value)
    if (typeof text === 'string') return text
    throw new Error(`${what} claim expression must return a string`)
  })

interface Claims {
  readonly claims: JsonObject
  readonly value: CelValue
}

const usernameOf = (
  { claims, value }: Claims,
  { claim = '', prefix = '' }: PrefixedClaimOrExpression,
  expression: Compiled | undefined,
): string => {
  if (expression !== undefined) {
    const name = evaluated('username', expression, value)
    if (name === '') throw new Error('oidc: empty username via CEL expression is not allowed')
    return name
  }
  const name = inContext(`parse username claims "${claim}"`, () => textOf(claims, claim))
  if (claim === 'email') checkEmail(claims)
  return prefix + name
}

const groupsOf = (
  { claims, value }: Claims,
  { claim = '', prefix = '' }: PrefixedClaimOrExpression,
  expression: Compiled | undefined,
): string[] => {
  if (expression !== undefined)
    return inContext('error evaluating group claim expression', () =>
      textsOf(expression.evaluate(value)),
    )
  if (claim === '' || !Object.hasOwn(claims, claim)) return []
  return inContext(`parse groups claim "${claim}"`, () => {
    const given = claims[claim] ?? []
    // Some providers have a single role where others have a list.
    const groups = Array.isArray(given) ? given : [textOf(claims, claim)]
    return groups.map((group) => {
      if (typeof group === 'string') return prefix + group
      throw new Error('json: cannot unmarshal array into Go value of type string')
    })
  })
}

const uidOf = (
  { claims, value }: Claims,
  { claim = '' }: ClaimOrExpression,
  expression: Compiled | undefined,
): string => {
  if (expression !== undefined) return evaluated('uid', expression, value)
  return claim === '' ? '' : inContext(`parse uid claim "${claim}"`, () => textOf(claims, claim))
}

const extraOf = ({ claims, value }: Claims, { extra }: JwtRules): Record<string, string[]> => {
  const { jti } = claims
  const found: Record<string, string[]> =
    typeof jti === 'string' && jti !== ''
      ? { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] }
      : {}
  for (const { key, value: expression } of extra) {
    const result = expression.evaluate(value)
    const texts = inContext(`error evaluating extra claim expression: ${expression.text}`, () =>
      textsOf(result),
    )
    if (texts.length > 0) found[key] = texts
  }
  return found
}

const checkRequired = (claims: JsonObject, { configuration }: JwtRules): void => {
  for (const { claim = '', requiredValue = '' } of configuration.claimValidationRules ?? []) {
    if (claim === '') continue
    if (!Object.hasOwn(claims, claim))
      throw new Error(`oidc: required claim ${claim} not present in ID token`)
    const value = inContext(`parse claim ${claim}`, () => textOf(claims, claim))
    if (value !== requiredValue)
      throw new Error(
        `oidc: required claim ${claim} value does not match. Got = ${value}, want = ${requiredValue}`,
      )
  }
}

const checkRules = (rules: JwtRules['claimRules'], what: string, value: CelValue): void => {
  inContext(`error evaluating ${what}`, () => {
    for (const { text, message, holds } of rules.map((rule) => ({
      ...rule,
      holds: rule.evaluate(value),
    })))
      if (holds !== true) throw new Error(`validation expression '${text}' failed: ${message}`)
  })
}

const userOf = (claims: JsonObject, rules: JwtRules): UserInfo => {
  const { username = {}, groups = {}, uid = {} } = rules.configuration.claimMappings
  const given = { claims, value: claimsValue(claims) }
  const name = usernameOf(given, username, rules.username)
  const inGroups = groupsOf(given, groups, rules.groups)
  const id = uidOf(given, uid, rules.uid)
  const extra = extraOf(given, rules)
  checkRequired(claims, rules)
  checkRules(rules.claimRules, 'claim validation expression', given.value)
  const user = { username: name, uid: id, groups: inGroups, extra }
  checkRules(rules.userRules, 'user info validation rule', claimsValue(user))
  return {
    name,
    groups: inGroups,
    ...(id !== '' && { uid: id }),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

export interface KnownIssuer {
  readonly issuer: Issuer
  readonly rules: JwtRules
  /** For the claim that names groups. */
  readonly distributed: DistributedClaims
}

/** Includes distributed claims. Rejects if the token is invalid. */
const verifiedClaims = async (
  token: string,
  { issuer, rules, distributed }: KnownIssuer,
): Promise<JsonObject> => {
  const claims = await issuer.verify(token).catch((error: Error) => {
    if (error instanceof NotReadyError) throw error
    throw new Error(`oidc: verify token: ${error.message}`)
  })
  const { claim = '' } = rules.configuration.claimMappings.groups ?? {}
  if (claim === '') return claims
  return distributed.expand(claims, claim).catch((error: Error) => {
    throw new Error(`oidc: could not expand distributed claims: ${error.message}`)
  })
}

/** `undefined`: of none of these issuers; a string: why the token is invalid. */
export const jwtTokens =
  (known: readonly KnownIssuer[]) =>
  async (token: string): Promise<UserInfo | string | undefined> => {
    const iss = unverifiedClaims(token)?.iss
    const url = iss === 'accounts.google.com' ? 'https://accounts.google.com' : iss
    const found = known.find(({ rules }) => rules.configuration.issuer.url === url)
    if (found === undefined) return undefined
    try {
      return withAuthenticatedGroup(userOf(await verifiedClaims(token, found), found.rules))
    } catch (error) {
      return (error as Error).message
    }
  }
