/** Lives that somebody thought of, most of them about how Pods end. */
import { userImageNames } from '../kubelet/containerd.js'
import { container, exec, isDeaf, obeys, sidecar } from './containers.js'
import { type Body, type Life, life } from './life.js'

const main = (text: string, more: Body = {}): Body => container('main', text, more)
const preStop = (hook: Body): Body => ({ lifecycle: { preStop: hook } })
const postStart = (text: string): Body => ({ lifecycle: { postStart: exec(text) } })
const signal = (stopSignal: string): Body => ({ lifecycle: { stopSignal } })
const grace = (seconds: number): Body => ({ terminationGracePeriodSeconds: seconds })
const deadline = (seconds: number): Body => ({ activeDeadlineSeconds: seconds })
const often = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20 }
const live = (text: string, more = {}): Body => ({
  livenessProbe: { ...exec(text), ...often, ...more },
})
const ready = (probe: Body): Body => ({ readinessProbe: { ...often, ...probe } })
const startup = { startupProbe: { ...exec('false'), ...often, failureThreshold: 99 } }
const inits = (...initContainers: Body[]): Body => ({ initContainers })
const asks = (requests: Body, limits: Body = {}): Body => ({ resources: { requests, limits } })
const never = { restartPolicy: 'Never' }
const linux = { os: { name: 'linux' } }

const end = 'delete, until gone'
const heldEnd = 'delete, sleep 9, release, until gone'

const ends: Life[] = [
  life('plain', [main(obeys())]),
  life('deaf', [main(isDeaf)]),
  life('fails', [main(obeys(7))]),
  life('two', [main(obeys()), container('aux', isDeaf)]),
  life('slowly', [main(obeys(3, 'sleep 2;'))], grace(6)),
  life('no-grace', [main(isDeaf)], grace(0)),
  life('forced', [main(isDeaf)], {}, 'until ready, delete 0, until gone, sleep 4'),
  life('sooner', [main(isDeaf)], grace(30), 'until ready, delete, sleep 2, delete 3, until gone'),
  life('later', [main(isDeaf)], grace(4), 'until ready, delete, sleep 1, delete 30, until gone'),
  life('then-forced', [main(isDeaf)], grace(30), 'until ready, delete, sleep 2, delete 0, sleep 4'),
  life('held', [main(obeys())], {}, `hold, until ready, ${heldEnd}`),
  life('evicted', [main(obeys(0, 'sleep 1;'))], {}, 'until ready, evict, until gone'),
  life('signal', [main(`trap 'l USR1; exit 5' USR1; ${isDeaf}`, signal('SIGUSR1'))], linux),
  life('signal-deaf', [main(isDeaf, signal('SIGHUP'))], linux),
]

const hooks = {
  exec: exec('l pre; sleep 1; l pre end'),
  fails: exec('l pre; echo secret; exit 4'),
  hangs: exec('l pre; sleep 100'),
  'not-there': { exec: { command: ['/none'] } },
  sleep: { sleep: { seconds: 2 } },
  'sleep-long': { sleep: { seconds: 5 } },
  http: { httpGet: { port: 80, path: '/sh' } },
  'http-fails': { httpGet: { port: 81 } },
  'http-404': { httpGet: { port: 80, path: '/none' } },
}
const preStops: Life[] = [
  ...Object.entries(hooks).map(([name, hook]) =>
    life(`hook-${name}`, [main(`httpd -p 80 -h /bin; ${obeys()}`, preStop(hook))], grace(5)),
  ),
  life(
    'hook-sooner',
    [main(isDeaf, preStop(exec('l pre; sleep 20')))],
    grace(30),
    'until ready, delete, until said main pre, delete 3, until gone',
  ),
  life(
    'hook-sleep-sooner',
    [main(isDeaf, preStop({ sleep: { seconds: 20 } }))],
    grace(30),
    'until ready, delete, sleep 2, delete 3, until gone',
  ),
]

