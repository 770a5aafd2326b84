import t from 'tap'
import { call, startServer } from '../server/start-server.js'

t.test(
  'a second default class is refused before it is seen whether its name is taken',
  async (t) => {
    const server = await startServer(t)
    const path = '/apis/scheduling.k8s.io/v1/priorityclasses'
    const send = (method: string, path: string, body: object) =>
      call(server, {
        ...{ method, path, body },
        headers: {
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        },
      })
    const create = (name: string) =>
      send('POST', path, { metadata: { name }, value: 5, globalDefault: true })
    t.equal((await create('a')).status, 201)
    for (const name of ['a', 'b'])
      t.match((await create(name)).body, {
        code: 403,
        message: `priorityclasses.scheduling.k8s.io "${name}" is forbidden: PriorityClass a is already marked as default. Only one default can exist`,
      })
    t.equal((await send('PATCH', `${path}/a`, { description: 'first' })).status, 200)
  },
)
