import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Answer, Question } from './inside.js'
import { type Mutant, mutated } from './mutants-of.js'

const program = fileURLToPath(new URL('./inside.js', import.meta.url))

/** One process is asked about so many mutants: what tests leave behind adds up. */
const questionsMax = 100

/**
 * Test files that run in one process, with each mutant in turn. That is tens of times quicker than to start them, but they
 * notice only what is in modules that they import.
 */
export class Tester {
  readonly #tests: readonly string[]
  readonly #timeoutMs: number
  /** How many mutants each has noticed. */
  readonly #noticed = new Map<string, number>()
  #child: ChildProcess | undefined
  #asked = 0

  constructor(tests: readonly string[], timeoutMs: number) {
    this.#tests = tests
    this.#timeoutMs = timeoutMs
  }

  async judge(file: string, original: string, mutant: Mutant): Promise<Answer['fate']> {
    if (this.#asked++ >= questionsMax) this.close()
    const { fate, by, isSpoilt } = await this.#ask({
      tests: this.#likeliestFirst(),
      timeoutMs: this.#timeoutMs,
      change: { file, code: mutated(original, mutant), original },
    })
    if (by !== undefined) this.#noticed.set(by, (this.#noticed.get(by) ?? 0) + 1)
    if (isSpoilt) this.close()
    return fate
  }

  close(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
    this.#asked = 0
  }

  #likeliestFirst(): string[] {
    const count = (file: string): number => this.#noticed.get(file) ?? 0
    return this.#tests.toSorted((a, b) => count(b) - count(a))
  }

  async #ask(question: Question): Promise<Answer> {
    if (this.#child === undefined) await this.#start()
    return this.#told(question)
  }

  /** Throws if the tests fail as the code is. They also load what is to be changed. */
  async #start(): Promise<void> {
    // tap would end all of this after the time that one file may take.
    const env = { ...process.env, TAP_TIMEOUT: '0', KUBE_CACHE_MUTATION_DETECTOR: 'true' }
    const child = fork(program, { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    this.#child = child
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    await this.#told(undefined)
    const { by } = await this.#told({ tests: this.#tests, timeoutMs: this.#timeoutMs })
    if (by !== undefined) throw new Error(`${by} fails without any mistake`)
  }

  /** The next message of the process, whose end is an answer, too. tap says things of its own. */
  #told(question: Question | undefined): Promise<Answer> {
    const child = this.#child!
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        clearTimeout(late)
        child.off('message', hear)
        child.off('exit', gone)
        resolve(answer)
      }
      const spoilt = { fate: 'dies', isSpoilt: true } as const
      const gone = (): void => end(spoilt)
      const hear = (message: Answer | 'ready'): void => {
        if (message === 'ready') end({ fate: 'lives', isSpoilt: false })
        else if ('isSpoilt' in message) end(message)
      }
      // An endless loop hears of no timeout.
      const late = setTimeout(gone, 2 * this.#timeoutMs)
      child.on('message', hear)
      child.once('exit', gone)
      if (question !== undefined) child.send(question)
    })
  }
}