const slow = main(obeys(0, 'sleep 1;'))
const sidecars: Life[] = [
  life('sidecars', [slow], {
    ...grace(8),
    ...inits(sidecar('s1', obeys()), container('i', 'l start'), sidecar('s2', obeys())),
  }),
  life('sidecars-deaf', [slow], {
    ...grace(4),
    ...inits(sidecar('s1', isDeaf), sidecar('s2', isDeaf)),
  }),
  life('sidecars-of-deaf', [main(isDeaf)], inits(sidecar('s1', obeys()), sidecar('s2', obeys(3)))),
  life('sidecars-hooks', [slow], {
    ...grace(10),
    ...inits(
      sidecar('s1', obeys(), preStop(exec('l pre; sleep 1'))),
      sidecar('s2', obeys(), preStop({ sleep: { seconds: 3 } })),
    ),
  }),
  life(
    'sidecars-sooner',
    [main(isDeaf)],
    { ...grace(30), ...inits(sidecar('s1', isDeaf), sidecar('s2', obeys())) },
    'until ready, delete, sleep 2, delete 3, until gone',
  ),
  life(
    'sidecar-of-job',
    [main('l start; sleep 1')],
    { ...never, ...inits(sidecar('s1', obeys(0, 'sleep 2;'))) },
    `until Succeeded, sleep 1, ${end}`,
  ),
]

/** Deleted while it starts. */
const many = ['main', 'b', 'c', 'd', 'e'].map((name) => container(name, obeys()))
const pulls = { image: 'kubelevel.test/none:1', imagePullPolicy: 'Never' }
const needs = { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'x' } } }] }
const mounts = { volumeMounts: [{ name: 'x', mountPath: '/x' }] }
const noVolume = { volumes: [{ name: 'x', configMap: { name: 'none' } }] }
const initEnd = `until said i start, sleep 1, ${end}`
const hookEnd = `until said main post, ${end}`
const twoWith = (post: string): Body[] => [main(obeys(), postStart(post)), container('b', obeys())]
const starts: Life[] = [
  life('at-once', [main(obeys())], {}, end),
  life('at-once-held', [main(obeys())], {}, `hold, ${heldEnd}`),
  life('many', many, {}, `until said main start, ${end}`),
  life('many-held', many, {}, `hold, until said main start, ${heldEnd}`),
  life('many-forced', many, {}, 'until said main start, delete 0, until gone, sleep 6'),
  life('init', [main(obeys())], inits(container('i', obeys()), container('j', 'l start')), initEnd),
  life('init-deaf', [main(obeys())], inits(sidecar('s', obeys()), container('i', isDeaf)), initEnd),
  life('init-fails', [main(obeys())], inits(container('i', obeys(3))), initEnd),
  life(
    'init-ends',
    [main(obeys())],
    { ...grace(6), ...inits(container('i', obeys(0, 'sleep 2;'))) },
    `hold, until said i start, ${heldEnd}`,
  ),
  life('post', twoWith('l post; sleep 4; l post end'), grace(8), hookEnd),
  life(
    'post-held',
    twoWith('l post; sleep 4; l post end'),
    grace(8),
    `hold, until said main post, ${heldEnd}`,
  ),
  life('post-fails', twoWith('l post; sleep 2; exit 3'), grace(8), hookEnd),
  life('post-deaf', [main(isDeaf, postStart('l post; sleep 20'))], grace(4), hookEnd),
  life(
    'post-forced',
    twoWith('l post; sleep 4; l post end'),
    {},
    'until said main post, delete 0, until gone, sleep 8',
  ),
  life('start-up', [main(obeys(), startup)], {}, `until said main start, sleep 2, ${end}`),
  life(
    'sidecar-start-up',
    [main(obeys())],
    inits(sidecar('s', obeys(), startup)),
    `until said s start, sleep 2, ${end}`,
  ),
  life(
    'no-image',
    [main('', pulls)],
    {},
    `hold, until waiting ErrImageNeverPull, sleep 1, ${heldEnd}`,
  ),
  life('no-config', [main('', needs)], {}, `hold, sleep 4, ${heldEnd}`),
  life('no-volume', [main('', mounts)], noVolume, `hold, sleep 4, ${heldEnd}`),
  life(
    'no-command',
    [main('', { command: ['/none'] })],
    {},
    `until waiting CrashLoopBackOff, ${end}`,
  ),
]

