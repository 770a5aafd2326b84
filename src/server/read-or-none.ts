import { ApiError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'

/** Undefined for an object that is not there. `consistency`: as for a get. */
export const readOrNone = async (
  store: Store,
  ctx: RequestContext,
  name: string,
  consistency?: Parameters<Store['get']>[2],
): Promise<KubeObject | undefined> => {
  try {
    return (await store.get(ctx, name, consistency)).object
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined
    throw error
  }
}
