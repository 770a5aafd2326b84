/** $(NAME) in commands, arguments and variables. */
import t from 'tap'
import { makeEnvironment } from '#kubelet/environment/environment.js'
import { expand, expandAll } from '#kubelet/expand.js'
import type { ObjectReader } from '#kubelet/object-reader.js'
import type { ContainerSpec, EnvVar } from '#kubelet/pod.js'
import type { Volumes } from '#kubelet/volumes/volumes.js'
import { storedMetadata } from '../stored-metadata.js'

const values = new Map([
  ['A', 'a'],
  ['B', '$(A)'],
])

t.test('names are replaced once, what is no name stays, and $$ is a dollar sign', async (t) => {
  const expanded = {
    '$(A)-$(A)': 'a-a',
    '$(B)': '$(A)',
    '$(C)': '$(C)',
    '$$(A)': '$(A)',
    '$$$(A)$$': '$a$',
    '$A $': '$A $',
    '$(A)$(A': 'a$(A',
    '$(A$$$(': '$(A$$(',
  }
  for (const [text, wanted] of Object.entries(expanded)) t.equal(expand(text, values), wanted, text)
})

t.test('a text may begin names all along and end none', async (t) => {
  const text = '$('.repeat(500_000)
  t.ok(expand(text, values) === text)
})

/** Each twice the one before. */
const doubled = (last: number): EnvVar[] =>
  Array.from({ length: last + 1 }, (_, i) => ({
    name: `A${i}`,
    value: i === 0 ? 'x'.repeat(1024) : `$(A${i - 1})$(A${i - 1})`,
  }))
const environmentOf = (env: EnvVar[]) => {
  const metadata = storedMetadata({ name: 'p', namespace: 'default', uid: 'u' })
  const pod = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { containers: [] } }
  const facts = { pod, podIps: [], nodeAddress: '', allocatable: {} }
  const map = { metadata, data: { long: 'y'.repeat(2 ** 20) } }
  const reader = { serviceVariables: () => [], configMap: async () => map }
  const sources = {
    reader: reader as unknown as ObjectReader,
    volumes: {} as Volumes,
  }
  return makeEnvironment(facts, { name: 'c', env } as ContainerSpec, sources)
}

t.test('no more is made of a Pod than a process could be started with', async (t) => {
  const env = await environmentOf(doubled(10))
  t.equal(env.get('A10')!.length, 2 ** 20)
  const tooLong = new Error('argument list too long')
  await t.rejects(environmentOf(doubled(60)), tooLong)
  const configMapKeyRef = { name: 'm', key: 'long' }
  const many = Array.from({ length: 10_000 }, (_, i) => ({
    ...{ name: `B${i}`, valueFrom: { configMapKeyRef } },
  }))
  await t.rejects(environmentOf(many), tooLong)
  t.equal(expandAll(['$(A10)$(A10)', '$(A10)'], env).join('').length, 3 * 2 ** 20)
  t.throws(() => expandAll(['$(A10)'.repeat(100_000)], env), tooLong)
  t.throws(() => expandAll(Array(100_000).fill('$(A10)'), env), tooLong)
})
