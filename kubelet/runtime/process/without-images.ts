/** Processes of the host have no images: these are names only, which are always there. */
import type { NodeImage, RuntimeImage } from '../../runtime.js'

export class WithoutImages {
  readonly hasImages = false
  readonly features = undefined
  readonly handlers = []

  async findImage(image: string): Promise<RuntimeImage> {
    return { id: image, sizeBytes: 0, uid: undefined, userName: '' }
  }
  async pullImage(image: string): Promise<string> {
    return image
  }
  async images(): Promise<readonly NodeImage[]> {
    return []
  }
  async imageFolder(): Promise<undefined> {}
  async removeUnusedImages(): Promise<readonly string[]> {
    return []
  }
}
