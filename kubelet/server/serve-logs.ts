/** GET /containerLogs/NAMESPACE/POD/CONTAINER */
import { once } from 'node:events'
import { findPod, findRuns, HttpError, type Served } from './pod-request.js'

const numberOf = (query: URLSearchParams, name: string): number | undefined => {
  const text = query.get(name)
  return text === null || text === '' ? undefined : Number(text)
}
const isSet = (query: URLSearchParams, name: string): boolean =>
  ['true', '1', ''].includes(query.get(name) ?? 'false')

const sinceTimeOf = (query: URLSearchParams, now: number): number | undefined => {
  const seconds = numberOf(query, 'sinceSeconds')
  if (seconds !== undefined) return now - seconds * 1000
  const time = query.get('sinceTime')
  return time ? Date.parse(time) : undefined
}

export const serveLogs = async ({
  kubelet,
  clock,
  path,
  request,
  response,
}: Served): Promise<void> => {
  const { query, container: name, pod } = path
  const runs = findRuns(kubelet, path)
  const previous = isSet(query, 'previous')
  const run = previous ? runs.filter(({ state }) => state === 'exited').at(-1) : runs.at(-1)
  const latestHasEnded = runs.at(-1)?.state === 'exited'
  // Of a container that waits to start again the ended run is the current one.
  const wanted = previous && latestHasEnded ? runs.at(-2) : run
  if (!wanted) {
    findPod(kubelet, path)
    throw previous
      ? new HttpError(400, `previous terminated container "${name}" in pod "${pod}" not found`)
      : new HttpError(
          400,
          `container "${name}" in pod "${pod}" is waiting to start: ContainerCreating`,
        )
  }
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  request.resume()
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.flushHeaders()
  const bytes = kubelet.runtime.logs(
    wanted,
    {
      follow: isSet(query, 'follow') && !previous,
      timestamps: isSet(query, 'timestamps'),
      tailLines: numberOf(query, 'tailLines'),
      sinceTime: sinceTimeOf(query, clock.now()),
      limitBytes: numberOf(query, 'limitBytes'),
    },
    gone.signal,
  )
  for await (const chunk of bytes) {
    if (gone.signal.aborted) return
    // A reader that does not read holds up the file, not our memory.
    if (!response.write(chunk))
      await once(response, 'drain', { signal: gone.signal }).catch(() => {})
  }
  response.end()
}
