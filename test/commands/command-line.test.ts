/** The command line as processes: real signals, real ports, real exit codes. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { resources } from '#client/resources.js'
import { machineAddress } from '#net/machine-address.js'
import { eventually } from '../eventually.js'
import { mainFile } from '../main-file.js'
import { call, clientOf, startServer } from '../server/start-server.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-cli-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const nodes = '/api/v1/nodes'

const run = (...args: string[]) =>
  spawnSync(process.execPath, [mainFile, ...args], {
    cwd: folder,
    // Not the cluster of whoever runs the tests: an empty one is none, as for kubectl.
    env: { ...process.env, KUBECONFIG: '' },
    timeout: 120_000,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })

const ready = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      said += chunk
      if (/ready .*\n/.test(said)) resolve(said)
    })
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)))
  })

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code)))

t.test('a config file holds flags by name, and its mistakes are told', async (t) => {
  const file = path.join(folder, 'kubelevel.yaml')
  const serveWith = (text: string, ...more: string[]) => {
    writeFileSync(file, text)
    return run('serve', `--config=${file}`, ...more)
  }
  const wrong = serveWith('secure-port: high\nnonsense: 1\n')
  t.equal(wrong.status, 2)
  t.match(wrong.stderr, /unknown flag: nonsense/)
  t.match(wrong.stderr, /secure-port must be integer/)
  t.equal(wrong.stderr.trim().split('\n').length, 1)
  const port = serveWith('secure-port: 70000\n')
  t.match(port.stderr, /must be a port/, 'values are checked as on the command line')
  const overruled = serveWith('secure-port: 0\nbind-address: there\n', '--bind-address=nowhere')
  t.match(overruled.stderr, /"there"/, 'each value is checked')
})

/** Of a server that nobody asks. */
const nowhere = JSON.stringify({
  'current-context': 'c',
  contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
  clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1' } }],
  users: [{ name: 'u', user: { token: 't' } }],
})

t.test('mistakes are one line and exit code 2', async (t) => {
  const mistakes: [string[], RegExp][] = [
    [['serve', '--nonsense'], /unknown flag: --nonsense/],
    [['serve', '--secure-port=x'], /--secure-port: must be a whole number/],
    [['serve', '--secure-port', '70000'], /must be a port/],
    [['serve', '--secure-port'], /flag needs an argument/],
    [['serve', '--bind-address=there'], /must be an IP address/],
    [['serve', '--version=v1.36.30'], /must be v1\.36\.3, and may have/],
    [['serve', '--version=v1.36.3-a..b'], /must be v1\.36\.3, and may have/],
    [['serve', '--authorization-mode=Magic'], /must be one of/],
    [
      [
        'serve',
        '--authorization-mode=RBAC',
        `--authorization-config=${fileURLToPath(import.meta.url)}`,
      ],
      /--authorization-config can not be specified when --authorization-mode or --authorization-webhook-\* flags are defined/,
    ],
    [['serve', '--disable-admission-plugins=Nope'], /no such admission plugin/],
    [['serve', '--enable-admission-plugins=NodeRestriction,Nope'], /no such admission plugin/],
    [
      [
        'serve',
        '--enable-admission-plugins=NodeRestriction,LimitRanger',
        '--disable-admission-plugins=LimitRanger',
      ],
      /\[LimitRanger\] in enable-admission-plugins and disable-admission-plugins overlapped/,
    ],
    [['serve', '--token-auth-file=/does/not/exist'], /there is no such file/],
    [['serve', '--storage=tape:'], /must be memory:/],
    [
      ['serve', '--storage=etcd:http://127.0.0.1:1', '--etcd-prefix=/other'],
      /--etcd-prefix goes with --etcd-servers only/,
    ],
    [['serve', '--request-timeout=soon'], /must be a duration/],
    [['serve', 'extra'], /unexpected argument/],
    [['serve', '--tls-cert-file', mainFile], /go together/],
    [['dance'], /unknown command/],
    [['backup'], /FILE is missing/],
    [['scheduler', '--nonsense'], /unknown flag: --nonsense/],
    [['scheduler', '--leader-elect=false', 'extra'], /unexpected argument "extra"/],
    [
      [
        'scheduler',
        '--kubeconfig=nowhere.yaml',
        '--leader-elect',
        '--leader-elect-retry-period=9s',
      ],
      /renew-deadline must be greater than 1\.2 times --leader-elect-retry-period/,
    ],
    [['scheduler', '--kubeconfig=/does/not/exist'], /--kubeconfig: there is no file/],
    [['controller-manager', '--node-monitor-period=5'], /must be a duration/],
    [['controller-manager', '--node-eviction-rate=fast'], /must be a number/],
    [['metrics-server', '--secure-port=70000'], /must be a port/],
    [['metrics-server', '--metric-resolution=0s'], /must be 1s or more/],
    [['timeline'], /POD is missing/],
    [['kubelet', '--kubeconfig=/does/not/exist'], /--kubeconfig: there is no file/],
    [['kubelet', '--kubeconfig=empty.yaml'], /--kubeconfig: kubeconfig has no context/],
    [['kubelet', '--node-lease-duration-seconds=0'], /must be positive/],
    [['kubelet', '--kubeconfig=nowhere.yaml', '--eviction-hard=memory'], /malformed pair/],
    ...['x', '10.1.0.0', '10.1.0.5/16', '10.1.0.0/31', 'fd00::/64'].map(
      (range): [string[], RegExp] => [
        ['kubelet', `--pod-cidr=${range}`],
        /--pod-cidr: must be none or a network/,
      ],
    ),
  ]
  writeFileSync(path.join(folder, 'empty.yaml'), '{}')
  writeFileSync(path.join(folder, 'nowhere.yaml'), nowhere)
  for (const [args, text] of mistakes) {
    const { status, stderr } = run(...args)
    t.equal(status, 2, args.join(' '))
    t.match(stderr, text)
    t.equal(stderr.trim().split('\n').length, 1, 'one line')
  }
})

