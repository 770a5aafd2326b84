/** The server's log for a work queue: only repeated failures are logged. */
import type { Log } from '#client/log.js'

const nothing = (): void => {}

export const workLog = (what: string, log: (message: string) => void): Log => ({
  debug: nothing,
  info: nothing,
  warn: (about, message) => log(`${what} ${JSON.stringify(about)}: ${message}`),
  error: (about, message) => log(`${what} ${JSON.stringify(about)}: ${message}`),
})
