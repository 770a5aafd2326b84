/**
 * Whoever makes an object the dependent of another must be allowed to delete it, and whoever lets it hold up the
 * deletion of its owner must be allowed to finalize that (kubernetes, plugin/pkg/admission/gc).
 */

import { parseGroupVersion } from '#api/group-version.js'
import type { KubeObject, OwnerReference } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { jsonEqual } from '#json/object.js'
import type { AdmissionAttributes, WriteAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, isWrite, refuse } from './plugin.js'
import type { Authorize } from './policies/cel.js'
import type { ResourceOfKind } from './policies/policy-input.js'

type Question = Omit<Parameters<Authorize>[0], 'subject'>

export interface OwnerMeans {
  readonly authorize: Authorize
  readonly resourceOfKind: ResourceOfKind
}

const ownersOf = (object: KubeObject | undefined): readonly OwnerReference[] =>
  object?.metadata?.ownerReferences ?? []

const isPodStatus = ({ resource, subresource }: AdmissionAttributes): boolean =>
  resource.group === '' && resource.resource === 'pods' && subresource === 'status'

/** References that begin to hold up their owner. */
const newlyBlocking = ({ object, oldObject }: WriteAttributes): readonly OwnerReference[] => {
  const blocked = new Set(
    ownersOf(oldObject)
      .filter(({ blockOwnerDeletion }) => blockOwnerDeletion)
      .map(({ uid }) => uid),
  )
  return ownersOf(object).filter((o) => o.blockOwnerDeletion && !blocked.has(o.uid))
}

/** The attributes of an update of an owner's finalizers. Throws if no resource has that kind. */
const finalizersOf = (
  { apiVersion, kind, name }: OwnerReference,
  attributes: WriteAttributes,
  resourceOfKind: ResourceOfKind,
): Question => {
  const gv = parseGroupVersion(apiVersion)
  const found = gv && resourceOfKind({ ...gv, kind })
  if (found === undefined) {
    const why =
      gv === undefined
        ? `unexpected GroupVersion string: ${apiVersion}`
        : `no matches for kind ${goQuote(kind)} in version ${goQuote(apiVersion)}`
    throw refuse(
      attributes,
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: ${why}`,
    )
  }
  const { group, resource, namespaced } = found
  const namespace = namespaced ? attributes.namespace : ''
  return { verb: 'update', group, resource, subresource: 'finalizers', namespace, name }
}

const check = async (
  attributes: WriteAttributes,
  { authorize, resourceOfKind }: OwnerMeans,
): Promise<void> => {
  const { ctx, resource, subresource, namespace, name } = attributes
  const subject = { ...ctx.user, username: ctx.user.name }
  const ask = async (question: Question) => authorize({ ...question, subject })
  const insist = async (question: Question, problem: string): Promise<void> => {
    const { allowed, reason, error = '<nil>' } = await ask(question)
    if (!allowed) throw refuse(attributes, `${problem}: ${reason}, ${error}`)
  }
  // Whoever creates the object could have left the reference out.
  if (attributes.operation === 'UPDATE')
    await insist(
      { verb: 'delete', ...resource, subresource, namespace, name },
      "cannot set an ownerRef on a resource you can't delete",
    )
  const blocking = newlyBlocking(attributes)
  if (blocking.length === 0) return
  const anything = { group: '*', resource: '*', subresource: 'finalizers', name: '*' }
  if ((await ask({ verb: 'update', ...anything })).allowed) return
  for (const owner of blocking)
    await insist(
      finalizersOf(owner, attributes, resourceOfKind),
      "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
    )
}

export const ownerReferencesPermissionEnforcement = (means: OwnerMeans): AdmissionPlugin => ({
  name: 'OwnerReferencesPermissionEnforcement',
  validate: (attributes) => {
    if (!isWrite(attributes) || isPodStatus(attributes)) return
    const [next, previous] = [ownersOf(attributes.object), ownersOf(attributes.oldObject)]
    if (jsonEqual(next, previous)) return
    return check(attributes, means)
  },
})
