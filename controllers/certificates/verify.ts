/** What Kubernetes' signers want of a request, in upstream's words (pkg/apis/certificates/v1, helpers.go; signer.go). */
import { signers } from '#api/signers.js'
import { mastersGroup, nodesGroup, nodeUserPrefix } from '#api/user-info.js'
import type { CertificateRequest } from '#net/certificate-request.js'
import { readElement, readElements } from '#net/der.js'

type Subject = Pick<CertificateRequest, 'commonName' | 'organizations' | 'alternativeNames'>
type Usages = readonly string[]

/** Tags of the names in subjectAltName: RFC 5280, 4.2.1.6. */
const nameTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const

const hasNames = (
  { alternativeNames }: Subject,
  ...kinds: readonly (keyof typeof nameTags)[]
): boolean =>
  alternativeNames !== undefined &&
  readElements(readElement(alternativeNames).content).some(({ tag }) =>
    kinds.some((kind) => nameTags[kind] === tag),
  )

const isOfNodes = ({ organizations }: Subject): boolean =>
  organizations.length === 1 && organizations[0] === nodesGroup

const noNodesGroup = 'subject organization is not system:nodes'
const noNodeName = 'subject common name does not begin with system:node:'
const namesNode = ({ commonName }: Subject): boolean => commonName.startsWith(nodeUserPrefix)

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

export const kubeletClientProblem = (subject: Subject, usages: Usages): string | undefined => {
  if (!isOfNodes(subject)) return noNodesGroup
  if (hasNames(subject, 'dns')) return 'DNS subjectAltNames are not allowed'
  if (hasNames(subject, 'email')) return 'Email subjectAltNames are not allowed'
  if (hasNames(subject, 'ip')) return 'IP subjectAltNames are not allowed'
  if (hasNames(subject, 'uri')) return 'URI subjectAltNames are not allowed'
  return namesNode(subject) ? usagesProblem(usages, ofKubeletClient) : noNodeName
}

const kubeletServingProblem = (subject: Subject, usages: Usages): string | undefined => {
  if (!isOfNodes(subject)) return noNodesGroup
  if (!hasNames(subject, 'dns', 'ip')) return 'DNS or IP subjectAltName is required'
  if (hasNames(subject, 'email')) return 'Email subjectAltNames are not allowed'
  if (hasNames(subject, 'uri')) return 'URI subjectAltNames are not allowed'
  return usagesProblem(usages, ofKubeletServing) ?? (namesNode(subject) ? undefined : noNodeName)
}

const clientProblem = (subject: Subject, usages: Usages): string | undefined => {
  // The API server does not let such a request in, if its admission plugin for that is on.
  if (subject.organizations.includes(mastersGroup))
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
  subject: Subject,
  usages: Usages = [],
): string | undefined => problems[signerName]?.(subject, usages)
