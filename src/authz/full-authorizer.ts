/** Authorizers that can also list a user's rules, and their union. */
import type { BuiltInAuthorizer } from './authorization-configuration.js'
import { type Authorizer, clockReaders, privilegedGroup, unionAuthorizer } from './authorizer.js'
import { type RuleResolver, unionRules } from './rule-resolver.js'

export type FullAuthorizer = Authorizer & RuleResolver
export type BuiltInAuthorizers = Readonly<Record<BuiltInAuthorizer, FullAuthorizer>>

/** The privileged group first, then these in order; what they leave undecided may be a look at the clock. */
export const allOf = (authorizers: readonly FullAuthorizer[]): FullAuthorizer => ({
  ...unionAuthorizer([privilegedGroup, ...authorizers, clockReaders]),
  ...unionRules(authorizers),
})
