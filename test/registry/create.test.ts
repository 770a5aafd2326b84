/** Names that are made up, and what admission makes of an object. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { badRequest } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { limits } from '#limits'
import type { AdmissionAttributes } from '#registry/admission.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

const inDefault = { namespace: 'default' }

t.test('a name that is made up and taken is made up anew, eight times in all', async (t) => {
  const memory = openMemory({ clock: systemClock })
  /** How often somebody else is faster. */
  let faster = 0
  let mutate = (_object: KubeObject): void => {}
  let validate = (): void => {}
  let mutated = 0
  let names: string[] = []
  const admission = {
    mutate: ({ object }: { object: KubeObject | undefined }) => {
      mutated++
      mutate(object!)
    },
    validate: ({ object }: { object: KubeObject | undefined }) => {
      names.push(object!.metadata.name!)
      validate()
    },
  }
  const api = await startApiInMemory(() => admission, {
    ...memory,
    txn: async (compares, operations) => {
      if (faster > 0) {
        faster--
        await memory.txn(compares, operations)
      }
      return memory.txn(compares, operations)
    },
  })
  t.teardown(() => api.close())
  const create = async (metadata: object, fasterBy: number) => {
    faster = fasterBy
    mutated = 0
    names = []
    return api.create('v1/configmaps', { metadata }, inDefault)
  }
  const most = limits.generateNameAttemptsMax

  const made = await create({ generateName: 'x-' }, most - 1)
  t.equal(made.code, 201)
  t.equal(new Set(names).size, most)
  t.equal(made.body.metadata.name, names.at(-1))
  t.equal(mutated, 1)

  const refused = await create({ generateName: 'x-' }, most)
  t.equal(names.length, most)
  t.match(refused.body, {
    code: 409,
    reason: 'AlreadyExists',
    message: `configmaps "${names.at(-1)}" already exists, the server was not able to generate a unique name for the object`,
    details: { name: names.at(-1), retryAfterSeconds: 1 },
  })

  await create({ generateName: 'x-', name: 'given' }, 1)
  t.same(names, ['given'])
  mutate = ({ metadata }) => void (metadata.name = 'admitted')
  const admitted = await create({ generateName: 'x-' }, 1)
  t.same([admitted.code, names], [409, ['admitted']], 'no more than the one that admission gave')
  mutate = () => {}
  validate = () => {
    throw badRequest('not this one')
  }
  await create({ generateName: 'x-' }, 0)
  t.equal(names.length, 1, 'what is refused otherwise is not tried again')
})

