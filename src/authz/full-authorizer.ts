/** Authorizers that can tell rules, too, and several of them as one. */
import type { BuiltInAuthorizer } from './authorization-configuration.js'
import { type Authorizer, privilegedGroup, unionAuthorizer } from './authorizer.js'
import { type RuleResolver, unionRules } from './rule-resolver.js'

export type FullAuthorizer = Authorizer & RuleResolver
export type BuiltInAuthorizers = Readonly<Record<BuiltInAuthorizer, FullAuthorizer>>

/** Whoever is privileged, then these in their order. */
export const allOf = (authorizers: readonly FullAuthorizer[]): FullAuthorizer => ({
  ...unionAuthorizer([privilegedGroup, ...authorizers]),
  ...unionRules(authorizers),
})
