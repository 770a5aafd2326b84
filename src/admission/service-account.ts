/** Pods run as a service account and carry its token (kubernetes, plugin/pkg/admission/serviceaccount). */

import { setTimeout } from 'node:timers/promises'
import { failure } from '#api/errors.js'
import { isMirrorPod } from '#api/mirror-pods.js'
import type { Fields, KubeObject } from '#api/object.js'
import { whenKnown } from '#async/when-known.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import type { AdmissionAttributes, AttributesOf, WriteAttributes } from '#registry/admission.js'
import { generatedName, randomIds } from '#registry/ids.js'
import { type AdmissionPlugin, findObject, isAbout, isPodCreate, refuse } from './plugin.js'
import {
  foreignEphemeralSecret,
  foreignSecret,
  limitsSecrets,
  namesSecrets,
} from './secret-references.js'

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
const volumePrefix = 'kube-api-access-'

interface Container {
  name: string
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[]
}

const tokenVolume = (name: string): object => ({
  name,
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds: limits.podTokenSeconds, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [
            {
              path: 'namespace',
              fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
            },
          ],
        },
      },
    ],
  },
})

const mountToken = (pod: KubeObject): void => {
  const { spec } = pod
  const existing = (spec.volumes ?? []).find((v: Container) => v.name.startsWith(volumePrefix))
  const name: string = existing?.name ?? generatedName(volumePrefix, randomIds)
  const containers: Container[] = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
  const open = containers.filter(
    (c) => !(c.volumeMounts ?? []).some((mount) => mount.mountPath === mountPath),
  )
  for (const container of open)
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name, readOnly: true, mountPath },
    ]
  if (open.length > 0 && existing === undefined)
    spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)]
}

const find = ({ ctx, namespace }: AdmissionAttributes, name: string) =>
  findObject(ctx, { group: '', resource: 'serviceaccounts' }, { name, namespace })

const accountOf = (
  attributes: AdmissionAttributes,
  name: string,
): KubeObject | Promise<KubeObject> =>
  whenKnown(find(attributes, name), (found) => found ?? awaitAccount(attributes, name))

/** A controller makes the default account of each namespace: a first Pod may come before it, and waits, as upstream. */
const awaitAccount = async (attributes: AdmissionAttributes, name: string): Promise<KubeObject> => {
  const { ctx, namespace } = attributes
  let found: KubeObject | undefined
  for (
    let tries = 1;
    found === undefined && name === 'default' && tries < limits.defaultAccountTriesMax;
    tries++
  ) {
    await setTimeout(limits.defaultAccountRetryMs, undefined, { signal: ctx.caller.signal })
    found = await find(attributes, name)
  }
  if (found === undefined)
    throw refuse(
      attributes,
      `error looking up service account ${namespace}/${name}: serviceaccount ${goQuote(name)} not found`,
    )
  return found
}

const projectsToken = ({ volumes }: Fields): boolean =>
  ((volumes ?? []) as Fields[]).some(({ projected }) =>
    ((projected?.sources ?? []) as Fields[]).some((source) => source.serviceAccountToken),
  )

/** For ephemeral containers. */
const addition = {
  group: '',
  resource: 'pods',
  subresource: 'ephemeralcontainers',
  operations: ['UPDATE'],
} as const

const namedAccount = (attributes: WriteAttributes): KubeObject | Promise<KubeObject> => {
  const { object: pod, namespace } = attributes
  const { serviceAccountName } = pod.spec
  if (serviceAccountName) return accountOf(attributes, serviceAccountName)
  throw refuse(
    attributes,
    `no service account specified for pod ${namespace}/${pod.metadata.name ?? ''}`,
  )
}

const checkAddition = (attributes: WriteAttributes): void | Promise<void> => {
  const { object: pod } = attributes
  return whenKnown(namedAccount(attributes), (account) => {
    const foreign = limitsSecrets(account) ? foreignEphemeralSecret(pod, account) : undefined
    // Upstream returns the bare error, which becomes a 500.
    if (foreign !== undefined) throw failure({ code: 500, message: foreign })
  })
}

const checkNew = (attributes: AttributesOf<'CREATE'>): void | Promise<void> => {
  const pod = attributes.object
  const { spec } = pod
  if (isMirrorPod(pod)) {
    if (spec.serviceAccountName)
      throw refuse(attributes, 'a mirror pod may not reference service accounts')
    if (namesSecrets(pod)) throw refuse(attributes, 'a mirror pod may not reference secrets')
    if (projectsToken(spec))
      throw refuse(attributes, 'a mirror pod may not use ServiceAccountToken volume projections')
    return
  }
  return whenKnown(namedAccount(attributes), (account) => {
    const foreign = limitsSecrets(account) ? foreignSecret(pod, account) : undefined
    if (foreign !== undefined) throw refuse(attributes, foreign)
  })
}

export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  resources: ['pods'],
  // Refuses here, before the Pod is validated, and again in `validate`, in case others have changed it.
  mutate: (attributes) => {
    if (!isPodCreate(attributes)) return
    const pod = attributes.object
    if (isMirrorPod(pod)) return checkNew(attributes)
    const { spec } = pod
    if (!spec.serviceAccountName) {
      spec.serviceAccountName = 'default'
      spec.serviceAccount = 'default'
    }
    return whenKnown(accountOf(attributes, spec.serviceAccountName), (account) => {
      const mounts =
        spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
      if (mounts) mountToken(pod)
      if ((spec.imagePullSecrets ?? []).length === 0 && account.imagePullSecrets !== undefined)
        spec.imagePullSecrets = structuredClone(account.imagePullSecrets)
      return checkNew(attributes)
    })
  },
  validate: (attributes) => {
    if (isAbout(attributes, addition)) return checkAddition(attributes)
    if (isPodCreate(attributes)) return checkNew(attributes)
  },
}
