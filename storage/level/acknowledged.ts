/**
 * The newest revision that was acknowledged, in a small file beside LevelDB's. It is written after each commit, without a
 * sync of its own. Since the commit was synced before, it never names a revision that is not on disk, and after a crash
 * of the process it is exact. It reveals that the last records were lost, which no checksum inside LevelDB can.
 */
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'

const slotBytes = 16
const fileName = 'ACKNOWLEDGED'

export class Acknowledged {
  readonly #file: number
  readonly #slot = Buffer.alloc(slotBytes)
  #next = 0

  /** Opens the file of `directory`; it is created empty when it is missing. */
  constructor(directory: string) {
    this.#file = openSync(join(directory, fileName), constants.O_RDWR | constants.O_CREAT, 0o600)
  }

  /** 0 when nothing was ever acknowledged. There are two slots because one may be torn. */
  read(): number {
    let newest = 0
    for (const slot of [0, 1]) {
      const length = readSync(this.#file, this.#slot, 0, slotBytes, slot * slotBytes)
      if (length < slotBytes || crc32(this.#slot.subarray(4)) !== this.#slot.readUInt32BE(0))
        continue
      const revision = this.#slot.readUIntBE(4, 6)
      if (revision < newest) continue
      newest = revision
      this.#next = 1 - slot
    }
    return newest
  }

  write(revision: number): void {
    this.#slot.writeUIntBE(revision, 4, 6)
    this.#slot.writeUInt32BE(crc32(this.#slot.subarray(4)), 0)
    writeSync(this.#file, this.#slot, 0, slotBytes, this.#next * slotBytes)
    this.#next = 1 - this.#next
  }

  close(): void {
    closeSync(this.#file)
  }
}
