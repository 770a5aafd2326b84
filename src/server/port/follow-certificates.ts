/**
 * Keeps what the port shows, and whose certificates it takes, as the files tell it (apiserver,
 * dynamic_serving_content.go).
 */
import { readFileSync } from 'node:fs'
import { type CertificatePair, loopbackName } from '../credentials/credentials.js'
import { broughtFiles, readPair } from '../credentials/identity.js'
import { followFile } from '../follow-file.js'
import type { ServerOptions } from '../options.js'
import type { ServerState } from '../server-state.js'
import { type NamedCertificate, ShownCertificates } from './shown-certificates.js'
import { tlsChoices } from './tls-choices.js'

interface FollowedPair {
  /** The certificate's and the key's. */
  readonly files: readonly [string, string]
  take(pair: CertificatePair): void
}

/** While only one of the two files is there anew they do not fit, which is logged; the former pair stays. */
const followPair = ({ files, take }: FollowedPair, log: ServerState['log']) =>
  files.map((file) =>
    followFile({
      file,
      text: readFileSync(file, 'utf8'),
      take: async () => take(readPair(...files)!),
      warn: (error) => log(`the certificate in ${files[0]} is not read again`, error),
    }),
  )

interface FollowedCertificates {
  readonly certificates: ShownCertificates
  /** From now on `changed` is called when the certificates are other ones. The returned function ends it. */
  follow(changed: () => void): () => Promise<void>
}

/** Throws where a file cannot be used at the start. */
export const openCertificates = (
  { credentials, trust, log }: ServerState,
  options: ServerOptions,
): FollowedCertificates => {
  const { serving, loopback } = credentials
  const sniFiles = options.tlsSniCertKeys ?? []
  const own: NamedCertificate[] =
    loopback === undefined ? [] : [{ certificate: loopback, names: [loopbackName] }]
  let brought: readonly NamedCertificate[] = sniFiles.map(({ certFile, keyFile, names = [] }) => ({
    certificate: readPair(certFile, keyFile)!,
    names,
  }))
  const authorities = (): string[] => {
    const { authorities, requestHeader } = trust.current
    return [...authorities, requestHeader.authority]
  }
  const certificates = new ShownCertificates(tlsChoices(options), {
    serving,
    named: [...own, ...brought],
    clientAuthorities: authorities(),
  })
  const follow = (changed: () => void): (() => Promise<void>) => {
    const change = (...args: Parameters<ShownCertificates['change']>): void => {
      certificates.change(...args)
      changed()
    }
    const servingFiles = broughtFiles(options, credentials)
    const pairs: FollowedPair[] = sniFiles.map(({ certFile, keyFile }, index) => ({
      files: [certFile, keyFile],
      take: (certificate) => {
        brought = brought.with(index, { ...brought[index]!, certificate })
        change({ named: [...own, ...brought] })
      },
    }))
    if (servingFiles !== undefined)
      pairs.push({ files: servingFiles, take: (pair) => change({ serving: pair }) })
    const stops = pairs.flatMap((pair) => followPair(pair, log))
    const trustChanged = (): void => change({ clientAuthorities: authorities() })
    trust.on('change', trustChanged)
    return async () => {
      trust.off('change', trustChanged)
      await Promise.all(stops.map((stop) => stop()))
    }
  }
  return { certificates, follow }
}
