/**
 * Reads YAML that is too large to be read at once: 3 MiB take the library seconds, in which nobody else would be answered.
 * A thread, started with the first such text and ended when none comes any more, reads one after the other.
 */
import { Worker } from 'node:worker_threads'
import { limits } from '#limits'
import { YamlSyntaxError } from './messages.js'
import type { ParsedYaml } from './yaml.js'

/** A syntax error is an answer, too. */
export type YamlAnswer = ParsedYaml | YamlSyntaxError

interface Job {
  readonly text: Buffer
  readonly signal: AbortSignal
  readonly resolve: (answer: YamlAnswer) => void
  readonly reject: (reason: unknown) => void
  readonly leave: () => void
}

export class YamlReader {
  readonly #waiting: Job[] = []
  #current: Job | undefined
  #thread: Worker | undefined
  #idle: NodeJS.Timeout | undefined

  /** Rejects when `signal` aborts, and when the text takes more memory than the thread may have. */
  read(text: Buffer, signal: AbortSignal): Promise<YamlAnswer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const job: Job = { text, signal, resolve, reject, leave: () => this.#leave(job) }
      signal.addEventListener('abort', job.leave)
      this.#waiting.push(job)
      this.#next()
    })
  }

  /** Nothing is read any more; whoever still waits is rejected. */
  async end(): Promise<void> {
    const over = new Error('the server is shutting down')
    for (const job of this.#waiting.splice(0)) this.#finish(job, () => job.reject(over))
    const stopped = this.#stop()
    this.#settle((job) => job.reject(over))
    await stopped
  }

  #next(): void {
    if (this.#current !== undefined) return
    clearTimeout(this.#idle)
    this.#current = this.#waiting.shift()
    if (this.#current === undefined) {
      this.#thread?.unref()
      this.#idle = setTimeout(() => this.#stop(), limits.yamlThreadIdleMs).unref()
      return
    }
    this.#thread ??= this.#start()
    this.#thread.ref()
    this.#thread.postMessage(this.#current.text)
  }

  #start(): Worker {
    const thread = new Worker(new URL('./yaml-thread.js', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.yamlThreadMegabytesMax },
    })
    const ofThis = (answer: (job: Job) => void): void => {
      if (this.#thread === thread) this.#settle(answer)
    }
    thread.on('message', (answer: ParsedYaml | string) =>
      ofThis(({ resolve }) =>
        resolve(typeof answer === 'string' ? new YamlSyntaxError(answer) : answer),
      ),
    )
    thread.on('error', (error) =>
      ofThis(({ reject }) => {
        this.#thread = undefined
        reject(error)
      }),
    )
    return thread
  }

  #settle(answer: (job: Job) => void): void {
    const job = this.#current
    if (job === undefined) return
    this.#current = undefined
    this.#finish(job, () => answer(job))
    this.#next()
  }

  #finish({ signal, leave }: Job, answer: () => void): void {
    signal.removeEventListener('abort', leave)
    answer()
  }

  /** A thread that is reading can only be stopped by ending it. */
  #leave(job: Job): void {
    if (job !== this.#current) {
      this.#waiting.splice(this.#waiting.indexOf(job), 1)
      job.reject(job.signal.reason)
      return
    }
    void this.#stop()
    this.#settle(({ reject, signal }) => reject(signal.reason))
  }

  async #stop(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await thread?.terminate()
  }
}
