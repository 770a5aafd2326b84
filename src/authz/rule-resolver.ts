/** Lists the rules of a user; and the authorizers AlwaysAllow and AlwaysDeny, which need none. */
import type { UserInfo } from '#api/user-info.js'
import { type Authorizer, allowed, noOpinion } from './authorizer.js'
import type { PolicyRule } from './rbac-rules.js'

/** Every rule of a user in a namespace. */
export interface RulesOfUser {
  readonly rules: readonly PolicyRule[]
  /** Errors of rules that could not be resolved. */
  readonly errors: readonly Error[]
  /** There may be more. */
  readonly isIncomplete?: boolean
}

export interface RuleResolver {
  rulesFor(user: UserInfo, namespace: string): RulesOfUser | Promise<RulesOfUser>
}

export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

export const alwaysAllow: Authorizer & RuleResolver = {
  authorize: () => allowed,
  rulesFor: () => ({ rules: fullAuthority, errors: [] }),
}
export const alwaysDeny: Authorizer & RuleResolver = {
  authorize: () => noOpinion,
  rulesFor: () => ({ rules: [], errors: [] }),
}

/** The rules of all resolvers together. */
export const unionRules = (resolvers: readonly RuleResolver[]): RuleResolver => ({
  rulesFor: async (user, namespace) => {
    const known = await Promise.all(resolvers.map((one) => one.rulesFor(user, namespace)))
    return {
      rules: known.flatMap(({ rules }) => rules),
      errors: known.flatMap(({ errors }) => errors),
      isIncomplete: known.some(({ isIncomplete }) => isIncomplete),
    }
  },
})
