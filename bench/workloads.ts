/** What is measured: for each line of the table the requests of one rival, and what the floor is to answer. */

export interface Call {
  readonly method: string
  readonly path: string
  readonly body?: Buffer
  readonly type?: string
}

export interface Workload {
  readonly name: string
  /** Requests in the order they are sent; `n` counts all of one rival. */
  call(n: number): Call
  /** What is sent is a whole object, as what comes back is: a floor that reads JSON can answer it with itself. */
  readonly sendsObject?: boolean
  /** Ends a round early: there is nothing left to delete. */
  readonly callsMax?: number
  /** Sent before each round, and not measured. */
  prepare?(): Call[]
  /** What deliveries are measured with: what is watched, and the frames of one call, made of its answer. */
  readonly watched?: Watched
}

interface Watched {
  /** Of the line in the table. */
  readonly name: string
  /** The path of a collection. */
  readonly path: string
  readonly framesPerCall: number
  frames(body: string): string[]
  /** The line for watchers that come back after so many calls: their deliveries wait for no write. */
  readonly history?: { readonly name: string; readonly calls: number }
}

const frame = (type: string, object: string): string =>
  `{"type":"${type}","object":${object.trimEnd()}}\n`

export const namespace = 'bench'
const pods = `/api/v1/namespaces/${namespace}/pods`

const padding = Array.from({ length: 12 }, (_, i) => ({
  name: `SETTING_${i}`,
  value: `the value of setting ${i}, long enough to be like one`,
}))

/** A Pod of about 2.4 KB once it is stored. `n` decides its labels (40 of 2,000 share one) and its node. */
export const podBody = (name: string, n: number, image = 'registry.example/app:1'): Buffer =>
  Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: `app-${n % 50}`, tier: 'backend', index: `${n % 10}` } },
      spec: {
        nodeName: `node-${n % 20}`,
        containers: [
          { name: 'app', image, env: padding, resources: { requests: { cpu: '100m' } } },
        ],
      },
    }),
  )

const configMaps = `/api/v1/namespaces/${namespace}/configmaps`
const configMapBody = (name: string, kilobytes: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      metadata: { name },
      data: { text: 'a line of text\n'.repeat(kilobytes * 64) },
    }),
  )

const seeded = (n: number) => `seed-${String(n).padStart(6, '0')}`
export const seedCall = (n: number): Call => ({
  method: 'POST',
  path: pods,
  body: podBody(seeded(n), n),
})

/** The collection that is deleted at once, as large as the one that the reference was measured with. */
const collectionLength = 2_300
const collected = { collection: 'yes' }
let collectionsMade = 0
const collectionCalls = (): Call[] => {
  const round = collectionsMade++
  return Array.from({ length: collectionLength }, (_, n) => ({
    method: 'POST',
    path: configMaps,
    body: Buffer.from(
      JSON.stringify({
        metadata: { name: `collected-${round}-${n}`, labels: collected },
        data: { n: String(n) },
      }),
    ),
  }))
}

const deletedLength = 500

/** Of Pods that are made before each round: what is there from the start would be gone before anything is warm. */
const deletes = (name: string, prefix: string, query: string): Workload => {
  let made = 0
  const podOf = (n: number) => `${prefix}-${n}`
  return {
    name,
    callsMax: deletedLength,
    prepare: () =>
      Array.from({ length: deletedLength }, () => ({
        method: 'POST',
        path: pods,
        body: podBody(podOf(made), made++),
      })),
    call: (n) => ({
      method: 'DELETE',
      path: `${pods}/${podOf(made - 1 - (n % deletedLength))}${query}`,
    }),
  }
}

const patchOf = (change: object) => Buffer.from(JSON.stringify(change))
const mergePatch = 'application/merge-patch+json'
const spread = (n: number, count: number) => seeded((n * 7919) % count)

