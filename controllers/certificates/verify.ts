/** What Kubernetes' signers want of a request, in upstream's words (pkg/apis/certificates/v1, helpers.go; signer.go). */

import type { CertificateRequest } from '#api/certificates/certificate-request.js'
import { signers } from '#api/signers.js'
import { mastersGroup, nodesGroup, nodeUserPrefix } from '#api/user-info.js'

type Request = Pick<CertificateRequest, 'subject' | 'alternativeNames'>
type Usages = readonly string[]

const hasNames = (
  { alternativeNames }: Request,
  ...kinds: readonly Request['alternativeNames'][number]['kind'][]
): boolean => alternativeNames.some(({ kind }) => kinds.includes(kind))

const isOfNodes = ({ subject: { organizations } }: Request): boolean =>
  organizations.length === 1 && organizations[0] === nodesGroup

const noNodesGroup = 'subject organization is not system:nodes'
const noNodeName = 'subject common name does not begin with system:node:'
const namesNode = ({ subject }: Request): boolean => subject.commonName.startsWith(nodeUserPrefix)

const encipherment = 'key encipherment'
const ofKubeletClient = ['client auth', 'digital signature', encipherment]
const ofKubeletServing = ['digital signature', encipherment, 'server auth']

/** All of these, or all but the one that only keys of RSA can have. */
const usagesProblem = (usages: Usages, wanted: Usages): string | undefined => {
  const given = new Set(usages).add(encipherment)
  return given.size === wanted.length && wanted.every((usage) => given.has(usage))
    ? undefined
    : `usages did not match [${wanted.join(' ')}]`
}

export const kubeletClientProblem = (request: Request, usages: Usages): string | undefined => {
  if (!isOfNodes(request)) return noNodesGroup
  if (hasNames(request, 'dns')) return 'DNS subjectAltNames are not allowed'
  if (hasNames(request, 'email')) return 'Email subjectAltNames are not allowed'
  if (hasNames(request, 'ip')) return 'IP subjectAltNames are not allowed'
  if (hasNames(request, 'uri')) return 'URI subjectAltNames are not allowed'
  return namesNode(request) ? usagesProblem(usages, ofKubeletClient) : noNodeName
}

const kubeletServingProblem = (request: Request, usages: Usages): string | undefined => {
  if (!isOfNodes(request)) return noNodesGroup
  if (!hasNames(request, 'dns', 'ip')) return 'DNS or IP subjectAltName is required'
  if (hasNames(request, 'email')) return 'Email subjectAltNames are not allowed'
  if (hasNames(request, 'uri')) return 'URI subjectAltNames are not allowed'
  return usagesProblem(usages, ofKubeletServing) ?? (namesNode(request) ? undefined : noNodeName)
}

const clientProblem = (request: Request, usages: Usages): string | undefined => {
  // The API server does not let such a request in, if its admission plugin for that is on.
  if (request.subject.organizations.includes(mastersGroup))
    return 'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed'
  const other = usages.find((usage) => !ofKubeletClient.includes(usage))
  if (other !== undefined) return `invalid usage for client certificate: ${other}`
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth'
}

const problems: Readonly<Record<string, typeof clientProblem>> = {
  [signers.client]: clientProblem,
  [signers.kubeletClient]: kubeletClientProblem,
  [signers.kubeletServing]: kubeletServingProblem,
}

/** What is wrong with the request for its signer; undefined when nothing is. */
export const refusalOf = (
  signerName: string,
  request: Request,
  usages: Usages = [],
): string | undefined => problems[signerName]?.(request, usages)
