/** OpenAPI v2 documents of several servers as one. */
import t from 'tap'
import { mergeDocuments, withPaths } from '#routes/openapi/merge.js'

const kind = (group: string) => ({ group, kind: 'DeleteOptions', version: 'v1' })
const gvks = (...groups: string[]) => ({ 'x-kubernetes-group-version-kind': groups.map(kind) })
const to = (name: string) => ({ $ref: `#/definitions/${name}` })

t.test(
  'paths and equal definitions of the first document stay, others get a name of their own',
  (t) => {
    const own = {
      paths: { '/a': to('Options') },
      definitions: { Options: { type: 'object', ...gvks('a') }, Meta: { type: 'object' } },
    }
    const other = {
      paths: { '/a': to('Hidden'), '/b': [to('Options'), to('Thing')] },
      definitions: {
        Options: { type: 'object', ...gvks('a', 'b') },
        Thing: { properties: { meta: to('Meta'), self: to('Thing') } },
        Meta: { type: 'string' },
        Hidden: {},
      },
      parameters: { p: { in: 'body', schema: to('Meta') } },
    }
    const third = { paths: { '/c': to('Meta') }, definitions: { Meta: { type: 'string' } } }
    t.same(mergeDocuments(own, [other, third]), {
      paths: { '/a': to('Options'), '/b': [to('Options'), to('Thing')], '/c': to('Meta_v2') },
      definitions: {
        Options: { type: 'object', ...gvks('a', 'b') },
        Meta: { type: 'object' },
        Thing: { properties: { meta: to('Meta_v2'), self: to('Thing') } },
        Meta_v2: { type: 'string' },
      },
      parameters: { p: { in: 'body', schema: to('Meta_v2') } },
    })
    t.equal(mergeDocuments(own, [{ paths: { '/a': {} } }, {}]), own)
    t.end()
  },
)

t.test('only definitions that other paths used go with them', (t) => {
  const document = {
    paths: { '/a': to('A'), '/b': to('B') },
    definitions: { A: to('Inner'), B: {}, Inner: {}, Unused: {} },
  }
  t.same(
    withPaths(document, (path) => path === '/a'),
    {
      paths: { '/a': to('A') },
      definitions: { A: to('Inner'), Inner: {}, Unused: {} },
    },
  )
  t.end()
})
