/** A copy of what the checkout was compiled to, in which tests run and code may be changed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { killGroup } from '../kill-group.js'

const checkout = fileURLToPath(new URL('../../..', import.meta.url))

/** A script finds what it works on by its own place, which is not that of a link to it. */
const copied = ['dist', 'scripts']
/** Whatever else is read. */
const linked = ['node_modules', 'test', 'openapi', 'examples', 'package.json']

export class CopiedCheckout {
  readonly #parent = mkdtempSync(path.join(tmpdir(), 'kubelevel-mutants-'))
  readonly #root = path.join(this.#parent, 'main')
  #running: ChildProcess | undefined

  constructor() {
    mkdirSync(this.#root)
    for (const name of linked) symlinkSync(path.join(checkout, name), path.join(this.#root, name))
    symlinkSync(path.join(checkout, '../shared'), path.join(this.#parent, 'shared'))
    for (const name of copied)
      cpSync(path.join(checkout, name), path.join(this.#root, name), { recursive: true })
  }

  read(file: string): string {
    return readFileSync(path.join(this.#root, file), 'utf8')
  }
  write(file: string, code: string): void {
    writeFileSync(path.join(this.#root, file), code)
  }

  /** Whether the command ends with 0, within the time. Nothing that it started is left. */
  async run(command: string, timeoutMs: number): Promise<boolean> {
    const child = spawn('sh', ['-c', command], { cwd: this.#root, stdio: 'ignore', detached: true })
    this.#running = child
    const late = setTimeout(() => killGroup(child), timeoutMs)
    const [code] = await once(child, 'close')
    clearTimeout(late)
    killGroup(child)
    this.#running = undefined
    return code === 0
  }

  close(): void {
    if (this.#running) killGroup(this.#running)
    rmSync(this.#parent, { recursive: true, force: true })
  }
}