const turnsBad = 'touch /tmp/bad; l pre; sleep 2'
const isGood = 'test ! -e /tmp/bad'
const badWhileEnding = { ...live(isGood), ...preStop(exec(turnsBad)) }
const probes: Life[] = [
  life(
    'live',
    [main(obeys(), live('exit 1', { failureThreshold: 2 }))],
    {},
    `until restarted, ${end}`,
  ),
  life('live-never', [main(obeys(3), live('exit 1'))], never, `until Failed, sleep 1, ${end}`),
  life(
    'live-grace',
    [main(isDeaf, live('exit 1', { terminationGracePeriodSeconds: 2 }))],
    grace(20),
    `until restarted, ${end.replace('delete', 'delete 2')}`,
  ),
  life('live-ending', [main(obeys(0, 'sleep 5;'), badWhileEnding)], grace(15)),
  life(
    'live-kills',
    [main(isDeaf, live('exit 1', { initialDelaySeconds: 2 }))],
    grace(9),
    'until said main TERM, sleep 1, delete 3, until gone',
  ),
  life(
    'live-kills-with-grace',
    [main(isDeaf, live('exit 1', { initialDelaySeconds: 2, terminationGracePeriodSeconds: 20 }))],
    grace(4),
    `until said main TERM, sleep 1, ${end}`,
  ),
  life(
    'ready-ending',
    [main(obeys(0, 'sleep 3;'), { ...ready(exec(isGood)), ...preStop(exec(turnsBad)) })],
    grace(12),
  ),
  ...Object.entries({
    'not-there': { exec: { command: ['/none'] } },
    slow: { ...exec('echo so; sleep 5'), timeoutSeconds: 1 },
    speaks: exec('echo out; echo err >&2; exit 4'),
    killed: exec('kill -9 $$'),
    port: { tcpSocket: { port: 81 } },
    http: { httpGet: { port: 81, path: '/x' } },
    grpc: { grpc: { port: 81 } },
  }).map(([name, probe]) =>
    life(`probe-${name}`, [main(obeys(), ready(probe))], {}, `until Running, sleep 4, ${end}`),
  ),
]

const failedEnd = `until Failed, sleep 1, ${end}`
const deadlines: Life[] = [
  life('deadline', [main(obeys())], deadline(3), failedEnd),
  life('deadline-deaf', [main(isDeaf)], { ...never, ...deadline(2) }, failedEnd),
  life('deadline-hook', [main(obeys(), preStop(exec('l pre; sleep 1')))], deadline(3), failedEnd),
  life(
    'deadline-init',
    [main('')],
    { ...deadline(3), ...inits(container('i', obeys())) },
    failedEnd,
  ),
  life(
    'deadline-ending',
    [main(isDeaf)],
    { ...grace(7), ...deadline(4) },
    `hold, until said main start, ${heldEnd}`,
  ),
  life(
    'deadline-deleted',
    [main(isDeaf)],
    { ...grace(20), ...deadline(3) },
    'until said main TERM, sleep 1, delete 3, until gone',
  ),
]

