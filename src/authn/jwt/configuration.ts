/** Issuers of JWTs, and the mapping of their claims to users (apiserver, pkg/apis/apiserver). */

import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  required,
  tooMany,
} from '#api/field-error.js'
import { parseUrl } from '#go/url.js'
import { limits } from '#limits'
import { certificatesOf } from '#net/pem.js'
import { validDomainPrefixedPath } from '#validation/formats.js'
import { type Compiled, compile } from './expressions.js'

export interface ClaimOrExpression {
  readonly claim?: string
  readonly expression?: string
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string
}

export interface JwtConfiguration {
  readonly issuer: {
    readonly url: string
    readonly discoveryURL?: string
    /** PEM. */
    readonly certificateAuthority?: string
    readonly audiences: readonly string[] | null
    readonly audienceMatchPolicy?: string
    readonly egressSelectorType?: string
  }
  readonly claimValidationRules?: readonly {
    readonly claim?: string
    readonly requiredValue?: string
    readonly expression?: string
    readonly message?: string
  }[]
  readonly claimMappings: {
    readonly username?: PrefixedClaimOrExpression
    readonly groups?: PrefixedClaimOrExpression
    readonly uid?: ClaimOrExpression
    readonly extra?: readonly { readonly key: string; readonly valueExpression: string }[]
  }
  readonly userValidationRules?: readonly {
    readonly expression: string
    readonly message?: string
  }[]
}

/** An expression that must be true, and what is said where it is not. */
interface Rule extends Compiled {
  readonly message: string
}

/** A configuration whose expressions are programs. */
export interface JwtRules {
  readonly configuration: JwtConfiguration
  readonly username?: Compiled
  readonly groups?: Compiled
  readonly uid?: Compiled
  readonly extra: readonly { readonly key: string; readonly value: Compiled }[]
  readonly claimRules: readonly Rule[]
  readonly userRules: readonly Rule[]
}

class Checks {
  readonly errors: FieldError[] = []

  add(...errors: FieldError[]): void {
    this.errors.push(...errors)
  }

  compile(
    text: string,
    path: string,
    subject: 'claims' | 'user',
    isCondition = false,
  ): Compiled | undefined {
    const compiled = compile(text, subject, isCondition)
    if (typeof compiled === 'object') return compiled
    this.add(invalid(path, text, compiled))
    return undefined
  }
}

const urlErrors = (url: string, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const parts = parseUrl(url)
  if (typeof parts === 'string') return [invalid(path, url, parts)]
  if (parts.scheme !== 'https') errors.push(invalid(path, url, 'URL scheme must be https'))
  if (parts.user !== undefined)
    errors.push(invalid(path, url, 'URL must not contain a username or password'))
  if (parts.query !== '') errors.push(invalid(path, url, 'URL must not contain a query'))
  if (parts.fragment !== '') errors.push(invalid(path, url, 'URL must not contain a fragment'))
  return errors
}

