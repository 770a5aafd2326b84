/** The least that keeps what it is given: LevelDB, one synced batch for all that one turn of the event loop brings. */
import { Level } from 'level'
import { nextTurn } from '#async/turns.js'
import { limits } from '#limits'

interface Unsynced {
  readonly bytes: Buffer
  readonly done: () => void
}

export class SyncedStore {
  readonly #db: Level<string, Buffer>
  #count = 0
  #unsynced: Unsynced[] = []
  #syncing = false

  /** Opens by itself, as `level` does. */
  constructor(directory: string) {
    this.#db = new Level(directory, {
      valueEncoding: 'buffer',
      writeBufferSize: limits.writeBufferBytes,
      maxFileSize: limits.writeBufferBytes,
    })
  }

  /** `done` is called when the bytes are on disk. */
  put(bytes: Buffer, done: () => void): void {
    this.#unsynced.push({ bytes, done })
    if (!this.#syncing) void this.#sync()
  }

  async #sync(): Promise<void> {
    this.#syncing = true
    await this.#db.open()
    await nextTurn()
    while (this.#unsynced.length > 0) {
      const taken = this.#unsynced
      this.#unsynced = []
      const batch = this.#db.batch()
      for (const { bytes } of taken) batch.put(String(this.#count++).padStart(16, '0'), bytes)
      await batch.write({ sync: true })
      for (const { done } of taken) done()
    }
    this.#syncing = false
  }
}
