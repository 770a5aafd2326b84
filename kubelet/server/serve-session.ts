/** exec and attach, over WebSocket or SPDY. */
import type { Container, Session } from '../runtime.js'
import { findRunning, HttpError, type Upgraded } from './pod-request.js'
import type { Opened, Wanted } from './run-session.js'
import { acceptSpdy } from './session-spdy.js'
import { acceptWebSocket } from './session-websocket.js'
import { spdyName } from './upgrade-to-spdy.js'

const isSet = (query: URLSearchParams, name: string): boolean =>
  query.get(name) === '1' || query.get(name) === 'true'

/** The run to speak to; an ended one is none. What is said of it comes after the client's own words. */
const findRun = ({ kubelet, path }: Upgraded): Container => {
  const { kind, container, pod, namespace } = path
  const run = findRunning(kubelet, path)
  if (run) return run
  throw new HttpError(
    500,
    kind === 'exec'
      ? `container not found ("${container}")`
      : `container ${container} not found in pod ${pod}_${namespace}`,
  )
}

const open = ({ kubelet, path }: Upgraded, run: Container, wanted: Wanted): Session => {
  const { query, kind } = path
  const { stdin, tty } = wanted
  return kind === 'attach'
    ? kubelet.runtime.attach(run.id, { stdin, tty })
    : kubelet.runtime.exec(run.id, query.getAll('command'), { stdin, tty })
}

export const serveSession = (upgraded: Upgraded): void => {
  const { query, kind, pod } = upgraded.path
  const wanted: Wanted = {
    stdin: isSet(query, 'input'),
    stdout: isSet(query, 'output'),
    stderr: isSet(query, 'error'),
    tty: isSet(query, 'tty'),
  }
  const run = findRun(upgraded)
  if (kind === 'exec' && !query.has('command'))
    throw new HttpError(400, `no command for pod ${pod}`)
  const begin = (): Opened => {
    try {
      return { session: open(upgraded, run, wanted) }
    } catch (error) {
      const { message } = error as Error
      return {
        problem:
          kind === 'exec'
            ? `error executing command in container: failed to exec in container: ${message}`
            : `error attaching to container: ${message}`,
      }
    }
  }
  if (upgraded.request.headers.upgrade === spdyName) acceptSpdy(upgraded, wanted, begin)
  else acceptWebSocket(upgraded, wanted, begin)
}