const audienceErrors = (
  { audiences: named, audienceMatchPolicy: policy = '' }: JwtConfiguration['issuer'],
  path: string,
): FieldError[] => {
  const audiences = named ?? []
  const field = child(path, 'audiences')
  if (audiences.length === 0) return [required(field, `at least one ${field} is required`)]
  const errors: FieldError[] = []
  audiences.forEach((audience, i) => {
    if (audience === '') errors.push(required(index(field, i), ''))
    if (audiences.indexOf(audience) < i) errors.push(duplicate(index(field, i), audience))
  })
  const isMany = audiences.length > 1
  if (policy !== 'MatchAny' && (isMany || policy !== ''))
    errors.push(
      invalid(
        child(path, 'audienceMatchPolicy'),
        policy,
        `audienceMatchPolicy must be ${isMany ? 'MatchAny for multiple audiences' : 'empty or MatchAny for single audience'}`,
      ),
    )
  return errors
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')

const issuerErrors = (issuer: JwtConfiguration['issuer'], path: string): FieldError[] => {
  const { url = '', discoveryURL = '', certificateAuthority = '', egressSelectorType = '' } = issuer
  const discovery = child(path, 'discoveryURL')
  const errors =
    url === '' ? [required(child(path, 'url'), '')] : urlErrors(url, child(path, 'url'))
  if (discoveryURL !== '') {
    if (url !== '' && withoutSlash(url) === withoutSlash(discoveryURL))
      errors.push(invalid(discovery, discoveryURL, 'discoveryURL must be different from URL'))
    errors.push(...urlErrors(discoveryURL, discovery))
  }
  errors.push(...audienceErrors(issuer, path))
  if (certificateAuthority !== '' && !hasCertificate(certificateAuthority))
    errors.push(
      invalid(
        child(path, 'certificateAuthority'),
        '<omitted>',
        'data does not contain any valid RSA or ECDSA certificates',
      ),
    )
  if (egressSelectorType !== '')
    errors.push(
      invalid(
        child(path, 'egressSelectorType'),
        egressSelectorType,
        ['controlplane', 'cluster'].includes(egressSelectorType)
          ? 'no egress selector is configured'
          : 'egress selector must be either controlplane or cluster',
      ),
    )
  return errors
}

const hasCertificate = (pem: string): boolean => {
  try {
    return certificatesOf(pem).length > 0
  } catch {
    return false
  }
}

const claimRules = (
  rules: NonNullable<JwtConfiguration['claimValidationRules']>,
  path: string,
  checks: Checks,
): Rule[] => {
  const claims = new Set<string>()
  const expressions = new Set<string>()
  return rules.flatMap(
    ({ claim = '', expression = '', message = '', requiredValue = '' }, i): Rule[] => {
      const at = index(path, i)
      if (claim !== '' && expression !== '') {
        checks.add(invalid(at, claim, "claim and expression can't both be set"))
      } else if (claim !== '') {
        if (message !== '')
          checks.add(
            invalid(child(at, 'message'), message, 'may not be specified when claim is set'),
          )
        if (claims.has(claim)) checks.add(duplicate(child(at, 'claim'), claim))
        claims.add(claim)
      } else if (expression !== '') {
        if (requiredValue !== '')
          checks.add(
            invalid(
              child(at, 'requiredValue'),
              requiredValue,
              'may not be specified when expression is set',
            ),
          )
        return uniqueRule({ expression, message }, child(at, 'expression'), {
          checks,
          expressions,
          subject: 'claims',
        })
      } else checks.add(required(at, 'claim or expression is required'))
      return []
    },
  )
}

const uniqueRule = (
  { expression, message }: { expression: string; message: string },
  path: string,
  {
    checks,
    expressions,
    subject,
  }: { checks: Checks; expressions: Set<string>; subject: 'claims' | 'user' },
): Rule[] => {
  if (expressions.has(expression)) {
    checks.add(duplicate(path, expression))
    return []
  }
  expressions.add(expression)
  const compiled = checks.compile(expression, path, subject, true)
  return compiled === undefined ? [] : [{ ...compiled, message }]
}

/** The program of a mapping, where it is an expression. */
const mapping = (
  { claim = '', expression = '', prefix }: PrefixedClaimOrExpression,
  path: string,
  { checks, isRequired }: { checks: Checks; isRequired: boolean },
): Compiled | undefined => {
  if (claim !== '' && expression !== '') {
    checks.add(invalid(path, '', "claim and expression can't both be set"))
  } else if (expression !== '') {
    if (prefix !== undefined)
      checks.add(
        invalid(child(path, 'prefix'), prefix, 'may not be specified when expression is set'),
      )
    const before = checks.errors.length
    const compiled = checks.compile(expression, child(path, 'expression'), 'claims')
    return checks.errors.length === before ? compiled : undefined
  } else if (claim !== '') {
    if (prefix === undefined)
      checks.add(
        required(
          child(path, 'prefix'),
          'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
        ),
      )
  } else if (isRequired) checks.add(required(path, 'claim or expression is required'))
  return undefined
}

const isReserved = (key: string): boolean =>
  key.includes('/') && /(^|\.)(kubernetes|k8s)\.io$/.test(key.slice(0, key.indexOf('/')))

const extraMappings = (
  mappings: NonNullable<JwtConfiguration['claimMappings']['extra']>,
  path: string,
  checks: Checks,
): { key: string; value: Compiled }[] => {
  const seen = new Set<string>()
  return mappings.flatMap(({ key = '', valueExpression = '' }, i) => {
    const at = index(path, i)
    const keyPath = child(at, 'key')
    checks.add(...validDomainPrefixedPath(keyPath, key))
    if (key !== key.toLowerCase()) checks.add(invalid(keyPath, key, 'must be lowercase'))
    if (isReserved(key))
      checks.add(
        invalid(
          keyPath,
          key,
          'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
        ),
      )
    if (seen.has(key)) {
      checks.add(duplicate(keyPath, key))
      return []
    }
    seen.add(key)
    const valuePath = child(at, 'valueExpression')
    if (valueExpression === '') {
      checks.add(required(valuePath, ''))
      return []
    }
    const value = checks.compile(valueExpression, valuePath, 'claims')
    return value === undefined ? [] : [{ key, value }]
  })
}

const emailMessage =
  'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression'

const rulesOf = (configuration: JwtConfiguration, path: string, checks: Checks): JwtRules => {
  const { issuer = { url: '', audiences: [] }, claimValidationRules = [] } = configuration
  const { username = {}, groups = {}, uid = {}, extra = [] } = configuration.claimMappings ?? {}
  const mappings = child(path, 'claimMappings')
  checks.add(...issuerErrors(issuer, child(path, 'issuer')))
  const ofClaims = claimRules(claimValidationRules, child(path, 'claimValidationRules'), checks)
  const name = mapping(username, child(mappings, 'username'), { checks, isRequired: true })
  const inGroups = mapping(groups, child(mappings, 'groups'), { checks, isRequired: false })
  let identity: Compiled | undefined
  if (uid.claim && uid.expression)
    checks.add(invalid(child(mappings, 'uid'), '', "claim and expression can't both be set"))
  else if (uid.expression)
    identity = checks.compile(uid.expression, `${child(mappings, 'uid')}.expression`, 'claims')
  const extras = extraMappings(extra, child(mappings, 'extra'), checks)
  const verifies = [...(name ? [name] : []), ...extras.map(({ value }) => value), ...ofClaims]
  if (name?.reads('email') && !verifies.some((one) => one.reads('email_verified')))
    checks.add(invalid(`${mappings}.username.expression`, username.expression!, emailMessage))
  const expressions = new Set<string>()
  const ofUser = (configuration.userValidationRules ?? []).flatMap(
    ({ expression = '', message = '' }, i) => {
      const at = child(index(child(path, 'userValidationRules'), i), 'expression')
      if (expression !== '')
        return uniqueRule({ expression, message }, at, { checks, expressions, subject: 'user' })
      checks.add(required(at, ''))
      return []
    },
  )
  return {
    configuration,
    ...(name && { username: name }),
    ...(inGroups && { groups: inGroups }),
    ...(identity && { uid: identity }),
    extra: extras,
    claimRules: ofClaims,
    userRules: ofUser,
  }
}

/** Yields the rules and their errors. */
export const compileJwtRules = (
  configurations: readonly JwtConfiguration[],
): { rules: readonly JwtRules[]; errors: readonly FieldError[] } => {
  if (configurations.length > limits.jwtIssuersMax)
    return { rules: [], errors: [tooMany('jwt', configurations.length, limits.jwtIssuersMax)] }
  const checks = new Checks()
  const urls = new Set<string>()
  const discoveries = new Set<string>()
  const rules = configurations.map((configuration, i) => {
    const path = index('jwt', i)
    const made = rulesOf(configuration, path, checks)
    const { url = '', discoveryURL = '' } = configuration.issuer ?? {}
    const issuer = child(path, 'issuer')
    if (urls.has(url)) checks.add(duplicate(child(issuer, 'url'), url))
    urls.add(url)
    if (discoveryURL !== '' && discoveries.has(discoveryURL))
      checks.add(duplicate(child(issuer, 'discoveryURL'), discoveryURL))
    discoveries.add(discoveryURL)
    return made
  })
  return { rules, errors: checks.errors }
}
