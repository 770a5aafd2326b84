/** What kubectl does to objects that exist: apply in both ways, edit, diff, set, rollout, label, patch, prune, replace. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { kubectlMissing, startProcessTree } from './process-tree.js'

const deployment = (image: string, replicas = 2) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 80 }] }] },
    },
  },
})
const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { part: 'of' } },
  data: { k: 'v' },
})

t.test('kubectl changes what there is', { skip: kubectlMissing }, async (t) => {
  const tree = await startProcessTree(t, 'serve', ['--storage=memory:'])
  const { k, kubectl } = tree
  const write = (name: string, ...objects: object[]) => {
    const file = path.join(tree.folder, `${name}.yaml`)
    writeFileSync(file, objects.map((object) => `---\n${JSON.stringify(object)}\n`).join(''))
    return file
  }
  const one = write('one', deployment('nginx:1'))
  const image = () => k('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}')
  const version = () => k('get deployment web -o jsonpath={.metadata.resourceVersion}')
  /** stdout and stderr of a call that ends with this code. */
  const ends = async (code: number, line: string): Promise<string> => {
    try {
      const said = await k(line)
      t.equal(0, code, line)
      return said
    } catch (error) {
      const {
        code: found,
        stdout,
        stderr,
      } = error as { code: number; stdout: string; stderr: string }
      t.equal(found, code, `${line}: ${stderr}`)
      return stdout + stderr
    }
  }

  await t.test('apply creates, and applying again changes nothing', async (t) => {
    t.match(await k(`apply -f ${one}`), 'deployment.apps/web created')
    const before = await version()
    t.match(await k(`apply -f ${one}`), 'deployment.apps/web unchanged')
    t.equal(await version(), before)
    t.match(await k(`apply -f ${write('two', deployment('nginx:2'))}`), 'configured')
    t.equal(await image(), 'nginx:2')
  })

  await t.test('edit, and diff against what was applied', async (t) => {
    const editor = path.join(tree.folder, 'editor.sh')
    writeFileSync(editor, '#!/bin/sh\nsed -i s/nginx:2/nginx:3/ "$1"\n', { mode: 0o700 })
    process.env.KUBE_EDITOR = editor
    t.teardown(() => delete process.env.KUBE_EDITOR)
    t.match(await k('edit deployment web'), 'edited')
    t.equal(await image(), 'nginx:3')
    const difference = await ends(1, `diff -f ${one}`)
    t.match(difference, /^-\s+- image: nginx:3$/m)
    t.match(difference, /^\+\s+- image: nginx:1$/m)
  })

  await t.test(
    'apply --server-side conflicts with who set the image, until it is forced',
    async (t) => {
      await k(`apply --server-side --force-conflicts -f ${one}`)
      t.match(await k('set image deployment/web web=nginx:4'), 'image updated')
      const refused = await ends(1, `apply --server-side -f ${one}`)
      t.match(refused, 'conflict with "kubectl-set" using apps/v1')
      t.match(refused, '.spec.template.spec.containers[name="web"].image')
      t.equal(await image(), 'nginx:4')
      t.match(await k(`apply --server-side --force-conflicts -f ${one}`), 'serverside-applied')
      t.equal(await image(), 'nginx:1')
      t.equal(await ends(0, `diff --server-side -f ${one}`), '')
    },
  )

  await t.test('rollout restart, label, scale and patches of each type', async (t) => {
    await k('rollout restart deployment web')
    t.match(
      await kubectl(
        'get',
        'deployment',
        'web',
        '-o',
        'jsonpath={.spec.template.metadata.annotations}',
      ),
      'kubectl.kubernetes.io/restartedAt',
    )
    t.match(await ends(1, 'label deployment web app=x'), '--overwrite is false')
    await k('label --overwrite deployment web app=x')
    await k('scale deployment web --replicas=3')
    const replicas = () => k('get deployment web -o jsonpath={.spec.replicas}')
    t.equal(await replicas(), '3')
    await kubectl('patch', 'deployment', 'web', '-p', '{"spec":{"replicas":4}}')
    t.equal(await replicas(), '4')
    await kubectl('patch', 'deployment', 'web', '--type=merge', '-p', '{"spec":{"replicas":5}}')
    t.equal(await replicas(), '5')
    const operation = '[{"op":"replace","path":"/spec/replicas","value":6}]'
    await kubectl('patch', 'deployment', 'web', '--type=json', '-p', operation)
    t.equal(await replicas(), '6')
    const side = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"b:1"}]}}}}'
    await kubectl('patch', 'deployment', 'web', '-p', side)
    t.equal(
      await k('get deployment web -o jsonpath={.spec.template.spec.containers[*].name}'),
      'side web',
    )
  })

  await t.test(
    'apply --prune removes what is no more in the files, replace --force starts anew',
    async (t) => {
      await k(`apply -f ${write('both', configMap('a'), configMap('b'))}`)
      const pruned = await k(
        `apply --prune -l part=of --prune-allowlist=core/v1/ConfigMap -f ${write('only', configMap('a'))}`,
      )
      t.match(pruned, 'configmap/b pruned')
      t.equal(await k('get configmaps -l part=of -o name'), 'configmap/a\n')
      const uid = () => k('get deployment web -o jsonpath={.metadata.uid}')
      const before = await uid()
      t.match(await k(`replace --force -f ${one}`), 'deployment.apps/web replaced')
      t.not(await uid(), before)
    },
  )
})
