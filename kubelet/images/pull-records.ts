/**
 * Whose credentials got each image of this node, so that no Pod runs an image that only another one's Secret may fetch. What
 * the kubelet never pulled is for everybody (imagePullCredentialsVerificationPolicy: NeverVerifyPreloadedImages). Upstream:
 * pkg/kubelet/images/pullmanager.
 */
import path from 'node:path'
import { type Clock, formatTime } from '#api/clock.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { compareTexts } from '#go/compare-texts.js'
import { getOwn, jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import type { NodeImage } from '../runtime.js'
import { repositoryOf } from './image-name.js'
import { RecordFolder } from './record-folder.js'

/** A Secret with credentials, as its record has it. */
export interface PullSecret {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly credentialHash: string
}

interface ImageAccess {
  readonly nodePodsAccessible?: boolean
  readonly kubernetesSecrets?: readonly PullSecret[]
}
interface PulledRecord {
  readonly lastUpdatedTime: string
  /** The image's id. */
  readonly imageRef: string
  /** By repository. */
  readonly credentialMapping?: Readonly<Record<string, ImageAccess>>
}

/** An image by the name that a Pod has for it. */
interface NamedImage {
  readonly image: string
  readonly id: string
}

const everybody: ImageAccess = { nodePodsAccessible: true }

const isSecret = ({ uid, namespace, name, credentialHash }: Partial<PullSecret>): boolean =>
  [uid, namespace, name, credentialHash].every((one) => typeof one === 'string')

const readPulled = (value: unknown): PulledRecord => {
  const record = value as PulledRecord
  const accesses = Object.values(record.credentialMapping ?? {})
  const secrets = accesses.flatMap(({ kubernetesSecrets = [] }) => kubernetesSecrets)
  if (typeof record.imageRef === 'string' && secrets.every(isSecret)) return record
  throw new Error('no ImagePulledRecord')
}

const readIntent = (value: unknown): { readonly image: string } => {
  const { image } = value as { image: unknown }
  if (typeof image === 'string') return { image }
  throw new Error('no ImagePullIntent')
}

const placeOf = ({ namespace, name, uid }: PullSecret): string => `${namespace}/${name}/${uid}`

const merge = (before: ImageAccess, added: ImageAccess): ImageAccess => {
  if (before.nodePodsAccessible || added.nodePodsAccessible) return everybody
  const secrets = new Map(
    [...(before.kubernetesSecrets ?? []), ...(added.kubernetesSecrets ?? [])].map((one) => [
      placeOf(one),
      one,
    ]),
  )
  return {
    kubernetesSecrets: [...secrets.values()].sort(
      (a, b) =>
        compareTexts(a.namespace, b.namespace) ||
        compareTexts(a.name, b.name) ||
        compareTexts(a.uid, b.uid),
    ),
  }
}

export class PullRecords {
  readonly #clock: Clock
  readonly #log: Log
  readonly #intents: RecordFolder<{ readonly image: string }>
  readonly #pulled: RecordFolder<PulledRecord>
  /** How often each image is being pulled. */
  readonly #pulling = new Map<string, number>()

  constructor({ rootDir, clock, log }: { rootDir: string; clock: Clock; log: Log }) {
    this.#clock = clock
    this.#log = log
    const folder = path.join(rootDir, 'image_manager')
    this.#intents = new RecordFolder(path.join(folder, 'pulling'), 'ImagePullIntent')
    this.#pulled = new RecordFolder(path.join(folder, 'pulled'), 'ImagePulledRecord')
  }

  /** `list` asks the runtime for its images. */
  async open(list: () => Promise<readonly NodeImage[]>): Promise<void> {
    await this.#intents.open(readIntent)
    await this.#pulled.open(readPulled)
    try {
      await this.#compare(await list())
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'records of images were not compared with them')
    }
  }

  /** What an earlier kubelet began to pull, and is there, was pulled by somebody unknown. */
  async #compare(images: readonly NodeImage[]): Promise<void> {
    for (const { id, names } of images)
      for (const image of names)
        if (this.#intents.get(image) !== undefined) {
          await this.#allow({ image, id }, undefined)
          await this.#intents.delete(image)
        }
    const ids = new Set(images.map(({ id }) => id))
    const gone = this.#pulled.readable().filter(({ imageRef }) => !ids.has(imageRef))
    await this.forget(gone.map(({ imageRef }) => imageRef))
  }

  /** A pull begins. Throws if that cannot be written down: what it brings would be for everybody. */
  async begin(image: string): Promise<void> {
    await this.#intents.set(image, { image })
    this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1)
  }

  /** It has brought an image, by the credentials of a Secret or as to anybody. */
  async succeeded(pulled: NamedImage, secret: PullSecret | undefined): Promise<void> {
    const access = secret ? { kubernetesSecrets: [secret] } : everybody
    // Otherwise the intent stays, and by it the image is known as one that somebody pulled.
    if (await this.#isWritten(pulled.image, this.#allow(pulled, access)))
      await this.failed(pulled.image)
  }

  async failed(image: string): Promise<void> {
    const others = (this.#pulling.get(image) ?? 1) - 1
    if (others > 0) this.#pulling.set(image, others)
    else {
      this.#pulling.delete(image)
      await this.#isWritten(image, this.#intents.delete(image))
    }
  }

  /** Whether a Pod may have an image that is here. `secretsOf` is asked for its credentials only if these decide. */
  async mayUse(found: NamedImage, secretsOf: () => readonly PullSecret[]): Promise<boolean> {
    const { image, id } = found
    const record = this.#pulled.get(id)
    if (record === undefined) return this.#intents.get(image) === undefined
    if (record === 'unreadable') return false
    const access = getOwn(record.credentialMapping ?? {}, repositoryOf(image))
    if (access?.nodePodsAccessible) return true
    const known = access?.kubernetesSecrets ?? []
    if (known.length === 0) return false
    for (const own of secretsOf())
      for (const one of known) {
        const isPlace = placeOf(one) === placeOf(own)
        const isContent = one.credentialHash === own.credentialHash
        const isRoom = known.length < limits.imagePullSecretsNotedMax
        // A Secret may be changed, or copied: the new one is known from now on, too.
        if (isPlace !== isContent && isRoom)
          await this.#isWritten(image, this.#allow(found, { kubernetesSecrets: [own] }))
        if (isContent || (isPlace && isRoom)) return true
      }
    return false
  }

  /** The images are no longer here. */
  async forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.#isWritten(id, this.#pulled.delete(id))
  }

  async #allow({ image, id }: NamedImage, added: ImageAccess | undefined): Promise<void> {
    const found = this.#pulled.get(id)
    const before = found === 'unreadable' ? undefined : found
    const mapping = before?.credentialMapping ?? {}
    const repository = repositoryOf(image)
    const access = added && merge(getOwn(mapping, repository) ?? {}, added)
    const record = {
      lastUpdatedTime: formatTime(this.#clock.now()),
      imageRef: id,
      credentialMapping: access ? { ...mapping, [repository]: access } : mapping,
    }
    const isNews = !before || !jsonEqual(before.credentialMapping, record.credentialMapping)
    if (isNews) await this.#pulled.set(id, record)
  }

  async #isWritten(image: string, writing: Promise<void>): Promise<boolean> {
    try {
      await writing
      return true
    } catch (error) {
      this.#log.warn({ image, error: messageOf(error) }, 'what is known of an image was not kept')
      return false
    }
  }
}
