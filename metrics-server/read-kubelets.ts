/** Reads every kubelet at regular intervals, through the API server, which can reach them and is allowed to. */
import type { Clock } from '#api/clock.js'
import { sleep } from '#async/sleep.js'
import { withinTime } from '#async/within-time.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import { limits } from '#limits'
import { readStart } from '#net/read-start.js'
import { parseReading } from './kubelet-reading.js'
import type { UsageStore } from './usage-store.js'

interface ReadingOptions {
  readonly client: Client
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
  readonly store: UsageStore
  /** Upstream's --metric-resolution. */
  readonly resolutionMs: number
}

/** A new node is read again soon: one reading alone says nothing. */
const secondReadingMs = 2_000

const readNode = async (options: ReadingOptions, name: string): Promise<void> => {
  const { client, clock, log, store, signal } = options
  try {
    const path = `/api/v1/nodes/${encodeURIComponent(name)}/proxy/metrics/resource`
    const text = await withinTime(signal, limits.kubeletReadTimeoutMs, async (own) => {
      const said = await client.stream({ method: 'GET', path, accept: 'text/plain', signal: own })
      return readStart(said, limits.kubeletReadingBytesMax)
    })
    // Of the figure at its end some digits may be missing.
    if (Buffer.byteLength(text) >= limits.kubeletReadingBytesMax)
      throw new Error('it says too much')
    store.record(name, parseReading(text, clock.now()))
  } catch (error) {
    if (!signal.aborted) log.info({ node: name, error: messageOf(error) }, 'node cannot be read')
  }
}

/** Resolves with whether every node has been read twice. */
const readAll = async (options: ReadingOptions): Promise<boolean> => {
  const { client, store, signal } = options
  const { items } = await client.list(resources.nodes, { metadataOnly: true, signal })
  const names = items.map(({ metadata }) => metadata.name)
  store.keepNodes(new Set(names))
  const waiting = [...names]
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop())
      await readNode(options, name)
  }
  await Promise.all(Array.from({ length: Math.min(limits.kubeletReadsMax, names.length) }, work))
  return names.length > 0 && names.every((name) => store.knows(name))
}

/** Until the signal fires. */
export const readKubelets = async (options: ReadingOptions): Promise<void> => {
  const { log, signal, resolutionMs } = options
  while (!signal.aborted) {
    const isSettled = await readAll(options).catch((error) => {
      if (!signal.aborted) log.info({ error: messageOf(error) }, 'nodes cannot be listed')
      return false
    })
    await sleep(isSettled ? resolutionMs : Math.min(resolutionMs, secondReadingMs), signal)
  }
}
