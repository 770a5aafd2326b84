/** A node may create mirror Pods, delete its own Pods and write their status. */
import { isMirrorPod, mirrorAnnotation } from '#api/mirror-pods.js'
import type { Fields, KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { semanticEqual } from '#json/object.js'
import type { AdmissionAttributes, AttributesOf } from '#registry/admission.js'
import { apiReferenceOf } from '#validation/pod/api-reference.js'
import { refuse } from '../plugin.js'
import { findListed } from './find-listed.js'

const nodes = { group: '', resource: 'nodes', singular: 'node' }
const pods = { group: '', resource: 'pods', singular: 'pod' }

export const findPod = (attributes: AdmissionAttributes, name: string): Promise<KubeObject> =>
  findListed(attributes, pods, { name, namespace: attributes.namespace })

/** The only owner of a mirror Pod may be the Node itself. */
const checkOwner = async (node: string, attributes: AttributesOf<'CREATE'>): Promise<void> => {
  const who = `node ${goQuote(node)}`
  const [owner, ...others] = attributes.object.metadata.ownerReferences ?? []
  if (others.length > 0)
    throw refuse(
      attributes,
      `${who} can only create pods with a single owner reference set to itself`,
    )
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    throw refuse(attributes, `${who} can only create pods with an owner reference set to itself`)
  if (owner.controller !== true)
    throw refuse(
      attributes,
      `${who} can only create pods with a controller owner reference set to itself`,
    )
  if (owner.blockOwnerDeletion === true)
    throw refuse(attributes, `${who} must not set blockOwnerDeletion on an owner reference`)
  const stored = await findListed(attributes, nodes, { name: node })
  if (owner.uid !== stored.metadata.uid)
    throw refuse(
      attributes,
      `node ${node} UID mismatch: expected ${owner.uid} got ${stored.metadata.uid}`,
    )
}

const admitCreate = async (node: string, attributes: AttributesOf<'CREATE'>): Promise<void> => {
  const who = `node ${goQuote(node)}`
  const pod = attributes.object
  if (!isMirrorPod(pod))
    throw refuse(
      attributes,
      `pod does not have ${goQuote(mirrorAnnotation)} annotation, ${who} can only create mirror pods`,
    )
  if (pod.spec.nodeName !== node)
    throw refuse(attributes, `${who} can only create pods with spec.nodeName set to itself`)
  await checkOwner(node, attributes)
  const reference = apiReferenceOf(pod.spec)
  if (reference?.problem !== undefined)
    throw refuse(attributes, `error checking mirror pod for API references: ${reference.problem}`)
  if (reference !== undefined)
    throw refuse(attributes, `${who} can not create pods that reference ${reference.told}`)
}

const admitDelete = async (node: string, attributes: AttributesOf<'DELETE'>): Promise<void> => {
  const pod = await findPod(attributes, attributes.name)
  if (pod.spec.nodeName !== node)
    throw refuse(
      attributes,
      `node ${goQuote(node)} can only delete pods with spec.nodeName set to itself`,
    )
}

const admitStatus = (node: string, attributes: AttributesOf<'UPDATE'>): void => {
  const who = `node ${goQuote(node)}`
  const { object, oldObject } = attributes
  if (oldObject.spec.nodeName !== node)
    throw refuse(
      attributes,
      `${who} can only update pod status for pods with spec.nodeName set to itself`,
    )
  if (!semanticEqual(object.metadata.labels ?? {}, oldObject.metadata.labels ?? {}))
    throw refuse(attributes, `${who} cannot update labels through pod status`)
  const next: Fields = object.status ?? {}
  const previous: Fields = oldObject.status ?? {}
  if (!semanticEqual(next.resourceClaimStatuses, previous.resourceClaimStatuses))
    throw refuse(attributes, `${who} cannot update resource claim statues`)
  if (!semanticEqual(next.extendedResourceClaimStatus, previous.extendedResourceClaimStatus))
    throw refuse(attributes, `${who} cannot update extended resource claim status`)
}

const admitEviction = async (node: string, attributes: AttributesOf<'CREATE'>): Promise<void> => {
  const pod = await findPod(attributes, attributes.name)
  if (pod.spec.nodeName !== node)
    throw refuse(attributes, `node ${node} can only evict pods with spec.nodeName set to itself`)
}

const isOf = <O extends AdmissionAttributes['operation']>(
  attributes: AdmissionAttributes,
  operation: O,
): attributes is AttributesOf<O> => attributes.operation === operation

export const admitPod = (node: string, attributes: AdmissionAttributes): void | Promise<void> => {
  const { operation, subresource } = attributes
  switch (subresource) {
    case '':
      if (isOf(attributes, 'CREATE')) return admitCreate(node, attributes)
      if (isOf(attributes, 'DELETE')) return admitDelete(node, attributes)
      throw refuse(
        attributes,
        `unexpected operation ${goQuote(operation)}, node ${goQuote(node)} can only create and delete mirror pods`,
      )
    case 'status':
      if (isOf(attributes, 'UPDATE')) return admitStatus(node, attributes)
      throw refuse(attributes, `unexpected operation ${goQuote(operation)}`)
    case 'eviction':
      if (isOf(attributes, 'CREATE')) return admitEviction(node, attributes)
      throw refuse(attributes, `unexpected operation ${operation}`)
    default:
      throw refuse(
        attributes,
        `unexpected pod subresource ${goQuote(subresource)}, only 'status' and 'eviction' are allowed`,
      )
  }
}
