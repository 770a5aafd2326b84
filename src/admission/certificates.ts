/** Who may approve and sign what (kubernetes, plugin/pkg/admission/certificates). */

import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import type { KubeObject } from '#api/object.js'
import { signers } from '#api/signers.js'
import { mastersGroup, type UserInfo } from '#api/user-info.js'
import { semanticEqual } from '#json/object.js'
import type { AttributesOf } from '#registry/admission.js'
import { type AdmissionPlugin, isAbout, refuse } from './plugin.js'

const requests = { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' }

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  resources: ['certificatesigningrequests'],
  validate: (attributes) => {
    if (!isAbout(attributes, { ...requests, operations: ['CREATE'] })) return
    const { spec } = attributes.object
    if (spec.signerName !== signers.client) return
    const request = parseCertificateRequest(spec.request ?? '')
    if (!('error' in request) && request.subject.organizations.includes(mastersGroup))
      throw refuse(
        attributes,
        'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
      )
  },
}

/** Whether the user may do `verb` to the signer of that name. */
export type AuthorizeSigner = (user: UserInfo, verb: string, name: string) => Promise<boolean>

/** The signer itself, or all of its domain. */
const mayActFor = async (
  authorize: AuthorizeSigner,
  { ctx, oldObject }: AttributesOf<'UPDATE'>,
  verb: string,
): Promise<boolean> => {
  const name: string = oldObject.spec?.signerName ?? ''
  const domain = name.slice(0, name.indexOf('/'))
  return (await authorize(ctx.user, verb, name)) || (await authorize(ctx.user, verb, `${domain}/*`))
}

export const certificateApproval = (authorize: AuthorizeSigner): AdmissionPlugin => ({
  name: 'CertificateApproval',
  resources: ['certificatesigningrequests'],
  validate: async (attributes) => {
    if (!isAbout(attributes, { ...requests, subresource: 'approval', operations: ['UPDATE'] }))
      return
    if (!(await mayActFor(authorize, attributes, 'approve')))
      throw refuse(
        attributes,
        `user not permitted to approve requests with signerName ${JSON.stringify(attributes.oldObject.spec?.signerName)}`,
      )
  },
})

const issued = ({ status }: KubeObject): readonly unknown[] => [
  status?.certificate ?? '',
  status?.conditions ?? [],
]

export const certificateSigning = (authorize: AuthorizeSigner): AdmissionPlugin => ({
  name: 'CertificateSigning',
  resources: ['certificatesigningrequests'],
  validate: async (attributes) => {
    if (!isAbout(attributes, { ...requests, subresource: 'status', operations: ['UPDATE'] })) return
    // A write that changes neither the certificate nor conditions signs nothing.
    if (semanticEqual(issued(attributes.object), issued(attributes.oldObject))) return
    if (!(await mayActFor(authorize, attributes, 'sign')))
      throw refuse(
        attributes,
        `user not permitted to sign requests with signerName ${JSON.stringify(attributes.oldObject.spec?.signerName)}`,
      )
  },
})
