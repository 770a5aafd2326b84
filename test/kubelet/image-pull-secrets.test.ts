/** Images that a registry gives only to those whose credentials a Secret has. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import { readNodeLogins } from '#kubelet/images/node-logins.js'
import { credentialsFor } from '#kubelet/images/registry-credentials.js'
import type { DataObject } from '#kubelet/object-reader.js'
import { eventually } from '../eventually.js'
import { storedMetadata } from '../stored-metadata.js'
import { containerdMissing, startContainerd } from './containerd.js'
import { startNode } from './node.js'
import { startPrivateRegistry } from './private-registry.js'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const configType = 'kubernetes.io/dockerconfigjson'
const config = (auths: object) => ({
  '.dockerconfigjson': base64(JSON.stringify({ auths })),
})
const secret = (data: Record<string, string>, type = configType): DataObject => ({
  kind: 'Secret',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 's', namespace: 'default', uid: 'u' }),
  type,
  data,
})
/** Each with its own location for a name. */
const named = (...locations: string[]) =>
  secret(config(Object.fromEntries(locations.map((one) => [one, { username: one }]))))
const usersFor = (image: string, ...secrets: DataObject[]) =>
  credentialsFor(image, secrets, []).map(({ auth }) => auth.username)

t.test('credentials are those of the places that an image lies in', (t) => {
  const all = named(
    'https://index.docker.io/v1/',
    'registry.example',
    'registry.example/team',
    'https://registry.example/v2/team/app',
    '*.example',
    'registry.example:5000',
    '*.registry.example',
    'r*s*ry.example',
    'bad url',
  )
  for (const [image, users] of Object.entries({
    'registry.example/team/app:1': [
      'https://registry.example/v2/team/app',
      'registry.example/team',
      'registry.example',
      'r*s*ry.example',
      '*.example',
    ],
    [`registry.example/other@sha256:${'0'.repeat(64)}`]: [
      'registry.example',
      'r*s*ry.example',
      '*.example',
    ],
    'registry.example:5000/team/app': ['registry.example:5000'],
    'eu.registry.example/app': ['*.registry.example'],
    'busybox:1': ['https://index.docker.io/v1/'],
    'docker.io/team/app': ['https://index.docker.io/v1/'],
    'other.test/app': [],
  }))
    t.same(usersFor(image, all), users, image)
  t.end()
})

t.test(
  'credentials are read from both types of Secrets, in their order, and from no others',
  (t) => {
    const auth = base64('a:b:c')
    const old = secret(
      { '.dockercfg': base64(JSON.stringify({ 'r.test': { auth, username: 'x' } })) },
      'kubernetes.io/dockercfg',
    )
    const other = secret(config({ 'r.test': { username: 'no' } }), 'Opaque')
    const own = secret(config({ 'r.test': { username: 'u', password: 'p' }, 'q.test': null }))
    t.same(
      credentialsFor('r.test/app', [other, own, old], []).map(({ auth }) => auth),
      [
        { username: 'u', password: 'p' },
        { username: 'a', password: 'b:c' },
      ],
    )
    for (const auths of [5, [], { 'r.test': 5 }, { 'r.test': { username: 5 } }] as object[])
      t.throws(() => credentialsFor('r.test/app', [secret(config(auths))], []), /was expected/)
    const colonless = secret(config({ 'r.test': { auth: base64('ab') } }))
    t.throws(() => credentialsFor('r.test/app', [colonless], []), /unable to parse auth field/)
    t.throws(() => credentialsFor('r.test/app', [secret({ '.dockerconfigjson': base64('{') })], []))
    t.end()
  },
)

