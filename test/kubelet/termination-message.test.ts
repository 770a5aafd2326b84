/** What is remembered of what containers have said at their end. */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import type { Pod } from '#kubelet/pod.js'
import type { Container } from '#kubelet/runtime.js'
import { makeTerminationFile, TerminationMessages } from '#kubelet/status/termination-message.js'

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
