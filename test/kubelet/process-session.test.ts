/** How commands beside a container are ended, and what of them is not. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { startSession } from '#kubelet/runtime/process/session.js'

const start = (script: string) => {
  const session = startSession(
    {
      containerId: 'c-1',
      command: ['sh', '-c', script],
      env: { PATH: process.env.PATH },
      workingDir: '/tmp',
    },
    { stdin: false, tty: false },
  )
  let text = ''
  session.stdout!.on('data', (chunk) => (text += chunk))
  return { ...session, said: () => text.trim() }
}
const stateOf = (pid: string): string => readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2]!

t.test('a client that hangs up when its command has ended ends nothing any more', async (t) => {
  const session = start('sleep 1000 >/dev/null 2>&1 & echo $!')
  t.equal(await session.done, 0)
  const left = session.said()
  t.teardown(() => process.kill(Number(left), 'SIGKILL'))
  const signals = t.capture(process, 'kill', process.kill)
  session.kill()
  t.same(signals(), [])
  t.not(stateOf(left), 'Z')
})

t.test(
  'a command that has become another user does not end the kubelet that may not end it',
  async (t) => {
    const session = start('sleep 1000')
    const refused = t.intercept(process, 'kill', {
      value: () => {
        throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
      },
    })
    session.kill()
    t.equal(refused().length > 0, true)
    refused.restore()
    session.kill()
    t.equal(await session.done, 137)
  },
)
