import { Session } from 'node:inspector/promises'
import { Script } from 'node:vm'

/** Whether V8 puts changed functions in the place of running ones here: that of Node 26 does so no longer. */
export const canChangeCode = async (): Promise<boolean> => {
  const session = new Session()
  session.connect()
  const filename = 'one.js'
  let scriptId = ''
  session.on('Debugger.scriptParsed', ({ params }) => {
    if (params.url === filename) scriptId = params.scriptId
  })
  await session.post('Debugger.enable')
  // A statement of its own: V8 takes no other change.
  const code = (result: number): string =>
    `(() => {\n  const one = () => {\n    return ${result}\n  }\n  return one\n})()`
  const one = new Script(code(1), { filename }).runInThisContext() as () => number
  const change = { scriptId, scriptSource: code(2) }
  await session.post('Debugger.setScriptSource', change).catch(() => undefined)
  session.disconnect()
  return one() === 2
}
