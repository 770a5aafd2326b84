/** The folder of static Pods, or the one file; upstream: pkg/kubelet/config/file.go. */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { type Clock, formatTime } from '#api/clock.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { limits } from '#limits'
import { followFolder } from '../follow-folder.js'
import { readForeignFile } from '../foreign-file.js'
import type { Pod } from '../pod.js'
import { unlessGone } from '../unless-gone.js'
import { makeStatic } from './static-pod.js'

/**
 * Reads a manifest as the API server reads a Pod, with defaults; `place` may change it before it is validated. It must
 * not refer to objects of the API. Throws.
 */
export type ReadManifest = (text: Buffer, place: (pod: Pod) => void) => Pod

interface ManifestsOptions {
  readonly path: string
  readonly read: ReadManifest
  readonly nodeName: string
  readonly clock: Clock
  readonly log: Log
}

/** Upstream's fileCheckFrequency; the folder is also watched. */
const checkMs = 20_000

export class Manifests {
  readonly #options: ManifestsOptions

  constructor(options: ManifestsOptions) {
    this.#options = options
  }

  /**
   * All Pods, in order of file names. Unreadable files are skipped. Undefined when nothing is known: of a folder, or of the
   * one file, that cannot be read.
   */
  async list(): Promise<Pod[] | undefined> {
    const { path: root, log } = this.#options
    try {
      const facts = await unlessGone(stat(root))
      if (facts === undefined) return []
      if (!facts.isDirectory()) return [await this.#read(root)]
      const pods: Pod[] = []
      for (const name of (await readdir(root)).sort()) {
        if (name.startsWith('.')) continue
        const file = path.join(root, name)
        const pod = await this.#read(file).catch((error) => {
          log.error({ file, error: messageOf(error) }, 'a manifest could not be read')
        })
        if (pod) pods.push(pod)
      }
      return pods
    } catch (error) {
      log.error({ path: root, error: messageOf(error) }, 'manifests could not be read')
      return undefined
    }
  }

  /** Calls `look` at once, now and then, and soon after something has changed; until the signal fires. */
  async follow(look: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const paths = () => [this.#options.path]
    await followFolder(look, { paths, checkMs, signal })
  }

  async #read(file: string): Promise<Pod> {
    const { read, nodeName, clock } = this.#options
    const text = await readForeignFile(file, { bytesMax: limits.manifestBytesMax })
    const now = formatTime(clock.now())
    return read(text, (pod) => makeStatic(pod, { nodeName, file, now }))
  }
}
