/**
 * Fills Secrets of type kubernetes.io/service-account-token with a token that does not expire, and removes those whose
 * account is gone; upstream's serviceaccount-token-controller. New accounts get none: kubelets ask for tokens.
 */

import {
  accountNameAnnotation,
  accountUidAnnotation,
  legacyIssuer,
  tokenSecretType,
} from '#api/legacy-tokens.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { serviceAccountUsername } from '#api/user-info.js'
import { isConflict, isNotFound } from '#client/errors.js'
import { keyOf } from '#client/object-store.js'
import { resources } from '#client/resources.js'
import { privateKeyOf } from '#net/token-keys.js'
import {
  type Controller,
  type ControllerContext,
  enqueueOwn,
  newQueue,
  queueRun,
  syncStored,
} from '../controller.js'
import { deleteObject } from '../delete-object.js'
import { readLive } from '../read-live.js'
import { updateObject } from '../update-object.js'

interface Secret extends NamespacedObject {
  type?: string
  data?: Record<string, string>
}

const claim = (name: string): string => `kubernetes.io/serviceaccount/${name}`

const accountKey = ({ metadata }: PersistedObject): string =>
  `${metadata.namespace}/${metadata.annotations?.[accountNameAnnotation] ?? ''}`
const isToken = (secret: Secret): boolean =>
  secret.type === tokenSecretType && Boolean(secret.metadata.annotations?.[accountNameAnnotation])

const signToken = async (
  keyPem: string,
  account: NamespacedObject,
  secret: Secret,
): Promise<string> => {
  const { SignJWT } = await import('jose')
  const { id: kid, key, algorithm: alg } = privateKeyOf(keyPem)
  const { namespace, name, uid } = account.metadata
  // In the order of their names, as Go writes them.
  return new SignJWT({
    iss: legacyIssuer,
    [claim('namespace')]: namespace,
    [claim('secret.name')]: secret.metadata.name,
    [claim('service-account.name')]: name,
    [claim('service-account.uid')]: uid,
  })
    .setProtectedHeader({ alg, kid })
    .setSubject(serviceAccountUsername(namespace, name))
    .sign(key)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

const fill = async (
  context: ControllerContext,
  account: NamespacedObject,
  secret: Secret,
): Promise<void> => {
  const { client, settings } = context
  const data: Record<string, string> = { ...secret.data }
  const ca = settings.rootCa ?? client.config.ca
  if (ca !== undefined) data['ca.crt'] = base64(ca)
  data.namespace ||= base64(secret.metadata.namespace)
  data.token ||= base64(await signToken(settings.serviceAccountKey!, account, secret))
  const isRight = Object.entries(data).every(([key, value]) => secret.data?.[key] === value)
  if (isRight) return
  const annotations = {
    ...secret.metadata.annotations,
    [accountNameAnnotation]: account.metadata.name,
    [accountUidAnnotation]: account.metadata.uid,
  }
  const metadata = { ...secret.metadata, annotations }
  await updateObject(context, resources.secrets, { ...secret, metadata, data })
}

/** The account that the Secret names, if it is the one that it was made for. */
const accountOf = async (
  context: ControllerContext,
  secret: Secret,
): Promise<NamespacedObject | undefined> => {
  const { namespace, annotations } = secret.metadata
  const uid = annotations?.[accountUidAnnotation]
  const known = context.informers
    .for<NamespacedObject>(resources.serviceAccounts)
    .store.get(accountKey(secret))
  if (known !== undefined && (!uid || known.metadata.uid === uid)) return known
  // A token must not be lost because the watch is behind.
  const name = annotations?.[accountNameAnnotation]
  return readLive(context, resources.serviceAccounts, { namespace, name, uid })
}

interface ServiceAccount extends NamespacedObject {
  secrets?: readonly { name?: string }[]
}

/** An account that lists a Secret would go on naming what is gone, or whatever has its name later. */
const removeReference = async (context: ControllerContext, secret: Secret): Promise<void> => {
  const { namespace, name: secretName, annotations } = secret.metadata
  const named = {
    namespace,
    name: annotations?.[accountNameAnnotation],
    uid: annotations?.[accountUidAnnotation],
  }
  const account = await readLive<ServiceAccount>(context, resources.serviceAccounts, named)
  const secrets = (account?.secrets ?? []).filter(({ name }) => name !== secretName)
  if (account === undefined || secrets.length === (account.secrets ?? []).length) return
  await updateObject(context, resources.serviceAccounts, { ...account, secrets })
}

export const serviceAccountTokenController: Controller = {
  name: 'serviceaccount-token-controller',
  serviceAccount: false,
  start(context) {
    const { informers, settings } = context
    if (settings.serviceAccountKey === undefined) return async () => {}
    const secrets = informers.for<Secret>(resources.secrets)
    const accounts = informers.for(resources.serviceAccounts)
    const queue = newQueue(context, 'serviceaccount_tokens_service')
    secrets.store.addIndex('account', (secret) => (isToken(secret) ? [accountKey(secret)] : []))
    enqueueOwn(secrets, queue)
    const gone = new Map<string, Secret>()
    secrets.handle({ onDelete: (secret) => isToken(secret) && gone.set(keyOf(secret), secret) })
    accounts.handle({
      onDelete(account) {
        for (const secret of secrets.store.byIndex('account', keyOf(account)))
          queue.add(keyOf(secret))
      },
    })
    const keep = syncStored(secrets, async (secret) => {
      if (!isToken(secret) || secret.metadata.deletionTimestamp !== undefined) return
      try {
        const account = await accountOf(context, secret)
        if (account !== undefined) return await fill(context, account, secret)
        await deleteObject(context, resources.secrets, secret)
      } catch (error) {
        // It changed meanwhile: the watch brings it again.
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
    })
    return queueRun(context, queue, async (key) => {
      const last = gone.get(key)
      if (secrets.store.get(key) === undefined && last !== undefined)
        await removeReference(context, last)
      // One of its name may have come and gone meanwhile.
      if (gone.get(key) === last) gone.delete(key)
      return keep(key)
    })
  },
}
