/** Checks of authorization in expressions (apiserver, pkg/cel/library/authz.go). */
import { isDns1123Label, isDns1123Subdomain } from '#api/names.js'
import { serviceAccountUser } from '#api/user-info.js'
import type { Implementations } from '../evaluation.js'
import { CelError, KubernetesValue } from '../values.js'

/** Whom an expression asks about. */
interface Subject {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What may be asked: a path, or a resource. */
export interface Question {
  readonly subject: Subject
  readonly verb: string
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
}

export interface Answer {
  readonly allowed: boolean
  readonly reason: string
  readonly error?: string
}

/** Evaluation does not wait: the function throws a promise for an answer that is not there yet. */
export type Ask = (question: Question) => Answer

abstract class Check extends KubernetesValue {
  equals(other: this): boolean {
    return this === other
  }
}

export class Authorizer extends Check {
  readonly typeName = 'kubernetes.authorization.Authorizer'
  readonly ask: Ask
  readonly subject: Subject
  constructor(ask: Ask, subject: Subject) {
    super()
    this.ask = ask
    this.subject = subject
  }
}

class PathCheck extends Check {
  readonly typeName = 'kubernetes.authorization.PathCheck'
  readonly authorizer: Authorizer
  readonly path: string
  constructor(authorizer: Authorizer, path: string) {
    super()
    this.authorizer = authorizer
    this.path = path
  }
}

class GroupCheck extends Check {
  readonly typeName = 'kubernetes.authorization.GroupCheck'
  readonly authorizer: Authorizer
  readonly group: string
  constructor(authorizer: Authorizer, group: string) {
    super()
    this.authorizer = authorizer
    this.group = group
  }
}

type ResourceTerms = Omit<Question, 'subject' | 'verb' | 'path'>

export class ResourceCheck extends Check {
  readonly typeName = 'kubernetes.authorization.ResourceCheck'
  readonly authorizer: Authorizer
  readonly terms: ResourceTerms
  constructor(authorizer: Authorizer, terms: ResourceTerms) {
    super()
    this.authorizer = authorizer
    this.terms = terms
  }
  with(more: ResourceTerms): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.terms, ...more })
  }
}

class Decision extends Check {
  readonly typeName = 'kubernetes.authorization.Decision'
  readonly answer: Answer
  constructor(answer: Answer) {
    super()
    this.answer = answer
  }
}

const needed = (text: string, what: string): string => {
  if (text.trim() === '') throw new CelError(`${what} must not be empty`)
  return text
}

const serviceAccount = (authorizer: Authorizer, namespace: string, name: string): Authorizer => {
  if (isDns1123Subdomain(name).length > 0) throw new CelError('Invalid service account name')
  if (isDns1123Label(namespace).length > 0) throw new CelError('Invalid service account namespace')
  const { name: username, groups } = serviceAccountUser(namespace, name)
  return new Authorizer(authorizer.ask, { username, groups })
}

const term =
  (field: keyof ResourceTerms) =>
  (check: ResourceCheck, value: string): ResourceCheck =>
    check.with({ [field]: value })

export const authorizerFunctions: Implementations = {
  authorizer_path: (authorizer: Authorizer, path: string) =>
    new PathCheck(authorizer, needed(path, 'path')),
  authorizer_group: (authorizer: Authorizer, group: string) => new GroupCheck(authorizer, group),
  authorizer_serviceaccount: serviceAccount,
  groupcheck_resource: ({ authorizer, group }: GroupCheck, resource: string) =>
    new ResourceCheck(authorizer, { group, resource: needed(resource, 'resource') }),
  resourcecheck_subresource: term('subresource'),
  resourcecheck_namespace: term('namespace'),
  resourcecheck_name: term('name'),
  authorizer_fieldselector: term('fieldSelector'),
  authorizer_labelselector: term('labelSelector'),
  pathcheck_check: ({ authorizer: { ask, subject }, path }: PathCheck, verb: string) =>
    new Decision(ask({ subject, verb, path })),
  resourcecheck_check: ({ authorizer: { ask, subject }, terms }: ResourceCheck, verb: string) =>
    new Decision(ask({ ...terms, subject, verb })),
  decision_errored: ({ answer }: Decision) => answer.error !== undefined,
  decision_error: ({ answer }: Decision) => answer.error ?? '',
  decision_allowed: ({ answer }: Decision) => answer.allowed,
  decision_reason: ({ answer }: Decision) => answer.reason,
}
