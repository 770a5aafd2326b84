/** Role-based access control over the Roles, ClusterRoles and bindings that are stored. */
import type { UserInfo } from '#api/user-info.js'
import type { Attributes, Authorizer, Decision } from './authorizer.js'
import { type PolicyRule, ruleAllows, type Subject, subjectApplies } from './rbac-rules.js'

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
  clusterRoleBindings(): Promise<readonly Binding[]>
  roleBindings(namespace: string): Promise<readonly Binding[]>
  /** Rules of a role; throws an Error whose message says that there is none. */
  rules(ref: RoleRef, namespace: string): Promise<readonly PolicyRule[]>
}

interface Grant {
  readonly binding: Binding
  readonly subject: Subject
  readonly rules: readonly PolicyRule[]
}

const describeSubject = (subject: Subject, namespace: string): string =>
  subject.kind === 'ServiceAccount'
    ? `ServiceAccount ${JSON.stringify(`${subject.name}/${subject.namespace || namespace}`)}`
    : `${subject.kind} ${JSON.stringify(subject.name)}`

const describeGrant = ({ binding, subject }: Grant): string => {
  const { kind, name } = binding.roleRef
  const role = `${kind} ${JSON.stringify(name)} to ${describeSubject(subject, binding.namespace)}`
  return binding.namespace === ''
    ? `ClusterRoleBinding ${JSON.stringify(binding.name)} of ${role}`
    : `RoleBinding ${JSON.stringify(`${binding.name}/${binding.namespace}`)} of ${role}`
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

export class RbacAuthorizer implements Authorizer {
  readonly #source: RoleSource

  constructor(source: RoleSource) {
    this.#source = source
  }

  /** Grants of a user, cluster-wide ones first; a binding to a role that is missing yields its error. */
  async *#grants(user: UserInfo, namespace: string): AsyncGenerator<Grant | Error> {
    const bindings = async function* (source: RoleSource) {
      yield await source.clusterRoleBindings()
      if (namespace !== '') yield await source.roleBindings(namespace)
    }
    for await (const list of bindings(this.#source))
      for (const binding of list) {
        const subject = binding.subjects.find((s) => subjectApplies(user, s, binding.namespace))
        if (subject === undefined) continue
        let rules: readonly PolicyRule[]
        try {
          rules = await this.#source.rules(binding.roleRef, binding.namespace)
        } catch (error) {
          yield new Error(messageOf(error))
          continue
        }
        yield { binding, subject, rules }
      }
  }

  async authorize(attributes: Attributes): Promise<Decision> {
    const errors: string[] = []
    for await (const grant of this.#grants(attributes.user, attributes.namespace)) {
      if (grant instanceof Error) errors.push(grant.message)
      else if (grant.rules.some((rule) => ruleAllows(attributes, rule)))
        return { decision: 'allow', reason: `RBAC: allowed by ${describeGrant(grant)}` }
    }
    const unique = [...new Set(errors)]
    const text = unique.length > 1 ? `[${unique.join(', ')}]` : unique[0]
    return { decision: 'no opinion', reason: text === undefined ? '' : `RBAC: ${text}` }
  }

  /** Every rule that a user has in a namespace; errors of missing roles are left out. */
  async rulesFor(user: UserInfo, namespace: string): Promise<PolicyRule[]> {
    const rules: PolicyRule[] = []
    for await (const grant of this.#grants(user, namespace))
      if (!(grant instanceof Error)) rules.push(...grant.rules)
    return rules
  }

  rulesOf(ref: RoleRef, namespace: string): Promise<readonly PolicyRule[]> {
    return this.#source.rules(ref, namespace)
  }
}
