/** Containers as real processes: they start, log, end, are ended, and survive the kubelet that started them. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { noDns } from '#kubelet/environment/pod-dns.js'
import type { Pod } from '#kubelet/pod.js'
import { ProcessRuntime } from '#kubelet/runtime/process/process-runtime.js'
import { startShim } from '#kubelet/runtime/process/shim.js'
import type { Container, ContainerConfig, LogOptions } from '#kubelet/runtime.js'
import { makeSandboxConfig } from '#kubelet/sandbox-config.js'
import { containerSecurityOf } from '#kubelet/security.js'
import { eventually } from '../eventually.js'
import { storedMetadata } from '../stored-metadata.js'
import { sleepFor } from './node.js'

const pod = { uid: 'u-1', namespace: 'default', name: 'p' }
const podObject: Pod = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata(pod),
  spec: { containers: [] },
}
const podConfig = makeSandboxConfig(podObject, {
  attempt: 0,
  clusterDomain: 'cluster.local',
  dns: noDns.config,
})
const allOfLog: LogOptions = {
  follow: false,
  timestamps: false,
  tailLines: undefined,
  sinceTime: undefined,
  limitBytes: undefined,
}

const startRuntime = async (t: Test, root?: string) => {
  const folder = root ?? mkdtempSync(path.join(tmpdir(), 'kubelet-runtime-'))
  const runtime = new ProcessRuntime({
    root: folder,
    clock: systemClock,
    baseEnv: { PATH: process.env.PATH ?? '' },
    podCidr: 'none',
    nodeAddress: '192.0.2.1',
  })
  await runtime.open(() => {})
  let closed = false
  const close = async () => {
    closed = true
    await runtime.close()
  }
  t.teardown(async () => {
    if (closed) return
    for (const { id } of runtime.containers()) {
      await runtime.stopContainer(id, { graceMs: 0 }).done
    }
    await runtime.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const sandbox = runtime.sandboxes()[0] ?? (await runtime.runSandbox(podConfig))
  const create = (script: string, config: Partial<ContainerConfig> = {}) =>
    runtime.createContainer(sandbox, configOf(script, config), podConfig)
  const configOf = (script: string, config: Partial<ContainerConfig>): ContainerConfig => ({
    name: 'c',
    attempt: 0,
    image: 'none.example/c',
    imageId: '',
    command: ['/bin/sh', '-c', script],
    args: [],
    env: [],
    workingDir: undefined,
    mounts: [],
    stdin: false,
    tty: false,
    hash: 'h',
    resources: { cpuRequestMillis: 0, oomScore: 1000 },
    security: containerSecurityOf(podObject, { name: 'c' }, { user: undefined, seccompFolder: '' }),
    ...config,
  })
  const start = async (script: string, config: Partial<ContainerConfig> = {}) => {
    const id = await create(script, config)
    await runtime.startContainer(id)
    return id
  }
  const get = (id: string): Container => runtime.containers().find((c) => c.id === id)!
  const until = (holds: () => boolean) => eventually(String(holds), holds)
  const ended = async (id: string) => {
    await until(() => get(id).state === 'exited')
    return get(id)
  }
  const log = async (id: string, options: Partial<LogOptions> = {}) => {
    const parts: Buffer[] = []
    const never = new AbortController().signal
    for await (const part of runtime.logs(get(id), { ...allOfLog, ...options }, never)) {
      parts.push(part)
    }
    return Buffer.concat(parts).toString()
  }
  return { runtime, close, folder, create, start, get, until, ended, log }
}

const unlessGone = (link: string): string | undefined => {
  try {
    return readlinkSync(link)
  } catch {
    return undefined
  }
}

/** Processes on this host whose arguments hold the word. */
const alive = (word: string): number =>
  execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(word) && !line.startsWith('Z')).length

