/**
 * Whose client certificates count. The files that tell may change while the server runs (apiserver, dynamiccertificates:
 * DynamicFileCAContent).
 */
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { certificatesOf } from '#net/pem.js'
import { followFile } from '../follow-file.js'
import type { ServerOptions } from '../options.js'
import type { StartedParts } from '../started-parts.js'
import type { ServerCredentials } from './credentials.js'
import { clientAuthorities, type RequestHeaderOptions, requestHeaderOptions } from './identity.js'

/** Of users, and of front proxies with the headers in which they send a user. */
export interface ClientTrust {
  /** PEM bundles. */
  readonly authorities: readonly string[]
  readonly requestHeader: RequestHeaderOptions
}

/** Emits `change` when `current` is another one. */
export class FollowedTrust extends EventEmitter<{ change: [] }> {
  #current: ClientTrust

  constructor(current: ClientTrust) {
    super()
    this.#current = current
  }

  get current(): ClientTrust {
    return this.#current
  }

  replace(current: ClientTrust): void {
    this.#current = current
    this.emit('change')
  }
}

/** Whoever has a certificate of a user's CA could then name any user (BuiltInAuthenticationOptions.Validate). */
const letsUsersNameOthers = ({ authorities, requestHeader }: ClientTrust): boolean => {
  if (requestHeader.allowedNames.length > 0) return false
  const ofUsers = authorities.flatMap(certificatesOf)
  return certificatesOf(requestHeader.authority).some(({ raw }) =>
    ofUsers.some((ca) => ca.raw.equals(raw)),
  )
}

/** Throws when a file cannot be used at the start; later the former trust holds then, which is logged. */
export const openClientTrust = (
  options: ServerOptions,
  credentials: ServerCredentials,
  log: (message: string, error: unknown) => void,
  started: StartedParts,
): FollowedTrust => {
  const ofUsers = () => ({ authorities: clientAuthorities(options, credentials.caPem) })
  const ofProxies = () => ({ requestHeader: requestHeaderOptions(options, credentials) })
  const trust = new FollowedTrust({ ...ofUsers(), ...ofProxies() })
  if (letsUsersNameOthers(trust.current))
    throw new Error(
      '--requestheader-client-ca-file has a CA of users: give the names of proxies by --requestheader-allowed-names',
    )
  const follow = (file: string | undefined, read: () => Partial<ClientTrust>): void => {
    if (file === undefined) return
    const stop = followFile({
      file,
      text: readFileSync(file, 'utf8'),
      take: async () => trust.replace({ ...trust.current, ...read() }),
      warn: (error) => log(`the authorities in ${file} are not read again`, error),
    })
    started.defer(stop)
  }
  follow(options.clientCaFile, ofUsers)
  follow(options.requestheaderClientCaFile, ofProxies)
  return trust
}
