/** The metrics server: `kubelevel metrics-server`. Serves metrics.k8s.io from what kubelets say, behind the API server. */

import { sleep } from '#async/sleep.js'
import { Backoff } from '#client/backoff.js'
import { messageOf } from '#client/errors.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { durationMs } from '#go/duration.js'
import { machineAddress } from '#net/machine-address.js'
import { portProblem } from '#program/flags.js'
import { readFrontProxyTrust } from './front-proxy.js'
import { type Listening, listen } from './listen.js'
import { readKubelets } from './read-kubelets.js'
import { type Place, register, serviceHost, unregister } from './register.js'
import { UsageStore } from './usage-store.js'

interface MetricsServerOptions extends ProcessDeps {
  /** Address at which the API server reaches it. Default: the first address of the machine. */
  address?: string
  /** 0 (default) takes a free one. */
  port?: number
  /** How often usage is read from kubelets. Default 15 s, as in upstream's manifest. */
  resolutionMs?: number
}

const resolutionDefaultMs = 15_000

/** The API server may be starting, or away. Undefined when the signal fires before it has answered. */
const retried = async <T>(
  { log, signal }: ProcessDeps,
  act: () => Promise<T>,
): Promise<T | undefined> => {
  const backoff = new Backoff({ baseMs: 200, maxMs: 10_000 })
  while (!signal.aborted) {
    try {
      return await act()
    } catch (error) {
      log.info({ error: messageOf(error) }, 'will try again')
      await sleep(backoff.next(), signal)
    }
  }
  return undefined
}

/**
 * What tells of it may be deleted, or may be that of an earlier start that a restored snapshot has brought back; and the
 * front proxy may get another authority.
 */
const keepKnown = async (
  { client, log, signal }: ProcessDeps,
  { place, server, everyMs }: { place: Place; server: Listening; everyMs: number },
): Promise<void> => {
  for (;;) {
    await sleep(everyMs, signal)
    if (signal.aborted) return
    try {
      server.trust(await readFrontProxyTrust(client))
      await register(client, place)
    } catch (error) {
      log.info({ error: messageOf(error) }, 'metrics.k8s.io may not be registered')
    }
  }
}

/** Resolves after the signal of `options` fired and everything has ended. */
const runMetricsServer = async (options: MetricsServerOptions): Promise<void> => {
  const { client, clock, log, signal } = options
  const address = options.address ?? machineAddress()
  const resolutionMs = options.resolutionMs ?? resolutionDefaultMs
  const store = new UsageStore(resolutionMs)
  const trust = await retried(options, () => readFrontProxyTrust(client))
  if (trust === undefined) return
  const { port = 0 } = options
  const server = await listen({
    client,
    clock,
    log,
    store,
    address,
    port,
    trust,
    name: serviceHost,
  })
  try {
    const place = { address, port: server.port, caPem: server.caPem }
    await retried(options, () => register(client, place))
    log.info({ address, port: server.port }, 'metrics.k8s.io is served')
    const reading = readKubelets({ client, clock, log, signal, store, resolutionMs })
    await Promise.all([reading, keepKnown(options, { place, server, everyMs: resolutionMs })])
    await unregister(client).catch((error) =>
      log.info({ error: messageOf(error) }, 'metrics.k8s.io is still registered'),
    )
  } finally {
    await server.close()
  }
}

export const metricsServerProcess: ProcessSpec = {
  name: 'metrics-server',
  agent: 'metrics-server',
  flags: [
    {
      name: 'address',
      type: 'string',
      help: 'address at which the API server reaches it (default: the first address of the machine)',
    },
    {
      name: 'secure-port',
      type: 'integer',
      default: '0',
      check: portProblem,
      help: 'port to serve on; 0 takes a free one',
    },
    {
      name: 'metric-resolution',
      type: 'duration',
      default: '15s',
      check: (value) => (durationMs(value) >= 1_000 ? undefined : 'must be 1s or more'),
      help: 'how often usage is read from kubelets',
    },
  ],
  run: (deps, flags) =>
    runMetricsServer({
      ...deps,
      address: flags.text('address'),
      port: flags.number('secure-port'),
      resolutionMs: flags.milliseconds('metric-resolution'),
    }),
}
