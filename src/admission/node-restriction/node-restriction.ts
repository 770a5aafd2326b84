/**
 * A kubelet may only write objects of its own node (kubernetes, plugin/pkg/admission/noderestriction). The Node
 * authorizer has checked the path; this checks the objects.
 */

import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import { signers } from '#api/signers.js'
import { nodeIdentity, nodeUserPrefix } from '#api/user-info.js'
import { goQuote } from '#go/quote.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, refuse } from '../plugin.js'
import type { Authorize } from '../policies/cel.js'
import { admitTokenRequest } from './account-token.js'
import { admitClaim } from './claim-status.js'
import { admitNode } from './own-node.js'
import { admitPod } from './pods.js'

const leaseNamespace = 'kube-node-lease'
const nodeSigners: readonly string[] = [signers.kubeletServing, signers.kubeletClient]

type Check = (node: string, attributes: AdmissionAttributes) => void | Promise<void>

/** A created object has its name only in itself. */
const isNamed = (node: string, { operation, name, object }: AdmissionAttributes): boolean =>
  (operation === 'CREATE' ? object?.metadata.name : name) === node

const admitLease: Check = (node, attributes) => {
  if (attributes.namespace !== leaseNamespace)
    throw refuse(
      attributes,
      `can only access leases in the ${goQuote(leaseNamespace)} system namespace`,
    )
  if (!isNamed(node, attributes))
    throw refuse(attributes, 'can only access node lease with the same name as the requesting node')
}

const admitCsiNode: Check = (node, attributes) => {
  if (!isNamed(node, attributes))
    throw refuse(attributes, 'can only access CSINode with the same name as the requesting node')
}

/** The authorizer has seen the slice of an update, but not one in a collection that is deleted. */
const admitSlice: Check = (node, attributes) => {
  const { operation, object, oldObject } = attributes
  if (operation === 'UPDATE' || (object ?? oldObject)?.spec.nodeName === node) return
  const verb = operation === 'CREATE' ? 'create' : 'delete'
  throw refuse(
    attributes,
    `can only ${verb} ResourceSlice with the same NodeName as the requesting node`,
  )
}

const admitCertificate: Check = (node, attributes) => {
  const { operation, object } = attributes
  if (operation !== 'CREATE' || !nodeSigners.includes(object?.spec.signerName)) return
  const request = parseCertificateRequest(object?.spec.request ?? '')
  if ('error' in request) throw refuse(attributes, `unable to parse csr: ${request.error}`)
  if (request.subject.commonName !== `${nodeUserPrefix}${node}`)
    throw refuse(attributes, `can only create a node CSR with CN=system:node:${node}`)
}

const checksWith = (authorize: Authorize): Readonly<Record<string, Check>> => ({
  '/nodes': admitNode,
  '/persistentvolumeclaims': admitClaim,
  '/pods': admitPod,
  '/serviceaccounts': admitTokenRequest(authorize),
  'certificates.k8s.io/certificatesigningrequests': admitCertificate,
  'coordination.k8s.io/leases': admitLease,
  'resource.k8s.io/resourceslices': admitSlice,
  'storage.k8s.io/csinodes': admitCsiNode,
})

export const nodeRestriction = (authorize: Authorize): AdmissionPlugin => {
  const checks = checksWith(authorize)
  return {
    name: 'NodeRestriction',
    resources: Object.keys(checks).map((resource) => resource.slice(resource.indexOf('/') + 1)),
    mutate: (attributes) => {
      const { ctx, operation, resource } = attributes
      const node = operation === 'CONNECT' ? undefined : nodeIdentity(ctx.user)
      if (node === undefined) return
      if (node === '')
        throw refuse(attributes, `could not determine node from user ${goQuote(ctx.user.name)}`)
      return checks[`${resource.group}/${resource.resource}`]?.(node, attributes)
    },
  }
}
