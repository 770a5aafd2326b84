/** The images of a container runtime. */
import { compareTexts } from '#go/compare-texts.js'
import type { RpcError } from '../../grpc/rpc-client.js'
import type { NodeImage, RegistryCredentials, RuntimeImage } from '../../runtime.js'
import { type CriClient, pullText } from './cri-client.js'
import type { CriContainer, CriContainerStatus } from './cri-objects.js'

interface CriImage {
  readonly id: string
  readonly uid: { readonly value: number } | null
  readonly username: string
  readonly repo_tags: readonly string[]
  readonly repo_digests: readonly string[]
  readonly size: number
  readonly pinned: boolean
}

export class CriImages {
  readonly #client: CriClient
  /** When each image was pulled, or seen first. */
  #seenAt = new Map<string, number>()

  constructor(client: CriClient) {
    this.#client = client
  }

  async find(image: string): Promise<RuntimeImage | undefined> {
    const status = await this.#client.callImages<{ image: CriImage | null }>('ImageStatus', {
      image: { image },
    })
    if (!status.image) return undefined
    const { id, size, uid, username } = status.image
    return { id, sizeBytes: size, uid: uid?.value, userName: username }
  }

  async pull(
    image: string,
    auth: RegistryCredentials | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    try {
      const request = { image: { image }, auth }
      const { image_ref } = await this.#client.pull<{ image_ref: string }>(request, signal)
      this.#seenAt.set(image_ref, performance.now())
      return image_ref
    } catch (error) {
      throw new Error(pullText(error as RpcError))
    }
  }

  async list(): Promise<readonly NodeImage[]> {
    return (await this.#all())
      .map(({ id, repo_digests, repo_tags, size }) => ({
        id,
        names: [...repo_digests, ...repo_tags],
        sizeBytes: size,
      }))
      .sort((a, b) => b.sizeBytes - a.sizeBytes || compareTexts(a.id, b.id))
  }

  /** Where they lie. */
  async folder(): Promise<string | undefined> {
    const { image_filesystems: all } = await this.#client.callImages<{
      image_filesystems: { fs_id: { mountpoint: string } | null }[]
    }>('ImageFsInfo', {})
    return all[0]?.fs_id?.mountpoint
  }

  /**
   * Keeps images of all containers, since the runtime may also serve others, and those that are known for less than this
   * time: a container may be about to start. Yields the ids of those that it removed.
   */
  async removeUnused(ageMsMin: number): Promise<readonly string[]> {
    const [images, { containers }] = await Promise.all([
      this.#all(),
      this.#client.call<{ containers: CriContainer[] }>('ListContainers', {}),
    ])
    const used = new Set(containers.map(({ image_ref }) => image_ref))
    for (const { id } of containers) for (const image of await this.#mountedBy(id)) used.add(image)
    const isFresh = (id: string) => performance.now() - this.#seenAt.get(id)! < ageMsMin
    const removed: string[] = []
    for (const { id, pinned } of images) {
      if (pinned || used.has(id) || isFresh(id)) continue
      await this.#client.callImages('RemoveImage', { image: { image: id } })
      removed.push(id)
    }
    return removed
  }

  /** The images that a container has as volumes. */
  async #mountedBy(containerId: string): Promise<string[]> {
    const request = { container_id: containerId }
    const { status } = await this.#client.call<{ status: CriContainerStatus }>(
      'ContainerStatus',
      request,
    )
    return status.mounts.flatMap(({ image }) => image?.image || [])
  }

  async #all(): Promise<CriImage[]> {
    const { images } = await this.#client.callImages<{ images: CriImage[] }>('ListImages', {})
    const now = performance.now()
    this.#seenAt = new Map(images.map(({ id }) => [id, this.#seenAt.get(id) ?? now]))
    return images
  }
}
