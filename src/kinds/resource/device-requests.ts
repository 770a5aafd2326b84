/** Defaults of requests for devices, in claims and in templates of claims (kubernetes, pkg/apis/resource/v1). */
import type { Fields } from '#api/object.js'

export const defaultTolerations = (parts: Fields[] | undefined): void => {
  for (const { tolerations } of parts ?? [])
    for (const toleration of (tolerations ?? []) as Fields[]) toleration.operator ||= 'Equal'
}

const defaultRequest = (request: Fields): void => {
  request.allocationMode ||= 'ExactCount'
  if (request.allocationMode === 'ExactCount') request.count ||= 1
  defaultTolerations([request])
}

export const defaultClaim = (spec: Fields | undefined): void => {
  for (const { exactly, firstAvailable } of (spec?.devices?.requests ?? []) as Fields[]) {
    if (exactly) defaultRequest(exactly)
    for (const option of firstAvailable ?? []) defaultRequest(option)
  }
}