t.test('what the system refuses is told in a line', async (t) => {
  const inUse = net.createServer().listen(0)
  t.teardown(() => void inUse.close())
  await once(inUse, 'listening')
  const { port } = inUse.address() as AddressInfo
  const refused: [string, RegExp][] = [
    ['--root-dir=nowhere.yaml', /kubelevel kubelet: EEXIST.*nowhere\.yaml/],
    [`--port=${port}`, /kubelevel kubelet: .*EADDRINUSE/],
  ]
  writeFileSync(path.join(folder, 'nowhere.yaml'), nowhere)
  for (const [flag, text] of refused) {
    const { status, stderr } = run('kubelet', '--kubeconfig=nowhere.yaml', flag)
    t.equal(status, 1, flag)
    t.match(stderr, text)
    t.equal(stderr.trim().split('\n').length, 1, 'one line')
  }
})

t.test('an empty KUBECONFIG is not the name of a file', (t) => {
  for (const command of ['scheduler', 'kubelet'])
    t.match(run(command).stderr, /there is no file \.kubelevel\/kubeconfig /, command)
  t.end()
})

t.test('each command explains itself', async (t) => {
  const commands = [...run('--help').stdout.matchAll(/^ {2}(\S+) {3}/gm)].map(([, name]) => name!)
  t.ok(commands.includes('serve'))
  for (const command of commands) {
    const { status, stdout } = run(command, '--help')
    t.equal(status, 0, command)
    t.match(stdout, `\n\nUsage: kubelevel ${command} `)
    t.match(stdout, /\n {2}-h, --help +this text\n/)
  }
})

