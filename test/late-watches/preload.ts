/** Loaded before the program into each process: what a watch is sent waits here before the program can read it. */
import { type ClientRequest, IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { latenessIn, latenessOf } from './lateness.js'

const given = latenessIn(import.meta.url)
// tap has taken it away, and the processes that a test starts are late, too.
process.env.NODE_OPTIONS = `--import=${import.meta.url}`

interface Waiting {
  readonly lateBy: () => number
  /** Resolves when all that came before has been handed on. */
  before: Promise<void>
}

const watches = new WeakMap<IncomingMessage, Waiting>()
/** How many watches of a path there were. */
const opened = new Map<string, number>()

const waitingOf = (message: IncomingMessage): Waiting | undefined => {
  const known = watches.get(message)
  if (known !== undefined) return known
  // Only the answer to a request has it.
  const { req } = message as { req?: ClientRequest }
  if (!req?.path.includes('watch=true')) return undefined
  const path = req.path.slice(0, req.path.indexOf('?'))
  const nth = opened.get(path) ?? 0
  opened.set(path, nth + 1)
  const made = { lateBy: latenessOf(given, path, nth), before: Promise.resolve() }
  watches.set(message, made)
  return made
}

const { push } = IncomingMessage.prototype

/** Called with each part of the body, and with null at its end. */
IncomingMessage.prototype.push = function (part, encoding) {
  const waiting = waitingOf(this)
  if (waiting === undefined) return push.call(this, part, encoding)
  const { before } = waiting
  const enough = sleep(waiting.lateBy())
  waiting.before = (async () => {
    await enough
    await before
    if (!this.destroyed) push.call(this, part, encoding)
  })()
  return true
}
