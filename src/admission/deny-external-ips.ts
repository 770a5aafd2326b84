/** Services get no external IPs that they do not have (kubernetes, plugin/pkg/admission/network/denyserviceexternalips). */
import { type AdmissionPlugin, isAbout, refuse } from './plugin.js'

const serviceWrites = {
  group: '',
  resource: 'services',
  operations: ['CREATE', 'UPDATE'],
} as const

export const denyServiceExternalIps: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  resources: ['services'],
  validate: (attributes) => {
    if (!isAbout(attributes, serviceWrites)) return
    const known = new Set<string>(attributes.oldObject?.spec.externalIPs)
    const wanted: string[] = attributes.object.spec.externalIPs ?? []
    if (wanted.some((ip) => !known.has(ip)))
      throw refuse(attributes, 'Use of external IPs is denied by admission control')
  },
}