t.test('serve: ready line, kubeconfig, upstream flags, graceful end, second start', async (t) => {
  const args = [
    'serve',
    '--secure-port=0',
    '--vmodule=a=1',
    '--profiling',
    '--allow-privileged',
    '--enable-admission-plugins=NodeRestriction,AlwaysAdmit',
    '--v=0',
  ]
  const child = spawn(process.execPath, [mainFile, ...args], { cwd: folder })
  t.teardown(() => child.kill('SIGKILL'))
  const said = await ready(child)
  t.match(said, /--vmodule has no meaning here and is ignored/)
  t.match(said, /--profiling has no meaning here and is ignored/)
  t.notMatch(said, /allow-privileged/)
  t.match(said, /AlwaysAdmit admission controller is deprecated/)
  t.notMatch(said, /NodeRestriction/)
  t.match(said, /ready https:\/\/127\.0\.0\.1:\d+ kubeconfig=\S+ in \d+ ms/)
  const kubeconfig = path.join(folder, '.kubelevel/kubeconfig')
  t.equal(statSync(kubeconfig).mode & 0o777, 0o600)
  t.equal(run('kubeconfig').stdout, readFileSync(kubeconfig, 'utf8'))
  // Pods and nodes that do not answer are told to who asks for them: they are no mistake of the server's.
  const server = {
    url: /https:\S+/.exec(said)![0],
    adminToken: readFileSync(path.join(folder, '.kubelevel/pki/admin-token'), 'utf8').trim(),
    caPem: readFileSync(path.join(folder, '.kubelevel/pki/ca.crt'), 'utf8'),
  }
  const [name, address] = ['away', machineAddress()]
  const status = { addresses: [{ type: 'InternalIP', address }] }
  let log = ''
  child.stderr.on('data', (chunk) => (log += chunk))
  await call(server, { method: 'POST', path: nodes, body: { metadata: { name }, status } })
  for (const path of [`${nodes}/away:1/proxy/`, `${nodes}/away/proxy/`])
    t.ok((await call(server, { path })).status >= 400, path)
  t.equal(log, '')
  const missing = run('timeline', 'nobody')
  t.equal(missing.status, 1)
  t.match(missing.stderr, /^kubelevel timeline: there is no Pod default\/nobody, nor .*\n$/)
  const taken = run('serve', '--secure-port=0')
  t.equal(taken.status, 1, 'one server to a data dir')
  t.equal(taken.stderr.trim().split('\n').length, 1, taken.stderr)
  child.kill('SIGTERM')
  t.equal(await ended(child), 0)
  const again = spawn(process.execPath, [mainFile, 'serve', '--secure-port=0'], { cwd: folder })
  t.teardown(() => again.kill('SIGKILL'))
  await ready(again)
  again.kill('SIGINT')
  t.equal(await ended(again), 0)
})

t.test(
  'a terminal that is closed ends what runs in it, as Ctrl-C does',
  { skip: process.platform !== 'linux' && 'script(1) takes other flags elsewhere' },
  async (t) => {
    const code = path.join(folder, 'code')
    const server = `'${process.execPath}' '${mainFile}' serve --secure-port=0 --storage=memory:`
    const shell = path.join(folder, 'shell.sh')
    // This shell hears of it, too, and stays to tell how the server ended; that of the terminal does not.
    const tell = `echo $? > '${code}.new'; mv '${code}.new' '${code}'`
    writeFileSync(shell, `trap : HUP; ${server}; ${tell}`)
    const terminal = spawn('script', ['-qefc', `sh '${shell}'; true`, '/dev/null'], { cwd: folder })
    t.teardown(() => terminal.kill('SIGKILL'))
    let said = ''
    terminal.stdout.on('data', (chunk) => (said += chunk))
    await eventually('the server', () => said.includes('Ctrl-C'))
    terminal.kill('SIGKILL')
    await eventually('the server has ended', () => existsSync(code))
    t.equal(readFileSync(code, 'utf8'), '0\n')
  },
)

