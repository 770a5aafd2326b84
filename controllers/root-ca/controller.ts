/** Every namespace has the CA of the API server as a ConfigMap; upstream's root-ca-certificate-publisher-controller. */
import type { NamespacedObject } from '#api/object.js'
import { isNamespaceTerminating, isNotFound } from '#client/errors.js'
import type { Informer } from '#client/informer.js'
import { resources } from '#client/resources.js'
import {
  type Controller,
  type ControllerContext,
  newQueue,
  queueRun,
  runBeside,
} from '../controller.js'

const name = 'kube-root-ca.crt'
const describedBy = 'kubernetes.io/description'
const description = {
  [describedBy]:
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.',
}

const isWhole = ({ metadata, data }: NamespacedObject, ca: string): boolean =>
  data?.['ca.crt'] === ca &&
  Object.keys(data).length === 1 &&
  Boolean(metadata.annotations?.[describedBy])

/** Unless it is there with nothing else in it and says what it is, or its namespace goes. */
const publish = async (
  { client }: ControllerContext,
  maps: Informer<NamespacedObject>,
  namespace: string,
  ca: string,
): Promise<void> => {
  const map = maps.store.get(`${namespace}/${name}`)
  if (map !== undefined && isWhole(map, ca)) return
  try {
    const annotations = { ...map?.metadata.annotations, ...description }
    const data = { 'ca.crt': ca }
    const ref = resources.configMaps
    maps.observe(
      map === undefined
        ? await client.create<NamespacedObject>(ref, {
            metadata: { name, namespace, annotations },
            data,
          })
        : await client.update(ref, { ...map, metadata: { ...map.metadata, annotations }, data }),
    )
  } catch (error) {
    // One that is there already may hold anything: it is looked at again.
    if (isNamespaceTerminating(error) || isNotFound(error)) return
    throw error
  }
}

export const rootCaController: Controller = {
  name: 'root-ca-certificate-publisher-controller',
  serviceAccount: 'root-ca-cert-publisher',
  start(context) {
    const { informers, client, settings } = context
    // Empty where the kubeconfig trusts any certificate: Pods wait for the ConfigMap, whatever it holds.
    const ca = settings.rootCa ?? client.config.ca ?? ''
    const namespaces = informers.for(resources.namespaces)
    // Only these ConfigMaps, so that the contents of others take no memory.
    const maps = informers.separate<NamespacedObject>({
      ref: resources.configMaps,
      fieldSelector: `metadata.name=${name}`,
    })
    const queue = newQueue(context, 'root_ca_cert_publisher')
    namespaces.handle({
      onAdd: (namespace) => queue.add(namespace.metadata.name),
      onUpdate: (namespace) => queue.add(namespace.metadata.name),
    })
    const mapChanged = (map: NamespacedObject): void => queue.add(map.metadata.namespace)
    maps.handle({ onUpdate: mapChanged, onDelete: mapChanged })
    const run = queueRun(context, queue, async (namespace) => {
      const known = namespaces.store.get(namespace)
      if (known !== undefined && known.metadata.deletionTimestamp === undefined)
        await publish(context, maps, namespace, ca)
    })
    return runBeside([maps], run)
  },
}
