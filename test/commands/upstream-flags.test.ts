/**
 * Each flag of kube-apiserver, kube-scheduler and kube-controller-manager v1.36.3, as their --help tells it, is a flag of
 * ours by its name, of the same form and with the same default, or is accepted unread, with a warning unless it asks for
 * what is so anyway: never both, and none is made up for them. Where ours differs, it stands here.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { serveFlags } from '#commands/serve-flags.js'
import { ignoredFlags } from '#commands/upstream-flags.js'
import { controllerManagerProcess } from '#controllers/main.js'
import { asksForHelp, type Flag, type FlagType, helpText, parseFlags } from '#program/flags.js'
import { packageRoot } from '#program/package-root.js'
import { schedulerProcess } from '#scheduler/main.js'
import { readRecorded } from '../recorded.js'

type Recorded = Record<string, Record<string, [type: string, defaultValue?: string]>>
const recorded = readRecorded<Recorded>('commands/upstream-flags')

interface Program {
  readonly flags: readonly Flag[]
  readonly ignored: readonly Flag[]
  /** Of ours alone. */
  readonly own: readonly string[]
  /** Which upstream has otherwise, or has none. */
  readonly defaults: Readonly<Record<string, string>>
}

/** Every process has them; upstream's count of servers is deprecated, and its --help does not tell it. */
const everywhere = ['apiserver-count', 'help', 'v', 'version']

const programs: Readonly<Record<string, Program>> = {
  'kube-apiserver': {
    flags: serveFlags,
    ignored: ignoredFlags,
    own: ['config', 'data-dir', 'kubeconfig-out', 'storage'],
    defaults: {
      'authorization-mode': 'RBAC',
      'bind-address': '127.0.0.1',
      'kubelet-preferred-address-types': 'InternalIP,Hostname,InternalDNS,ExternalIP,ExternalDNS',
      'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
      'requestheader-group-headers': 'X-Remote-Group',
      'requestheader-uid-headers': 'X-Remote-Uid',
      'requestheader-username-headers': 'X-Remote-User',
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-cluster-ip-range': '10.0.0.0/24',
    },
  },
  'kube-scheduler': {
    flags: schedulerProcess.flags,
    ignored: schedulerProcess.ignored!,
    own: ['scheduler-name'],
    defaults: { 'bind-address': '127.0.0.1', 'leader-elect': 'false' },
  },
  'kube-controller-manager': {
    flags: controllerManagerProcess.flags,
    ignored: controllerManagerProcess.ignored!,
    own: [],
    defaults: { 'bind-address': '127.0.0.1', 'leader-elect': 'false' },
  },
}

/** How upstream's types are read here. */
const formOf = (type: string): readonly FlagType[] => {
  if (type === 'bool') return ['boolean']
  if (type === 'duration') return ['duration']
  if (/^u?int(32|64)?$/.test(type)) return ['integer']
  if (/^float(32)?$/.test(type)) return ['float']
  // Of several values each may be given alone, or with commas where no value has one.
  if (/^(strings|stringArray|namedCertKey|mapStringString|colonSeparated.*)$/.test(type))
    return ['strings', 'stringArray', 'string']
  // Some are lists, though their type does not say so.
  return ['string', 'strings']
}

/** Of what is nothing by default --help shows no default. */
const sameDefault = (form: FlagType, ours: string, theirs: string): boolean => {
  if (form === 'duration' && theirs === '') return ours === '0s'
  if (form === 'strings') return theirs === `[${ours}]` || theirs === ours
  if (form === 'integer' || form === 'float') return Number(ours) === Number(theirs || '0')
  return ours === theirs
}

