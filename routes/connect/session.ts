/** exec, attach and portforward: the connection is passed on to the Pod's kubelet. */
import { badRequest, failure } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { forwardUpgrade } from '../forward.js'
import { type Connection, read } from './connection.js'
import { kubeletOfPod, path, toKubelet } from './kubelet-address.js'
import { containerOf } from './pod-container.js'

/** How the API names the streams, and how the kubelet does. */
const streams = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const

export const session = async (c: Connection, kind: 'exec' | 'attach'): Promise<unknown> => {
  const pod = await read(c, 'pods', c.target.name)
  const container = containerOf(pod, c.query.text('container'))
  const query = new URLSearchParams()
  for (const [api, kubelet] of Object.entries(streams)) {
    if (c.query.flag(api)) query.set(kubelet, '1')
  }
  for (const word of c.query.texts('command')) query.append('command', word)
  return upgrade(c, pod, (namespace, name) => path(kind, namespace, name, container), query)
}

export const portForward = async (c: Connection): Promise<unknown> => {
  const pod = await read(c, 'pods', c.target.name)
  const query = new URLSearchParams()
  for (const port of c.query.texts('ports')) query.append('port', port)
  return upgrade(c, pod, (namespace, name) => path('portForward', namespace, name), query)
}

const upgrade = async (
  c: Connection,
  pod: KubeObject,
  restOf: (namespace: string, name: string) => string,
  query: URLSearchParams,
): Promise<unknown> => {
  const { namespace = '', name = '' } = pod.metadata
  if (!pod.spec.nodeName) throw badRequest(`pod ${name} does not have a host assigned`)
  const base = await kubeletOfPod(c, pod.spec.nodeName)
  const asked = c.deps.upgradeOf(c.request)
  if (!asked) throw badRequest('Upgrade request required')
  const destination = toKubelet(c, base, { rest: restOf(namespace, name), query })
  // What a kubelet refuses is handed on as it says it.
  return forwardUpgrade(destination, c.request, c.reply, asked, {
    refuse: ({ statusCode: code = 500 }) =>
      code < 400 ? Promise.resolve(notUpgraded(code)) : undefined,
  })
}

const notUpgraded = (code: number): Error =>
  failure({ code: 500, message: `invalid upgrade response: status code ${code}` })
