/** A node may write its own Node, except for labels and taints that would attract Pods. */

import type { Labels } from '#api/selectors.js'
import { compareTexts } from '#go/compare-texts.js'
import { goQuote } from '#go/quote.js'
import { getOwn, semanticEqual } from '#json/object.js'
import type { AdmissionAttributes, AttributesOf } from '#registry/admission.js'
import { refuse } from '../plugin.js'

/** Labels by which a kubelet describes its machine (kubernetes, kubelet/pkg/apis/well_known_labels.go). */
const kubeletLabels = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
])

const isBelow = (prefix: string, ...domains: readonly string[]): boolean =>
  domains.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`))

const isForbidden = (label: string): boolean => {
  const prefix = label.includes('/') ? label.slice(0, label.indexOf('/')) : ''
  if (isBelow(prefix, 'node-restriction.kubernetes.io')) return true
  return (
    isBelow(prefix, 'kubernetes.io', 'k8s.io') &&
    !kubeletLabels.has(label) &&
    !isBelow(prefix, 'kubelet.kubernetes.io', 'node.kubernetes.io')
  )
}

/** Separated by commas; empty for none. */
const forbiddenLabels = (next: Labels = {}, previous: Labels = {}): string =>
  Object.keys({ ...next, ...previous })
    .filter((label) => getOwn(next, label) !== getOwn(previous, label) && isForbidden(label))
    .sort(compareTexts)
    .join(', ')

const admitCreate = (node: string, attributes: AttributesOf<'CREATE'>): void => {
  const { metadata, spec } = attributes.object
  const who = `node ${goQuote(node)}`
  if (spec?.configSource !== undefined)
    throw refuse(attributes, `${who} is not allowed to create pods with a non-nil configSource`)
  const labels = forbiddenLabels(metadata.labels)
  if (labels !== '')
    throw refuse(attributes, `${who} is not allowed to set the following labels: ${labels}`)
}

const admitUpdate = (node: string, attributes: AttributesOf<'UPDATE'>): void => {
  const { object: next, oldObject: previous } = attributes
  const who = `node ${goQuote(node)}`
  const configSource = next.spec?.configSource
  if (configSource !== undefined && !semanticEqual(configSource, previous.spec?.configSource))
    throw refuse(
      attributes,
      `${who} is not allowed to update configSource to a new non-nil configSource`,
    )
  if (!semanticEqual(next.spec?.taints, previous.spec?.taints))
    throw refuse(attributes, `${who} is not allowed to modify taints`)
  if (!semanticEqual(next.metadata.ownerReferences, previous.metadata.ownerReferences))
    throw refuse(attributes, `${who} is not allowed to modify ownerReferences`)
  const labels = forbiddenLabels(next.metadata.labels, previous.metadata.labels)
  if (labels !== '') throw refuse(attributes, `is not allowed to modify labels: ${labels}`)
}

export const admitNode = (node: string, attributes: AdmissionAttributes): void => {
  const { operation, name } = attributes
  if (name !== node)
    throw refuse(attributes, `node ${goQuote(node)} is not allowed to modify node ${goQuote(name)}`)
  if (operation === 'CREATE') admitCreate(node, attributes as AttributesOf<'CREATE'>)
  else if (operation === 'UPDATE') admitUpdate(node, attributes as AttributesOf<'UPDATE'>)
}
