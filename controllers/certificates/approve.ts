/** Approves nodes' requests for certificates of clients, where rules let who asks have them (upstream's csrapproving). */
import { signers } from '#api/signers.js'
import { resources } from '#client/resources.js'
import type { ControllerContext } from '../controller.js'
import { readRequest, type SigningRequest } from './sign.js'
import { kubeletClientProblem } from './verify.js'

/** Subresources that somebody has to be allowed to create, and what they are called. */
const ways = {
  selfnodeclient: 'self kubelet client certificate',
  nodeclient: 'kubelet client certificate',
} as const

type Way = keyof typeof ways

const isAllowed = async (
  { client }: ControllerContext,
  { spec: { username: user, uid, groups, extra } }: SigningRequest,
  subresource: Way,
): Promise<boolean> => {
  const resourceAttributes = {
    group: 'certificates.k8s.io',
    version: '*',
    resource: 'certificatesigningrequests',
    verb: 'create',
    subresource,
  }
  const spec = { user, uid, groups, extra, resourceAttributes }
  const { status } = await client.create<{ status?: { allowed?: boolean } }>(
    resources.subjectAccessReviews,
    { spec },
  )
  return status?.allowed === true
}

/** The message of the approval; undefined for what is no node's. Throws where nothing allows it: it is asked again later. */
export const approvalOf = async (
  context: ControllerContext,
  request: SigningRequest,
): Promise<string | undefined> => {
  const { spec, metadata } = request
  if (spec.signerName !== signers.kubeletClient) return undefined
  const asked = readRequest(request)
  if (kubeletClientProblem(asked, spec.usages ?? []) !== undefined) return undefined
  const tried: Way[] =
    spec.username === asked.subject.commonName ? ['selfnodeclient', 'nodeclient'] : ['nodeclient']
  for (const way of tried)
    if (await isAllowed(context, request, way))
      return `Auto approving ${ways[way]} after SubjectAccessReview.`
  throw new Error(
    `recognized csr "${metadata.name}" as [${tried.join(' ')}] but subject access review was not approved`,
  )
}
