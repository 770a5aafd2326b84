/** A node may only write the resize fields of a claim's status. */

import type { Fields, KubeObject } from '#api/object.js'
import { metadataInOrder } from '#cacher/object-bytes.js'
import { goQuote } from '#go/quote.js'
import { semanticEqual, withKeysInOrder } from '#json/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { internalForm } from '#validation/internal-form.js'
import { unifiedDiff } from '#validation/unified-diff.js'
import { refuse } from '../plugin.js'

/** A claim without what a node may write, and without what is written by the way. */
const othersOf = ({ metadata, spec, status = {} }: KubeObject): Fields => {
  const { resourceVersion: _version, managedFields: _managers, ...named } = metadata
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _states,
    ...told
  } = status
  return { metadata: named, spec, status: told }
}

const inOrder = (map: Record<string, string> | undefined) =>
  map && (withKeysInOrder(map) as Record<string, string>)

const printed = ({ metadata, ...parts }: Fields): Fields => {
  const maps = { labels: inOrder(metadata.labels), annotations: inOrder(metadata.annotations) }
  return internalForm('core.v1.PersistentVolumeClaim', {
    ...parts,
    metadata: metadataInOrder({ ...metadata, ...maps }),
  })
}

export const admitClaim = (node: string, attributes: AdmissionAttributes): void => {
  const { operation, subresource, object, oldObject } = attributes
  if (subresource !== 'status') throw refuse(attributes, 'may only update PVC status')
  if (operation !== 'UPDATE') throw refuse(attributes, `unexpected operation ${goQuote(operation)}`)
  const [next, previous] = [othersOf(object!), othersOf(oldObject!)]
  if (semanticEqual(next, previous)) return
  const difference = unifiedDiff(printed(previous), printed(next))
  throw refuse(
    attributes,
    `node ${goQuote(node)} is not allowed to update fields other than status.quantity and status.conditions: ${difference}`,
  )
}
