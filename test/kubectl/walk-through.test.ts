/** The README's walk-through with the real kubectl, a real process tree and Pods that really die. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { eventually } from '../eventually.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const examples = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../examples')

/** The example, but that web-0 ends when there is such a file, not after two seconds, and who does not want to die says when. */
const exampleUntil = (file: string): string =>
  readFileSync(path.join(examples, 'web.yaml'), 'utf8')
    .replace('; sleep 2', `; until [ -e ${file} ]; do sleep 0.1; done`)
    .replaceAll('SIGTERM ignored" TERM;', '$& echo deaf;')

/** Command lines of live processes that hold this word. */
const processesWith = (word: string): string[] =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(word))

t.test(
  'npm start, kubectl delete pod, and the Pod really dies',
  { skip: kubectlMissing },
  async (t) => {
    const tree = await startProcessTree(t)
    const { k, kubectl } = tree

    await eventually('a Ready node', async () =>
      /\bReady\b/.test(await k('get nodes --no-headers')),
    )
    const mayEnd = path.join(tree.folder, 'may-end')
    const manifest = path.join(tree.folder, 'web.yaml')
    writeFileSync(manifest, exampleUntil(mayEnd))
    await k(`apply -f ${manifest}`)
    await k(
      'wait --for=condition=Ready pod/web-0 pod/web-1 pod/web-2 pod/stubborn pod/stubborn-2 --timeout=120s',
    )

    const endpoints = async () =>
      JSON.parse(
        await k('get endpointslices -l kubernetes.io/service-name=web -o json'),
      ).items.flatMap((slice: { endpoints?: unknown[] }) => slice.endpoints ?? []) as {
        targetRef: { name: string }
        conditions: Record<string, boolean>
      }[]
    await eventually('three ready endpoints', async () => {
      const ready = (await endpoints()).filter((e) => e.conditions.ready)
      return ready.length === 3
    })

    await t.test('a graceful delete: endpoint away at once, preStop, SIGTERM, gone', async (t) => {
      const pod = tree.follow('get', 'pod', 'web-0', '-w', '-ojson')
      const slices = tree.follow('get', 'endpointslices', '-w', '-ojson')
      const endpoint = (ready: boolean, terminating: boolean) =>
        new RegExp(`"ready": ${ready},[^}]*"terminating": ${terminating}[^}]*}[^}]*"name": "web-0"`)
      await eventually(
        'the watches',
        () => pod().includes('"phase": "Running"') && endpoint(true, false).test(slices()),
      )
      const deleted = k('delete pod web-0')
      await eventually('an endpoint that ends', () => endpoint(false, true).test(slices()))
      writeFileSync(mayEnd, '')
      t.match(await deleted, /pod "web-0" deleted/)
      await t.rejects(k('get pod web-0'), /NotFound/)
      await eventually('the grace period of its specification', () =>
        /"deletionGracePeriodSeconds": 20,/.test(pod()),
      )
      await eventually(
        'no endpoint',
        async () => !(await endpoints()).some((e) => e.targetRef.name === 'web-0'),
      )
      await eventually('its event', async () =>
        /Killing.*Stopping container web/.test(
          await k('get events --field-selector involvedObject.name=web-0'),
        ),
      )
    })

    await t.test('a Pod that ignores SIGTERM is killed after its grace period', async (t) => {
      for (const name of ['stubborn', 'stubborn-2'])
        await eventually(`${name} ignores it`, async () => /deaf/.test(await k(`logs ${name}`)))
      const from = process.hrtime.bigint()
      await k('delete pod stubborn')
      const seconds = Number(process.hrtime.bigint() - from) / 1e9
      t.ok(seconds > 4.5, `not before its 5 seconds are over (${seconds.toFixed(1)} s)`)
    })

    await t.test(
      'a forced delete leaves the API at once, and the process still ends',
      async (t) => {
        await k('delete pod stubborn-2 --grace-period=0 --force')
        await t.rejects(k('get pod stubborn-2'), /NotFound/)
      },
    )

    await t.test('kubectl knows its way around a Pod', async (t) => {
      t.match(await k('get pod web-1 -o wide'), /web-1\s+1\/1\s+Running\s+0/)
      t.match(await k('describe pod web-1'), /Status:\s+Running[\s\S]*Events:/)
      await k('label pod web-1 tier=front')
      await k('annotate pod web-1 note=kept')
      t.match(await k('get pods -l tier=front -o name'), /pod\/web-1/)
      t.match(await k('explain pod.spec.terminationGracePeriodSeconds'), /<integer>/)
      await eventually('its words', async () => /running/.test(await k('logs web-2')))
      t.match(await kubectl('get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}'), /web-1/)
    })

    await t.test(
      'Ctrl-C ends every process, and the next start finds the objects again',
      async (t) => {
        t.equal(await tree.stop('SIGINT'), 0)
        t.same(processesWith(tree.folder), [], 'no process of the tree or of a Pod is left')
        await tree.start()
        t.match(await k('get pods -o name'), /pod\/web-1/)
        await eventually('web-1 running again', async () =>
          /web-1\s+1\/1\s+Running/.test(await k('get pod web-1 --no-headers')),
        )
        await k('delete pods --all')
        t.equal((await k('get pods -o name')).trim(), '')
      },
    )
  },
)