const debug = {
  spec: { ephemeralContainers: [container('debug', isDeaf)] },
  subresource: 'ephemeralcontainers',
}
const image = {
  spec: { containers: [{ name: 'main', image: userImageNames.web }] },
}
const more = {
  spec: { containers: [{ name: 'main', ...asks({ cpu: '20m' }, { cpu: '150m' }) }] },
  subresource: 'resize',
}
const users = { securityContext: { runAsUser: 1000, runAsGroup: 2000 } }
const groups = { securityContext: { fsGroup: 3000, supplementalGroups: [4000] } }
const small = asks({ cpu: '10m', memory: '20Mi' }, { cpu: '100m', memory: '60Mi' })
const changes: Life[] = [
  life('debug', [main(obeys())], {}, `until ready, patch debug, until said debug start, ${end}`, {
    debug,
  }),
  life('image', [main(obeys())], {}, `until ready, patch image, until restarted, sleep 1, ${end}`, {
    image,
  }),
  life('resize', [main(obeys(), small)], {}, `until ready, patch more, sleep 4, ${end}`, { more }),
  life(
    'resize-ending',
    [main(isDeaf, small)],
    grace(5),
    'until ready, delete, sleep 1, patch more, until gone',
    { more },
  ),
  life('requests', [main(obeys(), small), container('b', obeys(), asks({}, { memory: '50Mi' }))]),
  life('user', [main(obeys(), users)], groups),
]

const preStopped = main(obeys(), preStop(exec('l pre; sleep 3; l pre end')))
const restarts = ['SIGKILL', 'SIGTERM'].flatMap((signal): Life[] => {
  const name = signal.slice(3).toLowerCase()
  const again = `kubelet stops ${signal}, sleep 1, kubelet starts`
  const after = (words: string) => `until ready, delete, until said ${words}, ${again}, until gone`
  return [
    life(`${name}-runs`, [main(obeys())], {}, `until ready, ${again}, sleep 6, ${end}`),
    life(`${name}-ending`, [main(isDeaf)], grace(6), after('main TERM')),
    life(`${name}-hook`, [preStopped], grace(10), after('main pre')),
    life(
      `${name}-sooner`,
      [main(isDeaf)],
      grace(30),
      `until ready, delete, until said main TERM, kubelet stops ${signal}, delete 3, kubelet starts, until gone`,
    ),
    life(
      `${name}-deadline`,
      [main(isDeaf)],
      { ...grace(6), ...deadline(4) },
      `until said main TERM, ${again}, ${failedEnd}`,
    ),
    life(
      `${name}-live`,
      [main(isDeaf, live('exit 1', { initialDelaySeconds: 2, periodSeconds: 10 }))],
      grace(6),
      `until said main TERM, ${again}, sleep 8, delete 1, until gone`,
    ),
    life(
      `${name}-init`,
      [main(obeys())],
      { ...grace(6), ...inits(container('i', isDeaf)) },
      `until said i start, delete, until said i TERM, ${again}, until gone`,
    ),
    life(
      `${name}-sidecars`,
      [main(obeys(0, 'sleep 4;'))],
      { ...grace(10), ...inits(sidecar('s', obeys(0, 'sleep 2;'))) },
      after('main TERM'),
    ),
    life(
      `${name}-post`,
      [main(obeys(), postStart('l post; sleep 4; l post end'))],
      {},
      `until said main post, ${again}, sleep 8, ${end}`,
    ),
  ]
})

const under = (threshold: string): string =>
  `until ready, kubelet stops SIGTERM, kubelet starts --eviction-hard=${threshold}, until Failed, sleep 2, kubelet stops SIGTERM, kubelet starts, ${end}`
const evictions: Life[] = [
  life('memory', [main(obeys())], {}, under('memory.available<500Gi')),
  life('memory-deaf', [main(isDeaf, small)], grace(20), under('memory.available<500Gi')),
  life(
    'disk',
    [main(obeys(), preStop(exec('l pre; sleep 1')))],
    grace(20),
    under('nodefs.available<500Ti'),
  ),
]

const away: Life[] = [
  life('away', [main(obeys())], {}, `until ready, server away 8, sleep 2, ${end}`),
  life('away-ending', [main(isDeaf)], grace(6), 'until ready, delete, server away 10, until gone'),
  life(
    'away-ends',
    [main('l start; sleep 6; exit 3')],
    never,
    `until ready, server away 10, ${failedEnd}`,
  ),
]

export const written: readonly Life[] = [
  ...[...ends, ...preStops, ...sidecars, ...starts, ...probes, ...deadlines, ...changes],
  ...[...restarts, ...evictions, ...away],
]
