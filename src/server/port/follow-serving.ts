/** Shows new clients the certificate that took the place of the one of the start (apiserver, dynamic_serving_content.go). */
import { readFileSync } from 'node:fs'
import type { CertificatePair } from '../credentials/credentials.js'
import { readPair } from '../credentials/identity.js'
import { followFile } from '../follow-file.js'

interface ServingFiles {
  /** The certificate's and the key's; undefined: the server has made its own. */
  readonly files: readonly [string, string] | undefined
  show(pair: CertificatePair): void
  readonly warn: (error: unknown) => void
}

/** While only one of the two files is there anew they do not fit, which is logged; the former certificate is shown on. */
export const followServing = ({ files, show, warn }: ServingFiles) => {
  const stops = (files ?? []).map((file) => {
    const take = async (): Promise<void> => show(readPair(...files!)!)
    return followFile({ file, text: readFileSync(file, 'utf8'), take, warn })
  })
  return async (): Promise<void> => {
    await Promise.all(stops.map((stop) => stop()))
  }
}
