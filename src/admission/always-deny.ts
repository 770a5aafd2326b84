/** Refuses every write (kubernetes, plugin/pkg/admission/deny). */
import type { AdmissionAttributes } from '#registry/admission.js'
import { type AdmissionPlugin, refuse } from './plugin.js'

const deny = (attributes: AdmissionAttributes): never => {
  throw refuse(attributes, 'admission control is denying all modifications')
}

export const alwaysDeny: AdmissionPlugin = { name: 'AlwaysDeny', mutate: deny, validate: deny }
