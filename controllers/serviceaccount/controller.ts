import type { NamespacedObject } from '#api/object.js'
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from '#client/errors.js'
import { resources } from '#client/resources.js'
import { type Controller, newQueue, queueRun } from '../controller.js'

const name = 'default'

export const serviceAccountController: Controller = {
  name: 'serviceaccount-controller',
  serviceAccount: 'service-account-controller',
  start(context) {
    const { informers, client } = context
    const namespaces = informers.for(resources.namespaces)
    const accounts = informers.for<NamespacedObject>(resources.serviceAccounts)
    const queue = newQueue(context, 'serviceaccount')
    namespaces.handle({
      onAdd: (namespace) => queue.add(namespace.metadata.name),
      onUpdate: (namespace) => queue.add(namespace.metadata.name),
    })
    accounts.handle({ onDelete: (account) => queue.add(account.metadata.namespace) })
    return queueRun(context, queue, async (namespace) => {
      const known = namespaces.store.get(namespace)
      if (known === undefined || known.metadata.deletionTimestamp !== undefined) return
      if (accounts.store.get(`${namespace}/${name}`) !== undefined) return
      try {
        const metadata = { name, namespace }
        accounts.observe(await client.create(resources.serviceAccounts, { metadata }))
      } catch (error) {
        if (isAlreadyExists(error) || isNamespaceTerminating(error) || isNotFound(error)) return
        throw error
      }
    })
  },
}
