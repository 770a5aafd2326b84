/**
 * Runs a CommonJS bundle with what V8 compiled of it at an earlier start: compiling is a quarter of a start otherwise. The
 * compiled code lies beside the bundle, a file for each Node and each set of V8's flags that ran it. One that is missing or
 * refused, and a folder that cannot be written, cost the time that it would have saved and nothing else.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8'
import { Script } from 'node:vm'
import { crc32 } from 'node:zlib'

const crcBytes = 4

/**
 * V8's own tag tells versions and flags of V8 apart, but not the V8 of two versions of Node: Node 20.19.0 crashed with what
 * Node 20.20.2 had compiled. The build's configuration goes into the checksum.
 */
const maker = `${process.version}-${process.arch}-${cachedDataVersionTag().toString(16)}`
const makerBuild = JSON.stringify([process.versions, process.config])

export class CompiledBundle {
  readonly #source: Buffer
  readonly #script: Script
  readonly #cacheFile: string
  readonly #isKept: boolean
  readonly #file: string

  /** `file` is an absolute path. Throws when there is no such file. */
  constructor(file: string) {
    this.#file = file
    this.#cacheFile = `${file}.${maker}.cache`
    this.#source = readFileSync(file)
    const cachedData = this.#readCache()
    // esbuild writes ASCII.
    const code = this.#source.toString('latin1')
    this.#script = new Script(
      `(function (exports, require, module, __filename, __dirname) {${code}\n})`,
      { filename: file, cachedData },
    )
    this.#isKept = cachedData !== undefined && this.#script.cachedDataRejected === false
    // Until it is kept: collections drop the code of what does not run any more, the bundle's own first of all.
    if (!this.#isKept) setFlagsFromString('--no-flush-bytecode')
  }

  /** Runs the bundle and yields what it exports. */
  run(): unknown {
    const module = { exports: {} }
    const run = this.#script.runInThisContext()
    run(module.exports, createRequire(this.#file), module, this.#file, path.dirname(this.#file))
    return module.exports
  }

  /** Writes what is compiled by now, unless the bundle was started from such a file. */
  keep(): void {
    if (this.#isKept) return
    // As it was, or what is made now is for another set of flags.
    setFlagsFromString('--flush-bytecode')
    const next = `${this.#cacheFile}.${process.pid}.tmp`
    try {
      const compiled = this.#script.createCachedData()
      const checksum = Buffer.alloc(crcBytes)
      checksum.writeUInt32BE(this.#checksum(compiled))
      writeFileSync(next, Buffer.concat([checksum, compiled]))
      renameSync(next, this.#cacheFile)
    } catch {
      // The next start compiles again.
    }
  }

  #readCache(): Buffer | undefined {
    try {
      const bytes = readFileSync(this.#cacheFile)
      const compiled = bytes.subarray(crcBytes)
      return bytes.readUInt32BE() === this.#checksum(compiled) ? compiled : undefined
    } catch {
      return undefined
    }
  }

  /** Of the bundle, too: V8 compares no more of it than its length. */
  #checksum(compiled: Buffer): number {
    return crc32(compiled, crc32(this.#source, crc32(makerBuild)))
  }
}