t.test(
  'what the node knows comes after the Secrets, from the first file that can be read',
  async (t) => {
    const auths = (username: string) => ({ 'r.test': { username, password: 'p' } })
    const json = (username: string) => JSON.stringify({ auths: auths(username) })
    const home = path.join(t.testdirName, 'home')
    const root = t.testdir({ home: { '.dockercfg': JSON.stringify(auths('old')) } })
    const users = async () =>
      credentialsFor('r.test/app', [named('r.test')], await readNodeLogins(root, home)).map(
        ({ auth, secret }) => [auth.username, secret?.name],
      )
    t.same(await users(), [
      ['r.test', 's'],
      ['old', undefined],
    ])
    mkdirSync(path.join(home, '.docker'))
    for (const [file, text, expected] of [
      ['home/.docker/config.json', json('home'), 'home'],
      ['config.json', '{"auths":{"r.test":{"auth":"?"}}}', 'home'],
      ['config.json', json('root'), 'root'],
    ] as const) {
      writeFileSync(path.join(root, file), text)
      t.same(
        await users(),
        [
          ['r.test', 's'],
          [expected, undefined],
        ],
        file,
      )
    }
  },
)

t.test(
  'a private image runs for Pods that have its password',
  { skip: containerdMissing },
  async (t) => {
    const who = { username: 'me', password: 'secret' }
    const image = await startPrivateRegistry(t, who)
    const containerd = await startContainerd()
    t.teardown(() => containerd.stop())
    const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
    const kubelet = await node.startProcess()
    const registry = image.slice(0, image.indexOf('/'))
    for (const [name, password] of Object.entries({ old: 'changed', now: who.password })) {
      const object = {
        ...secret(config({ [registry]: { ...who, password } })),
        metadata: { name, namespace: 'default' },
      }
      await node.client.create(resources.secrets, object, { namespace: 'default' })
    }
    const run = (name: string, ...secrets: string[]) =>
      node.run(name, { image }, { imagePullSecrets: secrets.map((one) => ({ name: one })) })
    await run('without')
    await run('missing', 'none', 'old')
    for (const name of ['without', 'missing']) {
      const { status } = await node.until(name, (one) =>
        /ImagePull/.test(one.status?.containerStatuses?.[0]?.state.waiting?.reason ?? ''),
      )
      t.match(status!.containerStatuses![0]!.state.waiting!.message, /401 Unauthorized/)
    }
    await eventually('the Event', async () =>
      (await node.events('missing')).some(
        ({ reason, message }) =>
          reason === 'FailedToRetrieveImagePullSecret' && message.includes('secrets (none);'),
      ),
    )
    await run('with', 'old', 'now')
    await node.until('with', ({ status }) => status?.phase === 'Running')
    // That the image is there now helps nobody else: who may not pull it is not told that it is.
    const runPresent = (name: string, imagePullPolicy: string, ...secrets: string[]) =>
      node.run(
        name,
        { image, imagePullPolicy },
        { imagePullSecrets: secrets.map((one) => ({ name: one })) },
      )
    const killed = once(kubelet, 'exit')
    kubelet.kill('SIGKILL')
    await killed
    await node.startProcess()
    await runPresent('guest', 'IfNotPresent')
    await runPresent('asking', 'Never', 'old')
    for (const [name, reason] of Object.entries({
      guest: 'ErrImagePull',
      asking: 'ErrImageNeverPull',
    }))
      await node.until(
        name,
        ({ status }) => status?.containerStatuses?.[0]?.state.waiting?.reason === reason,
      )
    await runPresent('friend', 'Never', 'now')
    await node.until('friend', ({ status }) => status?.phase === 'Running')
    writeFileSync(
      path.join(node.folder, 'kubelet', 'config.json'),
      JSON.stringify({ auths: { [registry]: who } }),
    )
    await runPresent('anybody', 'Always')
    await node.until('anybody', ({ status }) => status?.phase === 'Running')
    await runPresent('stranger', 'Never')
    await node.until('stranger', ({ status }) => status?.phase === 'Running')
    await eventually('the Node tells of the image', async () =>
      (await node.client.get(resources.nodes, { name: 'node-1' })).status.images?.some(
        ({ names }: { names: string[] }) => names.includes(image),
      ),
    )
    const all = ['without', 'missing', 'with', 'guest', 'asking', 'friend', 'anybody', 'stranger']
    for (const name of all) {
      await node.delete(name, 1)
      await node.gone(name)
    }
  },
)