for (const [program, { flags, ignored, own, defaults }] of Object.entries(programs)) {
  const theirs = recorded[program]!
  const taken = new Map(flags.map((flag) => [flag.name, flag]))
  const unread = new Map(ignored.map((flag) => [flag.name, flag]))

  t.test(`every flag of ${program} is read, or known to mean nothing`, async (t) => {
    for (const [name, [type]] of Object.entries(theirs)) {
      if (everywhere.includes(name) || name === 'kubeconfig') continue
      const flag = taken.get(name) ?? unread.get(name)
      t.ok(flag, `--${name} is known`)
      t.notOk(taken.has(name) && unread.has(name), `--${name} is read or not`)
      if (flag === undefined) continue
      // Of what is not read it only matters whether it takes a value.
      if (unread.has(name)) t.equal(flag.type === 'boolean', type === 'bool', `--${name} ${type}`)
      else t.ok(formOf(type).includes(flag.type), `--${name} ${type} is ${flag.type}`)
    }
  })

  t.test(`no flag is there that ${program} does not have, but ours`, async (t) => {
    const more = [...taken.keys(), ...unread.keys()].filter((name) => !(name in theirs))
    t.same(more.filter((name) => !everywhere.includes(name)).sort(), [...own])
  })

  t.test(`what is not given means the same as for ${program}`, async (t) => {
    for (const { name, type, default: ours } of flags) {
      if (own.includes(name) || everywhere.includes(name)) continue
      if (name in defaults) t.equal(ours ?? 'false', defaults[name], `--${name}`)
      else if (ours !== undefined)
        t.ok(
          sameDefault(type, ours, theirs[name]![1] ?? (type === 'boolean' ? 'false' : '')),
          `--${name}: ${ours}, upstream ${theirs[name]![1]}`,
        )
    }
  })

  t.test(`--help tells each flag that is read, and there is a warning of others`, async (t) => {
    t.ok(asksForHelp(['--help']))
    const text = helpText({ name: program, help: '', flags })
    for (const { name } of flags) t.match(text, new RegExp(`--${name} `))
    const warned = (args: string[]) => [...parseFlags(args, flags, { ignored }).ignored].sort()
    const given = ignored
      .filter(({ check }) => check === undefined)
      .map(({ name, type, default: always }) => {
        const asked = type === 'boolean' ? String(always !== 'true') : 'x'
        return [`--${name}`, asked] as const
      })
    t.same(warned(given.map((one) => one.join('='))), given.map(([flag]) => flag).sort())
    const so = ignored.filter((flag) => flag.default !== undefined)
    t.same(warned(so.map((flag) => `--${flag.name}=${flag.default}`)), [])
  })
}

/** Of kubeadm's, kind's and minikube's manifests, k3s and envtest: what this server does not read, or had not. */
t.test('what clusters are commonly started with is taken in silence, or refused', async (t) => {
  const parse = (...args: string[]) => parseFlags(args, serveFlags, { ignored: ignoredFlags })
  const { ignored } = parse(
    '--allow-privileged=true',
    '--enable-aggregator-routing=true',
    '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
    '--profiling=false',
    '--service-account-lookup=true',
    '--storage-backend=etcd3',
  )
  t.same(ignored, [])
  t.same(parse('--profiling', '--allow-privileged').ignored, ['--profiling'])
  t.throws(() => parse('--allow-privileged=false'), /privileged containers are always allowed/)
  t.throws(() => parse('--allow-privileged=perhaps'), /must be true or false/)
  t.throws(() => parse('--storage-backend=etcd2'), /allowed values: etcd3/)
  t.throws(() => parse('--service-account-signing-endpoint=/s'), /cannot be signed by others/)
})

t.test('docs/flags.md tells which are read and which mean nothing', async (t) => {
  const text = readFileSync(new URL('docs/flags.md', packageRoot), 'utf8')
  /** By the heading, the names of each list: what stands behind the last colon of its line. */
  const sections = new Map(
    text.split(/^## /m).map((section) => {
      const [title = '', body = ''] = section.split(/\n(.*)/s)
      const lists = body
        .split('\n')
        .filter((line) => /^(- |Read by |Mean nothing: |`--)/.test(line))
      const names = lists.map((line) =>
        [...line.replace(/^.*: /, '').matchAll(/`--([a-z0-9-]+)`/g)].map(([, name]) => name!),
      )
      return [title, { lists: names, all: names.flat() }]
    }),
  )
  const sorted = (names: readonly string[]) => [...names].sort()
  const namesOf = (flags: readonly Flag[]) =>
    sorted(flags.map(({ name }) => name).filter((name) => !everywhere.includes(name)))
  const { own } = programs['kube-apiserver']!
  t.same(sorted(sections.get('Ours')!.all), own)
  t.same(
    sorted([...sections.get("kube-apiserver's flags that are read")!.all, ...own]),
    namesOf(serveFlags),
  )
  const nothing = sections.get("kube-apiserver's flags that mean nothing")!.all
  t.same(sorted(nothing), namesOf(ignoredFlags))
  for (const program of ['kube-scheduler', 'kube-controller-manager']) {
    const [read, ignored] = sections.get(`${program}'s flags`)!.lists
    t.same(sorted(read!), namesOf(programs[program]!.flags), program)
    t.same(sorted(ignored!), namesOf(programs[program]!.ignored), program)
  }
})
