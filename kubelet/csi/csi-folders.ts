/**
 * Where CSI drivers mount volumes, and the files beside that which tell a later kubelet of it, in upstream's layout. A
 * file is written before the driver is called and removed after the driver has undone what it did.
 */
import { readdir, readFile, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { sha256 } from '#client/csi-volume.js'
import { removeReplaced, replaceFile } from '../replace-file.js'
import { unlessGone } from '../unless-gone.js'

const dataFile = 'vol_data.json'
const plugin = 'kubernetes.io~csi'

/** Upstream's names. */
export interface VolumeData {
  readonly driverName: string
  readonly volumeHandle: string
  readonly specVolID?: string
  readonly nodeName?: string
  readonly attachmentID?: string
  readonly volumeLifecycleMode?: 'Persistent' | 'Ephemeral'
}
interface Published {
  readonly podUid: string
  readonly specName: string
  readonly data: VolumeData
}

const namesIn = async (folder: string): Promise<string[]> =>
  (await unlessGone(readdir(folder))) ?? []

export class CsiFolders {
  readonly #pods: string
  readonly #staged: string

  constructor(rootDir: string) {
    this.#pods = path.join(rootDir, 'pods')
    this.#staged = path.join(rootDir, 'plugins', 'kubernetes.io', 'csi')
  }

  target(podUid: string, specName: string): string {
    return path.join(this.#pods, podUid, 'volumes', plugin, specName, 'mount')
  }
  staging(driver: string, volumeHandle: string): string {
    return path.join(this.#staged, driver, sha256(volumeHandle), 'globalmount')
  }

  /** What is published, or may be, for Pods that the node knows or has known. */
  async published(): Promise<Published[]> {
    const all: Published[] = []
    for (const podUid of await namesIn(this.#pods))
      for (const specName of await namesIn(path.join(this.#pods, podUid, 'volumes', plugin))) {
        const data = await this.noteOf(this.target(podUid, specName))
        if (data) all.push({ podUid, specName, data })
      }
    return all
  }

  /** What is staged, or may be. */
  async staged(): Promise<VolumeData[]> {
    const all: VolumeData[] = []
    for (const driver of await namesIn(this.#staged))
      for (const volume of await namesIn(path.join(this.#staged, driver))) {
        const data = await this.noteOf(path.join(this.#staged, driver, volume, 'globalmount'))
        if (data) all.push(data)
      }
    return all
  }

  /** What the file beside a mount says; undefined if there is none, or somebody has damaged it. */
  async noteOf(mount: string): Promise<VolumeData | undefined> {
    const text = await unlessGone(readFile(path.join(path.dirname(mount), dataFile), 'utf8'))
    try {
      return text === undefined ? undefined : JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** Writes the file beside a mount whose driver is about to be called. */
  async note(mount: string, data: VolumeData): Promise<void> {
    await replaceFile(path.join(path.dirname(mount), dataFile), JSON.stringify(data))
  }

  /**
   * Removes a mount that its driver has given up, and its file. Whatever is still mounted or lies there is somebody's
   * data, and is refused.
   */
  async forget(mount: string): Promise<void> {
    const folder = path.dirname(mount)
    await unlessGone(rmdir(mount))
    await removeReplaced(path.join(folder, dataFile))
    await unlessGone(rmdir(folder))
  }
}
