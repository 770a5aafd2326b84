/** How far the cache has come, and who waits for it to come further. */
import { StorageError } from '#storage/driver.js'

interface Waiter {
  readonly revision: number
  resolve(): void
  reject(reason: Error): void
}

export class Progress {
  #revision = 0
  #failure: Error | undefined
  #waiting: Waiter[] = []

  get revision(): number {
    return this.#revision
  }

  /** Set when no more changes will come. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Resolves when every change up to `revision` is here. Without `timeoutMs` it waits as long as it takes. */
  waitFor(revision: number, timeoutMs?: number): Promise<void> {
    if (this.#revision >= revision) return Promise.resolve()
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { revision, resolve, reject }
      this.#waiting.push(waiter)
      if (timeoutMs === undefined) return
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
        const message = `revision ${revision} has not come, the newest is ${this.#revision}`
        reject(new StorageError('FutureRevision', message, { revision: this.#revision }))
      }, timeoutMs)
      waiter.resolve = () => {
        clearTimeout(timer)
        resolve()
      }
      waiter.reject = (reason) => {
        clearTimeout(timer)
        reject(reason)
      }
    })
  }

  moveTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const waiter of waiting) {
      if (waiter.revision <= this.#revision) waiter.resolve()
      else this.#waiting.push(waiter)
    }
  }

  fail(error: Error): void {
    this.#failure = error
    for (const waiter of this.#waiting) waiter.reject(error)
    this.#waiting = []
  }
}
