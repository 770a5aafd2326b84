/**
 * Who may ask: the API server, known by the certificate of its front proxy, as the ConfigMap
 * extension-apiserver-authentication says. It has already authorized the user that it names for this very path, so
 * nobody is asked again; a request that does not come through it is refused.
 */
import type { TLSSocket } from 'node:tls'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'
import { commonNameOf } from '#net/certificate-names.js'

export interface FrontProxyTrust {
  /** PEM. */
  readonly authority: string
  /** Common names; empty allows any. */
  readonly allowedNames: readonly string[]
}

/** Rejects when the API server tells of no front proxy. */
export const readFrontProxyTrust = async (client: Client): Promise<FrontProxyTrust> => {
  const at = { namespace: 'kube-system', name: 'extension-apiserver-authentication' }
  const { data = {} } = await client.get(resources.configMaps, at)
  const authority = data['requestheader-client-ca-file'] as string | undefined
  if (!authority) throw new Error(`${at.namespace}/${at.name} has no requestheader-client-ca-file`)
  return { authority, allowedNames: JSON.parse(data['requestheader-allowed-names'] ?? '[]') }
}

/** `socket` verifies certificates against that authority alone. */
export const isFrontProxy = (socket: TLSSocket, { allowedNames }: FrontProxyTrust): boolean => {
  if (!socket.authorized) return false
  const name = commonNameOf(socket.getPeerCertificate())
  return allowedNames.length === 0 || allowedNames.includes(name)
}
