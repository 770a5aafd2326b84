/**
 * A node may only request tokens that are bound to its own Pods, of their accounts, and for audiences that those Pods
 * use.
 */

import type { Fields, KubeObject } from '#api/object.js'
import { aggregate } from '#go/aggregate.js'
import { goQuote } from '#go/quote.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { refuse } from '../plugin.js'
import type { Authorize } from '../policies/cel.js'
import { csiDriverOf } from './csi-driver-of.js'
import { findListed } from './find-listed.js'
import { findPod } from './pods.js'

const csiDrivers = {
  group: 'storage.k8s.io',
  resource: 'csidrivers',
  singular: 'csidriver',
}

const isProjectedFor = ({ projected }: Fields, audience: string): boolean =>
  (projected?.sources ?? []).some(
    ({ serviceAccountToken }: Fields) =>
      serviceAccountToken !== undefined && (serviceAccountToken.audience ?? '') === audience,
  )

const isDriverFor = async (
  attributes: AdmissionAttributes,
  driver: string,
  audience: string,
): Promise<boolean> => {
  const { spec } = await findListed(attributes, csiDrivers, { name: driver })
  return (spec.tokenRequests ?? []).some((one: Fields) => (one.audience ?? '') === audience)
}

/** Whether a volume of the Pod has a token for the audience. Errors of lookups are thrown only if no volume does. */
const mountsTokenFor = async (
  attributes: AdmissionAttributes,
  pod: KubeObject,
  audience: string,
): Promise<boolean> => {
  const problems: string[] = []
  for (const volume of (pod.spec.volumes ?? []) as Fields[])
    try {
      if (isProjectedFor(volume, audience)) return true
      const driver = await csiDriverOf(attributes, pod, volume)
      if (driver && (await isDriverFor(attributes, driver, audience))) return true
    } catch (error) {
      problems.push((error as Error).message)
    }
  const problem = aggregate(problems)
  if (problem === undefined) return false
  throw refuse(attributes, `error validating audience ${goQuote(audience)}: ${problem}`)
}

const checkAudience = async (
  authorize: Authorize,
  attributes: AdmissionAttributes,
  pod: KubeObject,
): Promise<void> => {
  const [audience = '', ...others]: string[] = attributes.object!.spec?.audiences ?? []
  if (others.length > 0) throw refuse(attributes, 'node may only request 0 or 1 audiences')
  if (await mountsTokenFor(attributes, pod, audience)) return
  const { user } = attributes.ctx
  const { allowed } = await authorize({
    subject: { ...user, username: user.name },
    verb: 'request-serviceaccounts-token-audience',
    namespace: attributes.namespace,
    resource: audience,
    name: attributes.name,
  })
  if (!allowed)
    throw refuse(
      attributes,
      `audience ${goQuote(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
    )
}

export const admitTokenRequest =
  (authorize: Authorize) =>
  async (node: string, attributes: AdmissionAttributes): Promise<void> => {
    const { operation, subresource, object } = attributes
    if (operation !== 'CREATE' || subresource !== 'token') return
    const { apiVersion, kind, name, uid }: Fields = object!.spec?.boundObjectRef ?? {}
    if (apiVersion !== 'v1' || kind !== 'Pod' || !name)
      throw refuse(attributes, 'node requested token not bound to a pod')
    if (!uid) throw refuse(attributes, 'node requested token with a pod binding without a uid')
    const pod = await findPod(attributes, name)
    if (pod.metadata.uid !== uid)
      throw refuse(
        attributes,
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      )
    if (pod.spec.nodeName !== node)
      throw refuse(attributes, 'node requested token bound to a pod scheduled on a different node')
    await checkAudience(authorize, attributes, pod)
  }