const hasChild = (pid: number, args: string): boolean =>
  execFileSync('ps', ['-eo', 'ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .some((line) => line.trim() === `${pid} ${args}`)

t.test('a container runs, writes its log and leaves its exit code', async (t) => {
  const { start, ended, log, runtime } = await startRuntime(t)
  const id = await start('echo "hello $NAME"; echo oops >&2; exit 3', {
    env: [
      ['NAME', 'world'],
      ['dotted.name', 'x'],
    ],
  })
  const container = await ended(id)
  t.equal(container.exitCode, 3)
  t.ok(container.startedAt >= container.createdAt - 1_000)
  t.ok(container.finishedAt >= container.startedAt)
  t.equal(await log(id), 'hello world\noops\n')
  t.equal(await log(id, { tailLines: 1 }), 'oops\n')
  t.equal(await log(id, { limitBytes: 5 }), 'hello')
  t.match(await log(id, { timestamps: true }), /^(\d{4}-\d\d-\d\dT[\d:.]{18}Z .*\n){2}$/)
  await runtime.removeContainer(id)
  t.same(runtime.containers(), [])
})

t.test('names that a shell cannot hold reach the process too', async (t) => {
  const { start, log, runtime } = await startRuntime(t)
  const word = `secret${process.pid}`
  const env = [
    ['dotted.name', 'a b'],
    ['--chdir', "it's $HOME"],
    ['dashed-name', word],
  ] as const
  const script = 'console.log(JSON.stringify(process.env)); setTimeout(() => {}, 60_000)'
  const id = await start('', { command: [process.execPath, '-e', script], env })
  await eventually('its output', async () => (await log(id)).endsWith('}\n'))
  const said = JSON.parse(await log(id))
  for (const [name, value] of env) t.equal(said[name], value)
  t.same(
    Object.keys(said).filter((name) => name.startsWith('KUBELEVEL_ODD')),
    [],
  )
  t.equal(alive(word), 0, 'no command line shows it')
  await runtime.stopContainer(id, { graceMs: 0 }).done
})

t.test('a followed log ends with its container and misses nothing', async (t) => {
  const { start, log } = await startRuntime(t)
  const id = await start('for i in 1 2 3; do echo $i; sleep 0.1; done')
  t.equal(await log(id, { follow: true }), '1\n2\n3\n')
})

t.test('a command that is not there is an error of the start with exit code 128', async (t) => {
  const { start, get, runtime } = await startRuntime(t)
  await t.rejects(start('', { command: ['no-such-command'] }), {
    reason: 'RunContainerError',
    message: 'exec: "no-such-command": executable file not found in $PATH',
  })
  const container = get(runtime.containers()[0]!.id)
  t.match(container, { state: 'exited', exitCode: 128, reason: 'StartError' })
})

t.test('what is too long to be started is an error of the start, too', async (t) => {
  const { start, get, runtime } = await startRuntime(t)
  const endless = 'x'.repeat(4 * 1024 * 1024)
  const error = { reason: 'RunContainerError', message: 'spawn E2BIG' }
  await t.rejects(start('', { args: [endless] }), error)
  const container = get(runtime.containers()[0]!.id)
  t.match(container, { state: 'exited', exitCode: 128, reason: 'StartError' })
})

t.test('of a container that cannot be made nothing is left', async (t) => {
  const { folder, create } = await startRuntime(t)
  const mounts = ['/a', '/a/b'].map((containerPath) => ({
    ...{ volume: 'v', hostPath: '/etc/passwd', containerPath, readOnly: true },
  }))
  await t.rejects(create('true', { mounts }))
  for (const name of ['work', 'state', 'logs'])
    t.same(readdirSync(path.join(folder, name)), [], name)
})

t.test('SIGTERM first, and a process that obeys it is never killed', async (t) => {
  const { start, ended, runtime, log, until } = await startRuntime(t)
  const id = await start('trap "echo bye; exit 7" TERM; echo up; while :; do sleep 0.05; done')
  await until(() => existsSync(runtime.containers()[0]!.logPath))
  await until(() => readFileSync(runtime.containers()[0]!.logPath, 'utf8') !== '')
  await runtime.stopContainer(id, { graceMs: 60_000 }).done
  t.equal((await ended(id)).exitCode, 7)
  t.equal(await log(id), 'up\nbye\n')
})

t.test('whoever ignores SIGTERM is killed after the grace, and its children with it', async (t) => {
  const { start, get, runtime, until } = await startRuntime(t)
  const mark = sleepFor(7351)
  const stubborn = `trap "" TERM; sh -c 'trap "" TERM; while :; do sleep ${mark}; done' & setsid sleep ${mark} & while :; do sleep ${mark}; done`
  const id = await start(stubborn)
  await until(() => alive(`sleep ${mark}`) >= 3)
  const before = Date.now()
  const stop = runtime.stopContainer(id, { graceMs: 60_000 })
  stop.shorten(300)
  stop.shorten(50_000)
  await stop.done
  const { exitCode, finishedAt } = get(id)
  t.equal(exitCode, 137)
  t.ok(finishedAt - before >= 290, `${finishedAt - before} ms of grace`)
  t.ok(finishedAt - before < 50_000, `${finishedAt - before} ms of grace`)
  t.equal(alive(mark), 0, 'nothing is left, not even what made a session of its own')
})

t.test('children that outlive the main process are ended with it', async (t) => {
  const { start, ended, runtime } = await startRuntime(t)
  const mark = sleepFor(7352)
  const id = await start(`sleep ${mark} & setsid sleep ${mark} & sleep 0.1; exit 0`)
  t.equal((await ended(id)).exitCode, 0)
  await runtime.stopContainer(id, { graceMs: 0 }).done
  t.equal(alive(mark), 0)
})

t.test('exec runs beside the container with its environment', async (t) => {
  const { start, runtime } = await startRuntime(t)
  const id = await start('exec sleep 7353', { env: [['GREETING', 'hi']] })
  const session = runtime.exec(id, ['sh', '-c', 'read x; echo "$GREETING $x"; exit 4'], {
    stdin: true,
    tty: false,
  })
  session.stdin!.end('there\n')
  let output = ''
  session.stdout!.on('data', (chunk) => (output += chunk))
  t.equal(await session.done, 4)
  t.equal(output, 'hi there\n')
})

t.test('attach reads what is written from now on and writes to stdin', async (t) => {
  const { start, runtime } = await startRuntime(t)
  const id = await start('while read x; do echo "got $x"; done', { stdin: true })
  const session = runtime.attach(id, { stdin: true, tty: false })
  session.stdin!.write('one\n')
  const [chunk] = await new Promise<Buffer[]>((resolve) =>
    session.stdout!.once('data', (data) => resolve([data])),
  )
  t.equal(String(chunk), 'got one\n')
  session.kill()
})

t.test('whoever stops to follow a container that says nothing leaves its log closed', async (t) => {
  const { runtime, start, get, until } = await startRuntime(t)
  const id = await start('while :; do sleep 0.05; done')
  const { logPath } = get(id)
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((fd) => unlessGone(`/proc/self/fd/${fd}`) === logPath)
  const session = runtime.attach(id, { stdin: false, tty: false })
  session.stdout!.resume()
  await until(isOpen)
  session.kill()
  await until(() => !isOpen())
})

t.test('an input for one client alone ends with it, and another says nothing', async (t) => {
  const { start, runtime } = await startRuntime(t)
  const text = 'while read x; do echo "got $x"; done; echo over; exec sleep 7356'
  const id = await start(text, { stdin: true, stdinOnce: true })
  const listener = runtime.attach(id, { stdin: false, tty: false })
  let output = ''
  listener.stdout!.on('data', (chunk) => (output += chunk))
  const session = runtime.attach(id, { stdin: true, tty: false })
  session.stdin!.end('one\n')
  await eventually('the end of the input', () => output.includes('over'))
  t.equal(output, 'got one\nover\n')
  t.equal(runtime.attach(id, { stdin: true, tty: false }).stdin, undefined)
})

t.test('an input for one client alone ends when that client is cut off', async (t) => {
  const { start, get, runtime } = await startRuntime(t)
  const id = await start('cat; exit 5', { stdin: true, stdinOnce: true })
  const session = runtime.attach(id, { stdin: true, tty: false })
  session.stdin!.write('one\n')
  await once(session.stdout!, 'data')
  session.kill()
  await eventually('the end', () => get(id).exitCode === 5)
})

t.test('a container with a terminal echoes, has its size, and gets its whole grace', async (t) => {
  const { start, get, runtime } = await startRuntime(t)
  const text = `trap 'sleep 3; echo over; exit 6' TERM; while read x; do eval "$x"; done`
  const id = await start(text, { stdin: true, tty: true })
  const session = runtime.attach(id, { stdin: true, tty: true })
  let output = ''
  session.stdout!.on('data', (chunk) => (output += chunk))
  session.resize(120, 40)
  // As a client's terminal sends it that hands on every key; stty says what the size is once it is set.
  // It is not to read again: a shell that is about to does not see a signal before it has read.
  const asks = 'until stty size | grep "40 120"; do sleep 0.1; done'
  session.stdin!.write(`${asks}; while :; do sleep 0.05; done\r`)
  await eventually('an answer', () => output.includes('40 120\r\n'))
  t.match(output, /^until stty/, 'the terminal has echoed it')
  await runtime.stopContainer(id, { graceMs: 60_000 }).done
  t.match(get(id), { state: 'exited', exitCode: 6 })
  session.kill()
})

t.test('another kubelet adopts what runs and learns how the rest ended', async (t) => {
  const first = await startRuntime(t)
  const running = await first.start('exec sleep 7354')
  const ending = await first.start('sleep 0.3; exit 9')
  const killed = await first.start('exec sleep 7355')
  await first.close()
  process.kill(first.get(killed).pid!, 'SIGKILL')
  // With no kubelet there their shims note how they ended.
  for (const id of [ending, killed])
    await eventually('a note of the end', () =>
      existsSync(path.join(first.folder, 'state', `${id}.exit`)),
    )

  const second = await startRuntime(t, first.folder)
  t.match(second.get(running), { state: 'running', pid: first.get(running).pid, attempt: 0 })
  t.match(second.get(ending), { state: 'exited', exitCode: 9 })
  t.match(second.get(killed), { state: 'exited', exitCode: 137 })
  const { env } = process
  const session = second.runtime.exec(running, ['sh', '-c', 'echo $KUBELEVEL_CONTAINER_ID'], {
    stdin: false,
    tty: false,
  })
  t.not(env.KUBELEVEL_CONTAINER_ID, running)
  let output = ''
  session.stdout!.on('data', (chunk) => (output += chunk))
  await session.done
  t.equal(output.trim(), running, 'exec still knows the container environment')
  await second.runtime.stopContainer(running, { graceMs: 60_000 }).done
  t.equal(second.get(running).exitCode, 143)
})

t.test('a shim that comes after its kubelet was killed and followed starts nothing', async (t) => {
  const first = await startRuntime(t)
  const id = await first.create(`exec sleep ${sleepFor(7356)}`)
  await first.close()
  const second = await startRuntime(t, first.folder)
  t.same(second.runtime.containers(), [], 'what was never started is forgotten')
  const late = startShim(
    {
      shim: path.join(first.folder, 'shim.sh'),
      state: path.join(first.folder, 'state', id),
      log: path.join(first.folder, 'logs', `${id}.log`),
      input: '/dev/null',
      command: ['sleep', sleepFor(7356)],
      env: process.env,
      workingDir: first.folder,
    },
    (error) => t.fail(error.message),
  )
  const ending = new Promise((resolve) => late?.once('exit', resolve))
  t.equal(await ending, 0)
  t.equal(alive(sleepFor(7356)), 0)
})

t.test('a container whose shim was killed ends as lost, not as running for ever', async (t) => {
  const { start, runtime, ended, folder } = await startRuntime(t)
  const id = await start('exec sleep 7356')
  const [shim] = readFileSync(path.join(folder, 'state', `${id}.pid`), 'utf8').split(' ')
  process.kill(Number(shim), 'SIGKILL')
  await runtime.stopContainer(id, { graceMs: 60_000 }).done
  t.match(await ended(id), { exitCode: 137, reason: 'ContainerStatusUnknown' })
})

t.test(
  'what a power cut left of the notes on containers does not keep a kubelet from starting',
  async (t) => {
    const { close, folder, start, ended } = await startRuntime(t)
    const id = await start('true')
    await ended(id)
    await close()
    const files = ['state/c-cut.json', 'sandboxes/s-cut.json'].map((name) =>
      path.join(folder, name),
    )
    for (const file of files) writeFileSync(file, '')
    const again = await startRuntime(t, folder)
    t.same(
      again.runtime.containers().map((c) => c.id),
      [id],
    )
    t.same(files.filter(existsSync), [])
  },
)

t.test('a container without a command pauses until it is told to end', async (t) => {
  const { start, runtime, get, until } = await startRuntime(t)
  const id = await start('', { command: [] })
  // Its trap is set before that; containers of others pause, too.
  await until(() => hasChild(get(id).pid!, 'sleep 2147483647'))
  t.equal(get(id).state, 'running')
  await runtime.stopContainer(id, { graceMs: 30_000 }).done
  t.equal(get(id).exitCode, 0)
})

t.test('a shim that ends before it has started anything leaves no container behind', async (t) => {
  const { runtime, close, folder, create, ended, get } = await startRuntime(t)
  const shim = path.join(folder, 'shim.sh')
  const whole = readFileSync(shim, 'utf8')
  // As if there were no process left for the command.
  writeFileSync(shim, whole.replace('"$@" <>"$input"', 'exit 2; "$@" <>"$input"'))
  const id = await create('exit 0')
  await runtime.startContainer(id)
  t.equal((await ended(id)).exitCode, 137)
  await runtime.stopContainer(id, { graceMs: 0 }).done

  t.comment('and the same if its kubelet is another one by then')
  writeFileSync(shim, whole.replace('"$@" <>"$input"', 'exec sleep 0; "$@" <>"$input"'))
  const other = await create('exit 0')
  void runtime.startContainer(other)
  await eventually('its claim', () => existsSync(path.join(folder, 'state', `${other}.run`)))
  await close()
  const next = await startRuntime(t, folder)
  t.equal((await next.ended(other)).exitCode, 137)
  t.equal(get(id).state, 'exited')
})

t.test('a container whose shim is on its way is known by the next kubelet, and ends', async (t) => {
  const word = sleepFor(8404)
  const { runtime, close, folder, create } = await startRuntime(t)
  const shim = path.join(folder, 'shim.sh')
  const go = path.join(folder, 'go')
  const waits = `until [ -e ${go} ]; do sleep 0.05; done; "$@" <>"$input"`
  writeFileSync(shim, readFileSync(shim, 'utf8').replace('"$@" <>"$input"', waits))
  const id = await create(`exec sleep ${word}`)
  const timers = t.capture(globalThis, 'setTimeout', globalThis.setTimeout)
  void runtime.startContainer(id).catch(() => {})
  await eventually('its claim', () => existsSync(path.join(folder, 'state', `${id}.run`)))
  await close()
  // The first one's patience is over: it is none of its business any more.
  for (const { args } of timers()) if (args[1]! > 10_000) args[0]()
  const opening = startRuntime(t, folder)
  writeFileSync(go, '')
  const next = await opening
  t.equal(next.get(id).state, 'running')
  await next.runtime.stopContainer(id, { graceMs: 0 }).done
  t.equal(alive(word), 0)
})
