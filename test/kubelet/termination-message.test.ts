/** What is remembered of what containers have said at their end. */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import type { Pod } from '#kubelet/pod.js'
import type { Container } from '#kubelet/runtime.js'
import { makeTerminationFile, TerminationMessages } from '#kubelet/status/termination-message.js'
import { collectGarbage } from '../collect-garbage.js'
import { eventually } from '../eventually.js'

t.test('of a log with very long lines only the end is held', async (t) => {
  const folder = t.testdir()
  const spec = { name: 'c', terminationMessagePolicy: 'FallbackToLogsOnError' }
  const pod = { metadata: { uid: 'u' }, spec: { containers: [spec] } } as unknown as Pod
  const isLittle = (): boolean => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers < 50 * 1024 * 1024
  }
  async function* logs() {
    for (let i = 0; i < 200; i++) yield Buffer.alloc(1024 * 1024, 'x')
    await eventually('little is held', isLittle)
    yield Buffer.from('the end')
  }
  const context = { runtime: { logs }, volumes: { podFolder: () => folder }, log: {} } as never
  const messages = new TerminationMessages(context)
  await makeTerminationFile(folder, spec as never, 0)
  const facts = { id: 'i', name: 'c', attempt: 0, state: 'exited', exitCode: 1, message: '' }
  const container = facts as Container
  await messages.read(pod, [container], () => undefined)
  t.match(messages.with(container), /^x+the end$/)
})

t.test('the words of a container are kept for as long as there is one', async (t) => {
  const folder = t.testdir()
  const spec = { name: 'c' }
  const pod = { metadata: { uid: 'u' }, spec: { containers: [spec] } } as unknown as Pod
  const context = { runtime: {}, volumes: { podFolder: () => folder }, log: {} } as never
  const messages = new TerminationMessages(context)
  const endOf = async (attempt: number): Promise<Container> => {
    const { hostPath } = await makeTerminationFile(folder, spec, attempt)
    writeFileSync(hostPath, `the ${attempt}. end`)
    return { id: `id-${attempt}`, name: 'c', attempt, state: 'exited', message: '' } as Container
  }
  const ends = [await endOf(0), await endOf(1), await endOf(2)]
  const said = () => ends.map((container) => messages.with(container))
  await messages.read(pod, ends.slice(0, 2), () => undefined)
  t.same(said(), ['the 0. end', 'the 1. end', ''])
  await messages.read(pod, ends.slice(1), () => undefined)
  t.same(said(), ['', 'the 1. end', 'the 2. end'])
})
