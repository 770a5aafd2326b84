/** Signs the ConfigMap from which joining nodes learn of the cluster; upstream's bootstrap-signer-controller. */
import type { NamespacedObject } from '#api/object.js'
import { isConflict, isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { type Controller, enqueueOwn, newQueue, queueRun, runBeside } from '../controller.js'
import { signedData } from './signatures.js'
import { signingToken, type TokenSecret, tokenSecretInformer } from './token-secret.js'

interface ConfigMap extends NamespacedObject {
  data?: Readonly<Record<string, string>>
}

const [namespace, name] = ['kube-public', 'cluster-info']
const key = `${namespace}/${name}`

export const bootstrapSignerController: Controller = {
  name: 'bootstrap-signer-controller',
  serviceAccount: 'bootstrap-signer',
  isOffByDefault: true,
  start(context) {
    const { client, clock } = context
    const secrets = tokenSecretInformer(context)
    const maps = context.informers.separate<ConfigMap>({
      ref: resources.configMaps,
      namespace,
      fieldSelector: `metadata.name=${name}`,
    })
    const queue = newQueue(context, 'bootstrap_signer_queue')
    enqueueOwn(maps, queue)
    const sign = (_secret: TokenSecret): void => queue.add(key)
    secrets.handle({ onAdd: sign, onUpdate: sign, onDelete: sign })
    const run = queueRun(context, queue, async () => {
      const map = maps.store.get(key)
      if (map === undefined) return
      const now = clock.now()
      const tokens = secrets.store.list().flatMap((secret) => signingToken(secret, now) ?? [])
      const data = signedData(map.data ?? {}, tokens)
      if (data === undefined) return
      try {
        maps.observe(await client.update(resources.configMaps, { ...map, data }))
      } catch (error) {
        // It changed meanwhile: the watch brings it again.
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
    })
    return runBeside([secrets, maps], run)
  },
}
