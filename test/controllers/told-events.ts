/** Events of a namespace as lines: `NAME REASON: NOTE`, in the order of their text. */
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { resources } from '#client/resources.js'

export const toldEvents = async (client: Client, namespace: string): Promise<string[]> =>
  (await client.list<KubeObject>(resources.events, { namespace })).items
    .map(
      ({ regarding, reason, note }) => `${(regarding as { name: string }).name} ${reason}: ${note}`,
    )
    .sort()
