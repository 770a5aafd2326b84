/** No certificate of system:masters comes out of a signing request (plugin/pkg/admission/certificates). */
import { parseCertificateRequest } from '#validation/certificate-request.js'
import { type AdmissionPlugin, isAbout, refuse } from './plugin.js'

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate: (attributes) => {
    const group = 'certificates.k8s.io'
    const resource = 'certificatesigningrequests'
    if (!isAbout(attributes, { group, resource, operations: ['CREATE'] })) return
    const { spec } = attributes.object!
    if (spec.signerName !== 'kubernetes.io/kube-apiserver-client') return
    const request = parseCertificateRequest(spec.request ?? '')
    if (!('error' in request) && request.organizations.includes('system:masters'))
      throw refuse(
        attributes,
        'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
      )
  },
}
