/**
 * ComponentStatuses: nothing is stored, each read asks the scheduler, the controller manager and the store how they are
 * (kubernetes, registry/core/componentstatus).
 */
import { request } from 'node:https'
import type { KubeObject } from '#api/object.js'
import { MadeObject } from '#cacher/made-object.js'
import type { ObjectStorage, StoredObject } from '#cacher/object-storage.js'
import { goNetError, type NetError } from '#go/net-error.js'
import { limits } from '#limits'

export const componentStatusPrefix = '/registry/componentstatuses'

interface Health {
  readonly status: 'True' | 'False'
  readonly message?: string
  readonly error?: string
}

type Ask = () => Promise<Health>

/** Certificates are not checked: the process is on this machine, and no secret is sent to it. */
const askHealthz = (port: number) => (): Promise<Health> =>
  new Promise((resolve) => {
    const url = `https://127.0.0.1:${port}/healthz`
    const refused = (error: NetError) =>
      resolve({ status: 'False', message: `Get ${JSON.stringify(url)}: ${goNetError(error)}` })
    const signal = AbortSignal.timeout(limits.componentProbeTimeoutMs)
    const asking = request(url, { agent: false, rejectUnauthorized: false, signal }, (answer) => {
      const { statusCode = 0 } = answer
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => {
        if (text.length < limits.componentProbeTextMax) text += chunk
      })
      answer.on('error', refused)
      answer.on('end', () =>
        resolve(
          statusCode >= 200 && statusCode < 400
            ? { status: 'True', message: text.slice(0, limits.componentProbeTextMax) }
            : { status: 'False', message: `HTTP probe failed with statuscode: ${statusCode}` },
        ),
      )
    })
    asking.on('error', refused).end()
  })

const statusOf = async (name: string, ask: Ask): Promise<StoredObject> => {
  const object: KubeObject = {
    kind: 'ComponentStatus',
    apiVersion: 'v1',
    metadata: { name },
    conditions: [{ type: 'Healthy', ...(await ask()) }],
  }
  return new MadeObject({ key: `${componentStatusPrefix}/${name}`, revision: 0 }, object)
}

const neverWritten = (): never => {
  throw new Error('component statuses are made up, not written')
}

/** `askStore` yields what is wrong with the store. `ports`: of the health endpoints of the two processes. */
export const componentStatuses = (
  askStore: () => Promise<string | undefined>,
  ports = { 'controller-manager': 10257, scheduler: 10259 },
): ObjectStorage => {
  const components = new Map<string, Ask>(
    Object.entries(ports).map(([name, port]) => [name, askHealthz(port)]),
  )
  components.set('etcd-0', async () => {
    const error = await askStore()
    return error === undefined ? { status: 'True', message: 'ok' } : { status: 'False', error }
  })
  return {
    get: async (key) => {
      const name = key.slice(componentStatusPrefix.length + 1)
      const ask = components.get(name)
      return ask && statusOf(name, ask)
    },
    list: async ({ selection: { key, matches } }) => {
      const all = await Promise.all([...components].map(([name, ask]) => statusOf(name, ask)))
      const items = all.filter(
        (found) => (key ?? found.key) === found.key && (matches?.(found) ?? true),
      )
      return { items, revision: 0 }
    },
    create: neverWritten,
    update: neverWritten,
    delete: neverWritten,
    watch: neverWritten,
    currentRevision: () => 0,
  }
}
