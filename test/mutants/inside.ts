/**
 * Runs test files again and again in this process, each time with another mistake in a module that they have loaded: V8
 * puts changed functions in the place of running ones. `tester.ts` starts it and asks.
 */
import { on } from 'node:events'
import { Session } from 'node:inspector/promises'
import { register } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'

/** No `code`: nothing is changed. Files are absolute paths. */
export interface Question {
  readonly tests: readonly string[]
  readonly timeoutMs: number
  readonly change?: { readonly file: string; readonly code: string; readonly original: string }
}

export interface Answer {
  /** `stuck`: V8 cannot change that here, or nobody has loaded it. */
  readonly fate: 'dies' | 'lives' | 'invalid' | 'stuck'
  /** What noticed it. */
  readonly by?: string
  /** This process is not what it was. */
  readonly isSpoilt: boolean
}

// Tests start the server as it is shipped, in one file. Here it is that of the modules, which are changed.
const serverOfModules = `export const resolve = (name, context, next) =>
  next(/^[.].*[/]create-server[.]js$/.test(name) ? '#server/create-server.js' : name, context)`
register(`data:text/javascript,${encodeURIComponent(serverOfModules)}`)

let begun: unknown[] = []
/** What a file has done behind its tests. tap is not told: it would end all tests then, whoever may still ask. */
let ends: (() => unknown)[] = []
const test = t.test.bind(t) as (...args: unknown[]) => unknown
Object.assign(t, {
  test: (...args: unknown[]) => {
    const result = test(...args)
    begun.push(result)
    return result
  },
  teardown: (end: () => unknown) => void ends.push(end),
})

const scripts = new Map<string, string>()
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params: { url, scriptId } }) => {
  if (url.startsWith('file:')) scripts.set(fileURLToPath(url), scriptId)
})
await session.post('Debugger.enable')

/** A module that is loaded under another address is another module, but has the same imports. */
let runs = 0
const passes = async (file: string): Promise<boolean> => {
  begun = []
  ends = []
  try {
    await import(`${pathToFileURL(file).href}?run=${runs++}`)
    const results = (await Promise.all(begun)) as ({ ok: boolean } | null)[]
    return results.length > 0 && results.every((one) => one?.ok === true)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

const triesMax = 3

/** A function that somebody is in, waiting, cannot be changed; one that nobody will go on with is collected. */
const edit = async (file: string, scriptSource: string) => {
  const scriptId = scripts.get(file)
  if (scriptId === undefined) return 'stuck'
  for (let tries = 0; tries < triesMax; tries++) {
    const result = await session.post('Debugger.setScriptSource', { scriptId, scriptSource })
    const { status } = result as { status?: string }
    if (status === 'Ok') return 'done'
    if (status === 'CompileError') return 'invalid'
    await session.post('HeapProfiler.collectGarbage')
  }
  return 'stuck'
}

const answer = async ({ tests, timeoutMs, change }: Question): Promise<Answer> => {
  if (change !== undefined) {
    const edited = await edit(change.file, change.code)
    if (edited !== 'done') return { fate: edited, isSpoilt: false }
  }
  const late = new AbortController()
  const end = sleep(timeoutMs, 'late' as const, { signal: late.signal }).catch(() => undefined)
  let by: string | undefined
  let isSpoilt = false
  for (const file of tests) {
    const outcome = await Promise.race([passes(file).catch(() => false), end])
    if (outcome === true) continue
    by = file
    isSpoilt = outcome === 'late'
    break
  }
  late.abort()
  if (change !== undefined && (await edit(change.file, change.original)) !== 'done') isSpoilt = true
  return by === undefined ? { fate: 'lives', isSpoilt } : { fate: 'dies', by, isSpoilt }
}

// What a mistake leaves behind is not the next one's.
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, () => {})
process.once('disconnect', () => process.exit())
// tap lets the process end when all tests that it knows of have ended, whoever may still ask.
setInterval(() => {}, 60_000)
const questions = on(process, 'message') as AsyncIterable<[Question]>
process.send!('ready')
for await (const [question] of questions) process.send!(await answer(question))
