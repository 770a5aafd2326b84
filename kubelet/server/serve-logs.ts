/** GET /containerLogs/NAMESPACE/POD/CONTAINER */
import { once } from 'node:events'
import type { Kubelet } from '../kubelet.js'
import { findContainer, type PodStatus, statusesOf } from '../pod.js'
import type { Container } from '../runtime.js'
import { findPod, HttpError, type RequestPath, type Served } from './pod-request.js'

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

/** Errors that stand for themselves; any other reason is told as it is (validateContainerLogStatus). */
const waitingFor: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

/** Of which of its runs the container's log is asked for: by what its status says, as upstream. */
const runIdOf = (status: PodStatus, { container: name, pod, query }: RequestPath): string => {
  const said = statusesOf(status).find((one) => one.name === name)
  const where = `container "${name}" in pod "${pod}"`
  if (!said) throw new HttpError(400, `${where} is not available`)
  const { running, terminated, waiting } = said.state
  const before = said.lastState.terminated
  if (isSet(query, 'previous')) {
    if (!before?.containerID) throw new HttpError(400, `previous terminated ${where} not found`)
    return before.containerID
  }
  if (running && said.containerID) return said.containerID
  if (terminated || before) {
    const id = terminated?.containerID || before?.containerID
    if (!id) throw new HttpError(400, `${where} is terminated`)
    return id
  }
  const reason = waiting?.reason ?? ''
  throw new HttpError(400, `${where} is waiting to start: ${waitingFor[reason] ?? reason}`)
}

const findRun = (kubelet: Kubelet, path: RequestPath): Container => {
  const { container: name, pod: podName } = path
  const pod = findPod(kubelet, path, `pod "${podName}" does not exist`)
  if (!findContainer(pod, name))
    throw new HttpError(404, `container "${name}" not found in pod "${podName}"`)
  const { uid } = pod.metadata
  const id = runIdOf(kubelet.statusOf(uid), path)
  const run = kubelet.runtime.containersOf(uid).find((one) => id.endsWith(`//${one.id}`))
  if (!run) throw new HttpError(400, `unable to retrieve container logs for ${id}`)
  return run
}

export const serveLogs = async (served: Served): Promise<void> => {
  const { kubelet, clock, path, request, response } = served
  const { query } = path
  const run = findRun(kubelet, path)
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  request.resume()
  response.writeHead(200, { 'content-type': 'text/plain' })
  response.flushHeaders()
  const bytes = kubelet.runtime.logs(
    run,
    {
      follow: isSet(query, 'follow'),
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