t.test(
  'what `up` tells to try is there, wherever it was started',
  { skip: process.platform !== 'linux' && 'script(1) takes other flags elsewhere' },
  async (t) => {
    const cwd = path.join(folder, "a 'folder'")
    mkdirSync(cwd)
    const up = `'${process.execPath}' '${mainFile}' up --secure-port=0 --storage=memory:`
    const terminal = spawn('script', ['-qefc', up, '/dev/null'], { cwd })
    t.teardown(() => terminal.kill('SIGKILL'))
    let said = ''
    terminal.stdout.on('data', (chunk) => (said += chunk))
    await eventually('the server', () => said.includes('Ctrl-C'))
    const [, setting] = /(export KUBECONFIG=.*)\r/.exec(said)!
    const [, example] = /kubectl apply -f (.*)\r/.exec(said)!
    const test = `${setting}; test -e "$KUBECONFIG" && test -e ${example}`
    t.equal(spawnSync('sh', ['-c', test], { cwd }).status, 0, test)
    terminal.stdin.write('\x03')
    await ended(terminal)
    t.match(said, /Stopping\. Pods get up to 6 s to end/)
  },
)

t.test('a port that is in use is reported', async (t) => {
  const squatter = net.createServer().listen(0, '127.0.0.1')
  t.teardown(() => squatter.close())
  await new Promise((resolve) => squatter.once('listening', resolve))
  const { port } = squatter.address() as AddressInfo
  const { status, stderr } = run('serve', `--secure-port=${port}`, '--storage=memory:')
  t.equal(status, 1)
  t.match(stderr, new RegExp(`port ${port} on 127.0.0.1 is in use`))
})

t.test('a folder that cannot be made is reported', async (t) => {
  const file = path.join(folder, 'file')
  writeFileSync(file, '')
  const serve = (...flags: string[]) => run('serve', '--secure-port=0', ...flags)
  const inFile = serve(`--data-dir=${file}/data`)
  t.equal(inFile.status, 1)
  t.match(inFile.stderr, file)
  // Where nobody can make a folder, and the system says that what is there is not.
  if (process.platform !== 'linux') return
  const kubeconfig = path.join(folder, 'of-nobody')
  const named = { name: 'n', context: { cluster: 'n' }, cluster: { server: 'https://127.0.0.1:1' } }
  const [contexts, clusters] = [[named], [named]]
  writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'n', contexts, clusters }))
  for (const { status, stderr } of [
    serve('--data-dir=/proc/nowhere/below'),
    serve('--storage=level:/proc/nowhere', '--cert-dir=pki'),
    run('kubelet', `--kubeconfig=${kubeconfig}`, '--root-dir=/proc/nowhere'),
  ]) {
    t.equal(status, 1)
    t.match(stderr, "'/proc/nowhere'")
  }
})

t.test('the folder of the kubeconfig is made, too, where nothing else is kept in it', async (t) => {
  const flags = ['--storage=memory:', '--cert-dir=pki-alone', '--kubeconfig-out=alone/kubeconfig']
  const child = spawn(process.execPath, [mainFile, 'serve', '--secure-port=0', ...flags], {
    cwd: folder,
  })
  t.teardown(() => child.kill('SIGKILL'))
  await ready(child)
  t.equal(statSync(path.join(folder, 'alone')).mode & 0o777, 0o700)
})

t.test('kubeconfig without a server says what to do', async (t) => {
  const { status, stderr } = run('kubeconfig', '--data-dir=nowhere')
  t.equal(status, 1)
  t.match(stderr, /start a server with this data dir first/)
  t.notOk(existsSync(path.join(folder, 'nowhere')))
})

t.test('a command whose output nobody reads any more ends silently', async (t) => {
  const kubeconfig = path.join(folder, 'timeline-kubeconfig')
  const server = await startServer(t, {
    kubeconfigOut: kubeconfig,
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const client = await clientOf(t, server)
  await client.create(resources.pods, {
    metadata: { name: 'p', namespace: 'default', finalizers: ['x/y'] },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  })
  await client.delete(resources.pods, { namespace: 'default', name: 'p' })
  const reader = ['timeline', 'p', '-w', `--kubeconfig=${kubeconfig}`]
  const child = spawn(process.execPath, [mainFile, ...reader], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  child.stdout.destroy()
  t.equal(await ended(child), 128 + 13, 'as by SIGPIPE')
  t.equal(said, '')
})
