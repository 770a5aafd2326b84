/** The ports of the scheduler and the controller manager. */
import { once } from 'node:events'
import { request } from 'node:https'
import { createServer } from 'node:net'
import t from 'tap'
import { formatMicroTime } from '#api/clock.js'
import { resources } from '#client/resources.js'
import type { ProcessDeps, ProcessSpec } from '#client/run-process.js'
import { controllerManagerProcess } from '#controllers/main.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'

interface Got {
  code: number | undefined
  text: string
}

const get = (port: number, path: string, token?: string): Promise<Got> =>
  new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const options = { port, host: '127.0.0.1', path, headers, rejectUnauthorized: false }
    request({ ...options, agent: false }, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve({ code: answer.statusCode, text })
    })
      .on('error', reject)
      .end()
  })

const settled = (port: number, path: string, text: string): Promise<unknown> =>
  eventually(`${path} says ${text}`, async () => {
    const got = await get(port, path).catch(() => undefined)
    return got?.text.includes(text) || undefined
  })

const runWith =
  (spec: ProcessSpec, args: string[]) =>
  (deps: ProcessDeps): Promise<void> =>
    spec.run(deps, parseFlags(args, spec.flags))

t.test('the scheduler tells how it is, and to whom it may what it does', async (t) => {
  const port = await freePort()
  const args = ['--secure-port', String(port), '--leader-elect']
  const client = await startBeside(t, runWith(schedulerProcess, args), undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  await settled(port, '/readyz', 'ok')
  t.same(await get(port, '/readyz?verbose&exclude=shutdown'), {
    code: 200,
    text: '[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\nreadyz check passed\n',
  })
  t.same(await get(port, '/livez'), { code: 200, text: 'ok' })
  const { code, text } = await get(port, '/metrics')
  t.match(
    { code, status: JSON.parse(text) },
    {
      code: 403,
      status: {
        reason: 'Forbidden',
        message: 'forbidden: User "system:anonymous" cannot get path "/metrics"',
      },
    },
  )
  t.equal((await get(port, '/healthz/leaderElection')).code, 403, 'is no path for everybody')
  t.equal((await get(port, '/healthz', 'unknown')).code, 401)

  const { token } = client.config as { token: string }
  t.same(await get(port, '/healthz/leaderElection', token), { code: 200, text: 'ok' })
  t.equal((await get(port, '/statusz')).code, 403)
  t.match((await get(port, '/statusz', token)).text, /^\nkube-scheduler statusz\n/)
  t.match(
    (await get(port, '/statusz', token)).text,
    /\nPaths\W+\/flagz \/healthz \/livez \/metrics \/readyz\n$/,
  )
  t.match(
    (await get(port, '/flagz?', token)).text,
    /\nleader-elect: true\nleader-elect-lease-duration: 15s\n/,
  )
  for (const path of ['/statusz/', '/toString', '//', '/%zz'])
    t.equal((await get(port, path, token)).code, 404, path)
  t.equal((await get(port, '/healthz/toString', token)).code, 404)
  const make = (name: string, spec: object) =>
    client.create(resources.pods, {
      metadata: { name, namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
    })
  await make('nowhere', {})
  await make('gated', { schedulingGates: [{ name: 'example.com/gate' }] })
  const { host } = new URL(client.config.server)
  await eventually('the Pods are counted', async () => {
    const metrics = await get(port, '/metrics', token)
    const of = (series: string): number =>
      Number(
        metrics.text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length),
      )
    const pending = ['active', 'backoff', 'unschedulable'].map((queue) =>
      of(`scheduler_pending_pods{queue="${queue}"}`),
    )
    const attempts = 'profile="default-scheduler",result="unschedulable"'
    return (
      pending.reduce((sum, count) => sum + count, 0) === 1 &&
      of('scheduler_pending_pods{queue="gated"}') === 1 &&
      of(`scheduler_schedule_attempts_total{${attempts}}`) > 0 &&
      of('leader_election_master_status{name="kube-scheduler"}') === 1 &&
      of(`rest_client_requests_total{code="201",host="${host}",method="POST"}`) > 0
    )
  })
  const slis = await get(port, '/metrics/slis', token)
  t.match(slis.text, 'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 1')
})

t.test('whoever waits to lead is well, and tells more when it does', async (t) => {
  const port = await freePort()
  const args = ['--secure-port', String(port), '--leader-elect']
  const client = await startBeside(t, async (deps) => {
    await deps.client.create(resources.leases, {
      metadata: { name: 'kube-scheduler', namespace: 'kube-system' },
      spec: { holderIdentity: 'another', leaseDurationSeconds: 5, renewTime: formatMicroTime(0) },
    })
    await runWith(schedulerProcess, args)(deps)
  })
  await settled(port, '/readyz?verbose', '[+]leaderElection ok')
  t.equal((await get(port, '/readyz')).text, 'ok')
  const { token } = client.config as { token: string }
  const waiting = await get(port, '/metrics', token)
  t.match(waiting.text, 'leader_election_master_status{name="kube-scheduler"} 0')
  t.notMatch(waiting.text, 'scheduler_pending_pods{')
  await eventually('it leads', async () => {
    const { text } = await get(port, '/metrics', token)
    return (
      text.includes('leader_election_master_status{name="kube-scheduler"} 1') &&
      text.includes('scheduler_pending_pods{')
    )
  })
})

t.test(
  'the controller manager names the controllers that run, and tells what they do',
  async (t) => {
    const port = await freePort()
    const controllers = 'namespace-controller,serviceaccount-controller'
    const args = ['--secure-port', String(port), '--controllers', controllers]
    const client = await startBeside(t, runWith(controllerManagerProcess, args))
    await settled(port, '/healthz?verbose', '[+]serviceaccount-controller ok')
    t.same(await get(port, '/healthz?verbose'), {
      code: 200,
      text: '[+]namespace-controller ok\n[+]serviceaccount-controller ok\nhealthz check passed\n',
    })
    await client.create(resources.namespaces, { metadata: { name: 'short-lived' } })
    await client.delete(resources.namespaces, { name: 'short-lived' })
    const { token } = client.config as { token: string }
    await eventually('work is counted', async () => {
      const { text } = await get(port, '/metrics', token)
      return ['namespace', 'serviceaccount'].every((name) =>
        new RegExp(`^workqueue_adds_total{name="${name}"} [1-9]`, 'm').test(text),
      )
    })
  },
)

t.test('a port that is taken keeps a process from starting only if it was asked for', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const [required, wished] = [true, false].map((isGiven) => {
    const flags = parseFlags(isGiven ? ['--secure-port', String(port)] : [], schedulerProcess.flags)
    return isGiven ? flags : flags.withDefaults({ 'secure-port': String(port) })
  })
  await startBeside(t, async (deps) => {
    await t.rejects(schedulerProcess.run(deps, required!), { code: 'EADDRINUSE' })
  })
  const client = await startBeside(t, (deps) => schedulerProcess.run(deps, wished!), undefined, {
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const pod = await client.create(resources.pods, {
    metadata: { name: 'p', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  })
  await eventually('the Pod is told of', async () => {
    const { namespace, name } = pod.metadata
    const { status } = await client.get(resources.pods, { namespace: namespace!, name })
    return status.conditions?.[0]?.reason === 'Unschedulable' || undefined
  })
})
