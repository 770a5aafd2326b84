/** Which claims are prepared on this node, or may be, and for which Pods; in a file, for the kubelet that comes next. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { replaceFile } from '../replace-file.js'
import { unlessGone } from '../unless-gone.js'
import type { ClaimAsked } from './dra-client.js'

interface PreparedDevice {
  readonly requestNames: readonly string[]
  readonly cdiDeviceIds: readonly string[]
}
export interface PreparedClaim extends ClaimAsked {
  readonly podUids: string[]
  /** Devices by driver; none before the driver has answered. */
  readonly drivers: Record<string, PreparedDevice[]>
}

export const claimKey = ({ namespace, name }: Pick<ClaimAsked, 'namespace' | 'name'>): string =>
  `${namespace}/${name}`

export class PreparedClaims {
  readonly #file: string
  readonly #claims = new Map<string, PreparedClaim>()
  /** The newest write. */
  #saved: Promise<void> = Promise.resolve()

  constructor(rootDir: string) {
    this.#file = path.join(rootDir, 'dra_manager_state')
  }

  async open(): Promise<void> {
    const text = await unlessGone(readFile(this.#file, 'utf8'))
    const { claims = [] }: { claims?: PreparedClaim[] } = text === undefined ? {} : JSON.parse(text)
    for (const claim of claims) this.set(claim)
  }

  get(key: string): PreparedClaim | undefined {
    return this.#claims.get(key)
  }
  set(claim: PreparedClaim): void {
    this.#claims.set(claimKey(claim), claim)
  }
  delete(key: string): void {
    this.#claims.delete(key)
  }
  /** Those of one Pod. */
  of(podUid: string): PreparedClaim[] {
    return [...this.#claims.values()].filter(({ podUids }) => podUids.includes(podUid))
  }
  podUids(): Set<string> {
    return new Set([...this.#claims.values()].flatMap(({ podUids }) => podUids))
  }

  /** Resolves when what is known now is in the file. */
  save(): Promise<void> {
    const text = JSON.stringify({ claims: [...this.#claims.values()] })
    this.#saved = this.#saved.catch(() => {}).then(() => replaceFile(this.#file, text))
    return this.#saved
  }
}