t.test('what admission makes of an object is held to what holds for clients', async (t) => {
  let mutate = (_object: KubeObject): void => {}
  let seen: KubeObject | undefined
  let validated: KubeObject | undefined
  const admission = {
    mutate: ({ object }: { object: KubeObject | undefined }) => {
      seen = structuredClone(object!)
      mutate(object!)
    },
    validate: ({ object }: { object: KubeObject | undefined }) => {
      validated = structuredClone(object!)
    },
  }
  const api = await startApiInMemory(() => admission)
  t.teardown(() => api.close())
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
  const owners = [owner, owner]
  const warning = (when: string) => [
    new RegExp(`^.metadata.ownerReferences contains duplicate entries${when}; API`),
  ]
  const maps = 'v1/configmaps'

  const sent = { name: 'sent', uid: 'mine', creationTimestamp: null, selfLink: '/s' }
  const first = await api.create(
    maps,
    { metadata: { ...sent, ownerReferences: owners } },
    inDefault,
  )
  t.match(first.warnings, warning(''))
  const { metadata } = seen!
  t.same(metadata.ownerReferences, [owner])
  t.equal(metadata.namespace, 'default')
  for (const field of ['uid', 'creationTimestamp', 'selfLink']) t.notOk(field in metadata, field)

  const { resourceVersion } = first.body.metadata
  const unversioned = ({ metadata }: KubeObject) => {
    delete metadata.resourceVersion
    metadata.labels = { a: 'b' }
  }
  await api.replace(maps, 'sent', unversioned, inDefault)
  t.equal(seen!.metadata.resourceVersion, undefined)
  t.equal(validated!.metadata.resourceVersion, resourceVersion, 'is that of what it replaces')

  let made = 0
  const ways = {
    create: () => api.create(maps, { metadata: { name: `made-${made++}` } }, inDefault),
    'create by name, of a name to make up': () =>
      api.create(maps, { metadata: { generateName: 'made-' } }, inDefault),
    update: () => api.replace(maps, 'sent', ({ metadata }) => (metadata.labels = {}), inDefault),
    'create on update': async () => {
      const ctx = api.context(inDefault)
      const name = `made-${made++}`
      const write = (): KubeObject => ({
        ...{ apiVersion: 'v1', kind: 'ConfigMap' },
        metadata: { name, namespace: 'default' },
      })
      const updated = api.store('', 'configmaps').update(ctx, name, write, {
        forceAllowCreate: true,
      })
      return updated.then(
        ({ stored }) => ({ body: stored.object, warnings: ctx.warnings }),
        (error) => ({ body: error.status, warnings: ctx.warnings }),
      )
    },
  }
  for (const [way, write] of Object.entries(ways)) {
    mutate = ({ metadata }) => void (metadata.ownerReferences = structuredClone(owners))
    const { body, warnings } = await write()
    t.same(body.metadata.ownerReferences, [owner], way)
    t.match(warnings, warning(' after mutating admission happens'), way)
    mutate = ({ metadata }) => void delete metadata.namespace
    t.equal((await write()).body.metadata.namespace, 'default', way)
    mutate = ({ metadata }) => void (metadata.namespace = 'elsewhere')
    t.match((await write()).body, { code: 400, message: /does not match the namespace sent/ }, way)
  }
})

t.test(
  'a create by update forgets the version that its object names, but not in a dry run',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    const store = api.store('', 'configmaps')
    const put = (dryRun: boolean, resourceVersion: string) =>
      store.update(
        api.context({ ...inDefault, dryRun }),
        'a',
        () => ({
          ...{ apiVersion: 'v1', kind: 'ConfigMap' },
          metadata: { name: 'a', namespace: 'default', resourceVersion },
        }),
        { forceAllowCreate: true },
      )
    for (const dryRun of [true, false])
      await t.rejects(put(dryRun, 'x'), { code: 500, message: /parsing "x": invalid syntax/ })
    const shown = await put(true, '12345')
    t.same([shown.created, shown.stored.object.metadata.resourceVersion], [true, '12345'])
    const { created, stored } = await put(false, '12345')
    t.same([created, stored.object.metadata.resourceVersion], [true, String(stored.revision)])
    await t.rejects(put(false, '12345'), { code: 409, message: /has been modified/ })
    const none = store.update(api.context(inDefault), 'b', (current) => current!)
    await t.rejects(none, { code: 404, message: 'configmaps "b" not found' })
  },
)

t.test('of a subresource with a kind of its own admission sees and changes that', async (t) => {
  const seen: unknown[] = []
  const see = ({ operation, object, oldObject }: AdmissionAttributes) => {
    if (operation !== 'UPDATE') return
    seen.push([oldObject?.kind, oldObject?.text, object?.kind, object?.text])
    if (object?.text === 'sent') object.text = 'admitted'
  }
  const api = await startApiInMemory(() => ({ mutate: see, validate: see }))
  t.teardown(() => api.close())
  const data = (text: string) => ({ data: { text } })
  await api.create('v1/configmaps', { metadata: { name: 'a' }, ...data('stored') }, inDefault)
  const view = (object: KubeObject): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'View', metadata: { name: 'a' } },
    text: object.data.text,
  })
  const { stored } = await api.store('', 'configmaps').update(
    api.context(inDefault),
    'a',
    async (current, admit) => {
      const sent = { ...view(current!), text: 'sent' }
      await admit(sent, view(current!))
      return { ...current!, ...data(sent.text) }
    },
    { admittedAs: view },
  )
  t.same(stored.object.data, { text: 'admitted' })
  t.same(seen, [
    ['View', 'stored', 'View', 'sent'],
    ['View', 'stored', 'View', 'admitted'],
  ])
})
