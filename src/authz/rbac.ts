/** Role-based access control over the Roles, ClusterRoles and bindings that are stored. */

import type { UserInfo } from '#api/user-info.js'
import { whenKnown } from '#async/when-known.js'
import { Kept } from '#collections/kept.js'
import { aggregate } from '#go/aggregate.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import { type Attributes, type Authorizer, type Decision, noOpinion } from './authorizer.js'
import { type PolicyRule, ruleAllows, type Subject, subjectApplies } from './rbac-rules.js'
import type { RuleResolver, RulesOfUser } from './rule-resolver.js'

export interface RoleRef {
  readonly kind: string
  readonly name: string
}
export interface Binding {
  readonly name: string
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string
  readonly subjects: readonly Subject[]
  readonly roleRef: RoleRef
}

/** Where roles and bindings come from. */
export interface RoleSource {
  /** Revision of their newest change; undefined where only a read can tell. */
  lastChange(): number | undefined
  clusterRoleBindings(): Promise<readonly Binding[]>
  roleBindings(namespace: string): Promise<readonly Binding[]>
  /** Rules of a role. Throws an Error if there is no such role. */
  rules(ref: RoleRef, namespace: string): Promise<readonly PolicyRule[]>
}

interface Grant {
  readonly rules: readonly PolicyRule[]
  /** The decision if one of its rules matches. */
  readonly decision: Decision
}

/** In order of the bindings, cluster-wide ones first. A binding to a missing role has an error instead. */
type Grants = readonly (Grant | Error)[]

const describeSubject = (subject: Subject, namespace: string): string =>
  subject.kind === 'ServiceAccount'
    ? `ServiceAccount ${goQuote(`${subject.name}/${subject.namespace || namespace}`)}`
    : `${subject.kind} ${goQuote(subject.name)}`

const describeGrant = (binding: Binding, subject: Subject): string => {
  const { kind, name } = binding.roleRef
  const role = `${kind} ${goQuote(name)} to ${describeSubject(subject, binding.namespace)}`
  return binding.namespace === ''
    ? `ClusterRoleBinding ${goQuote(binding.name)} of ${role}`
    : `RoleBinding ${goQuote(`${binding.name}/${binding.namespace}`)} of ${role}`
}

const errorsOf = (grants: Grants): Error[] => grants.filter((grant) => grant instanceof Error)

const decide = (attributes: Attributes, grants: Grants): Decision => {
  for (const grant of grants)
    if (!(grant instanceof Error) && grant.rules.some((rule) => ruleAllows(attributes, rule)))
      return grant.decision
  const problem = aggregate(errorsOf(grants).map(({ message }) => message))
  return problem === undefined ? noOpinion : { decision: 'no opinion', reason: `RBAC: ${problem}` }
}

interface Held {
  /** Once they are read. */
  grants?: Grants
  readonly reading: Promise<Grants>
}

/** Usually synchronous: a user's grants are kept until a role or a binding changes. */
export class RbacAuthorizer implements Authorizer, RuleResolver {
  readonly #source: RoleSource
  /** As of this revision. */
  #heldAt: number | undefined
  #held = new Kept<Held>(limits.rbacGrantsKept)

  constructor(source: RoleSource) {
    this.#source = source
  }

  #grantsOf(user: UserInfo, namespace: string): Grants | Promise<Grants> {
    const at = this.#source.lastChange()
    if (at === undefined) return this.#read(user, namespace)
    if (at !== this.#heldAt) this.#letGo(at)
    const who = JSON.stringify([namespace, user.name, user.groups])
    const held = this.#held.of(who, () => this.#hold(user, namespace))
    return held.grants ?? held.reading
  }

  #letGo(at: number | undefined): void {
    this.#heldAt = at
    this.#held = new Kept(limits.rbacGrantsKept)
  }

  #hold(user: UserInfo, namespace: string): Held {
    const held: Held = { reading: this.#read(user, namespace) }
    held.reading.then(
      (grants) => {
        held.grants = grants
      },
      () => this.#letGo(undefined),
    )
    return held
  }

  async #read(user: UserInfo, namespace: string): Promise<Grants> {
    const bindings = [...(await this.#source.clusterRoleBindings())]
    if (namespace !== '') bindings.push(...(await this.#source.roleBindings(namespace)))
    const grants: (Grant | Error)[] = []
    for (const binding of bindings) {
      const subject = binding.subjects.find((s) => subjectApplies(user, s, binding.namespace))
      if (subject === undefined) continue
      const reason = `RBAC: allowed by ${describeGrant(binding, subject)}`
      try {
        const rules = await this.#source.rules(binding.roleRef, binding.namespace)
        grants.push({ rules, decision: { decision: 'allow', reason } })
      } catch (error) {
        grants.push(error instanceof Error ? error : new Error(String(error)))
      }
    }
    return grants
  }

  authorize(attributes: Attributes): Decision | Promise<Decision> {
    const grants = this.#grantsOf(attributes.user, attributes.namespace)
    return whenKnown(grants, (known) => decide(attributes, known))
  }

  /** The errors are of bindings whose role could not be read. */
  async rulesFor(user: UserInfo, namespace: string): Promise<RulesOfUser> {
    const grants = await this.#grantsOf(user, namespace)
    const rules = grants.flatMap((grant) => (grant instanceof Error ? [] : grant.rules))
    return { rules, errors: errorsOf(grants) }
  }

  rulesOf(ref: RoleRef, namespace: string): Promise<readonly PolicyRule[]> {
    return this.#source.rules(ref, namespace)
  }
}
