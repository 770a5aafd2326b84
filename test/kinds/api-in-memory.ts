/** The resource table over a driver, a memory one by default, without HTTP: what kinds, allocation and admission are tested on. */

import { systemClock } from '#api/clock.js'
import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { makeCacher } from '#cacher/cacher.js'
import type { JsonValue } from '#json/value.js'
import { kinds as builtIn } from '#kinds/index.js'
import type { Admission } from '#registry/admission.js'
import { admitAll } from '#registry/admission.js'
import { decodeObject } from '#registry/decode.js'
import { makeFieldManagers } from '#registry/field-manager/make-field-managers.js'
import { randomIds } from '#registry/ids.js'
import { makeStore } from '#registry/make-store.js'
import type {
  DeleteOptions,
  KindDefinition,
  RequestContext,
} from '#registry/resource-definition.js'
import { makeResourceTable } from '#registry/resource-table.js'
import type { Store } from '#registry/store.js'
import type { StorageDriver } from '#storage/driver.js'
import { openMemory } from '#storage/memory/memory-driver.js'

interface Call {
  namespace?: string
  subresource?: string
  dryRun?: boolean
  user?: { name: string; groups: string[] }
}

export interface Answer {
  code: number
  /** The object in the version asked for, or the Status. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read objects of every kind
  body: any
  warnings: string[]
}

export interface ApiInMemory {
  readonly stores: RequestContext['stores']
  context(call?: Call): RequestContext & { warnings: string[] }
  store(group: string, resource: string): Store
  create(gvr: string, body: object, call?: Call): Promise<Answer>
  /** A merge of `patch` into the top level and one level below it, written as an update. */
  replace(
    gvr: string,
    name: string,
    change: (object: KubeObject) => unknown,
    call?: Call,
  ): Promise<Answer>
  delete(gvr: string, name: string, call?: Call, options?: DeleteOptions): Promise<Answer>
  close(): Promise<void>
}

/** `apps/v1/deployments`, `v1/pods`. */
const parseGvr = (text: string) => {
  const parts = text.split('/')
  const [group, version, resource] = parts.length === 2 ? ['', ...parts] : parts
  return { group: group!, version: version!, resource: resource! }
}

export const startApiInMemory = async (
  makeAdmission: (stores: RequestContext['stores']) => Admission = () => admitAll,
  driver: StorageDriver = openMemory({ clock: systemClock }),
  kinds: readonly KindDefinition[] = builtIn,
): Promise<ApiInMemory> => {
  const cacher = await makeCacher({ driver, clock: systemClock })
  const table = makeResourceTable(kinds)
  const fieldManagerOf = makeFieldManagers(table)
  const made = new Map<string, Store>()
  const stores: RequestContext['stores'] = ({ group, resource }) => {
    const key = `${group}/${resource}`
    const definition = table.ofResource({ group, resource })
    if (!made.has(key) && definition !== undefined)
      made.set(
        key,
        makeStore({
          storage: cacher.forResource({
            prefix: `${definition.storagePrefix}/`,
            fields: definition.selectableFields,
          }),
          definition,
          fieldManager: fieldManagerOf(definition),
          admission,
          clock: systemClock,
          ids: randomIds,
        }),
      )
    return made.get(key)
  }
  const admission = makeAdmission(stores)
  const context: ApiInMemory['context'] = ({
    namespace,
    subresource = '',
    dryRun = false,
    user = { name: 'admin', groups: ['system:masters'] },
  } = {}) => {
    const warnings: string[] = []
    return {
      user,
      verb: '',
      namespace,
      subresource,
      dryRun,
      now: systemClock.now(),
      caller: new AbortController(),
      warn: (text) => warnings.push(text),
      userAgent: 'test',
      fieldManager: '',
      fieldValidation: '',
      stores,
      warnings,
    }
  }
  const answering = async (
    ctx: ReturnType<typeof context>,
    action: () => Promise<{ code: number; body: unknown }>,
  ): Promise<Answer> => {
    try {
      return { ...(await action()), warnings: ctx.warnings }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return { code: error.code, body: error.status, warnings: ctx.warnings }
    }
  }
  const rowOf = (gvr: string) => {
    const definition = table.get(parseGvr(gvr))!
    const { toStorage = (o: KubeObject) => o, fromStorage = (o: KubeObject) => o } =
      definition.convert ?? {}
    return { definition, toStorage, fromStorage, store: stores(definition.gvr)! }
  }
  return {
    stores,
    context,
    store: (group, resource) => stores({ group, resource })!,
    create: (gvr, body, call) => {
      const ctx = context(call)
      const { definition, store, toStorage, fromStorage } = rowOf(gvr)
      return answering(ctx, async () => {
        const { object } = decodeObject(definition, body as JsonValue)
        const stored = await store.create(ctx, toStorage(object))
        return { code: 201, body: fromStorage(stored.object) }
      })
    },
    replace: (gvr, name, change, call) => {
      const ctx = context(call)
      const { definition, store, toStorage, fromStorage } = rowOf(gvr)
      return answering(ctx, async () => {
        const { stored } = await store.update(ctx, name, (current) => {
          const next = structuredClone(fromStorage(current!))
          change(next)
          return toStorage(decodeObject(definition, next).object)
        })
        return { code: 200, body: fromStorage(stored.object) }
      })
    },
    delete: (gvr, name, call, options = {}) => {
      const ctx = context(call)
      const { store, fromStorage } = rowOf(gvr)
      return answering(ctx, async () => {
        const { stored } = await store.delete(ctx, name, options)
        return { code: 200, body: fromStorage(stored.object) }
      })
    },
    close: async () => {
      await cacher.close()
      await driver.close()
    },
  }
}