export const workloads = (count: number): Workload[] => [
  // Reads first: of as many objects as were asked for.
  { name: 'get', call: (n) => ({ method: 'GET', path: `${pods}/${spread(n, count)}` }) },
  { name: 'list page of 500', call: () => ({ method: 'GET', path: `${pods}?limit=500` }) },
  {
    name: 'list by label (1 of 50)',
    call: (n) => ({ method: 'GET', path: `${pods}?labelSelector=app%3Dapp-${n % 50}` }),
  },
  {
    name: 'list by node (1 of 20)',
    call: (n) => ({ method: 'GET', path: `${pods}?fieldSelector=spec.nodeName%3Dnode-${n % 20}` }),
  },
  { name: 'list all', call: () => ({ method: 'GET', path: pods }) },
  {
    name: 'create',
    sendsObject: true,
    call: (n) => ({ method: 'POST', path: pods, body: podBody(`new-${n}`, n) }),
  },
  {
    name: 'update',
    sendsObject: true,
    call: (n) => ({
      method: 'PUT',
      path: `${pods}/${spread(n, count)}`,
      body: podBody(spread(n, count), (n * 7919) % count, `registry.example/app:${n}`),
    }),
  },
  {
    name: 'merge patch',
    call: (n) => ({
      method: 'PATCH',
      path: `${pods}/${spread(n, count)}`,
      body: patchOf({ metadata: { annotations: { count: String(n) } } }),
      type: mergePatch,
    }),
    watched: {
      name: 'deliveries of patches',
      path: pods,
      framesPerCall: 1,
      frames: (body) => [frame('MODIFIED', body)],
      history: { name: 'deliveries of history', calls: 400 },
    },
  },
  {
    name: 'strategic patch',
    call: (n) => ({
      method: 'PATCH',
      path: `${pods}/${spread(n, count)}`,
      body: patchOf({ metadata: { annotations: { strategic: String(n) } } }),
      type: 'application/strategic-merge-patch+json',
    }),
  },
  {
    name: 'JSON patch',
    call: (n) => ({
      method: 'PATCH',
      path: `${pods}/${spread(n, count)}`,
      body: patchOf([{ op: 'add', path: '/metadata/annotations', value: { json: String(n) } }]),
      type: 'application/json-patch+json',
    }),
  },
  {
    name: 'status patch',
    call: (n) => ({
      method: 'PATCH',
      path: `${pods}/${spread(n, count)}/status`,
      body: patchOf({ status: { phase: n % 2 ? 'Running' : 'Pending', message: String(n) } }),
      type: mergePatch,
    }),
  },
  {
    name: 'apply',
    call: (n) => ({
      method: 'PATCH',
      path: `${pods}/${spread(n, count)}?fieldManager=bench&force=true`,
      body: podBody(spread(n, count), (n * 7919) % count, `registry.example/app:${n}`),
      type: 'application/apply-patch+yaml',
    }),
  },
  ...[1, 10, 100].map((kilobytes) => ({
    name: `create of ${kilobytes} KB`,
    call: (n: number) => ({
      method: 'POST',
      path: configMaps,
      body: configMapBody(`new-${kilobytes}-${n}`, kilobytes),
    }),
  })),
  {
    name: 'delete of 2,300 at once',
    callsMax: 1,
    prepare: collectionCalls,
    call: () => ({ method: 'DELETE', path: `${configMaps}?labelSelector=collection%3Dyes` }),
    watched: {
      name: 'deliveries of deletes',
      path: configMaps,
      framesPerCall: collectionLength,
      frames: (body) =>
        (JSON.parse(body).items as object[]).map((item) =>
          frame('DELETED', JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', ...item })),
        ),
    },
  },
  deletes('delete (graceful)', 'ending', ''),
  deletes('delete (grace 0)', 'gone', '?gracePeriodSeconds=0'),
]

let probed = 1_000_000

/** Of one side of the comparison: what the floor is to be taught, in place of a call that has used up its object. */
export const probeOf = (workload: Workload, count: number): Call =>
  workload.callsMax === undefined ? workload.call(probed++) : workload.call(count - 1)

export const podsPath = pods
export const accountsPath = `/api/v1/namespaces/${namespace}/serviceaccounts`
/** What a run leaves behind. */
export const collections: readonly string[] = [pods, configMaps, accountsPath]
