/** Every generator and command of the real kubectl, against the whole process tree. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'
import { certificateRequest } from './certificate-request.js'
import { kubectlMissing, startProcessTree } from './process-tree.js'

/** A call, as words or as a line without quotes, and what its output must match. */
type Row = readonly [line: string | readonly string[], said: RegExp]

const generators: readonly Row[] = [
  ['create namespace team', /^namespace\/team created/],
  ['create configmap cm --from-literal=a=b', /^configmap\/cm created/],
  ['create secret generic sec --from-literal=p=w', /^secret\/sec created/],
  [
    'create secret docker-registry reg --docker-server=r.example --docker-username=u --docker-password=p',
    /^secret\/reg created/,
  ],
  ['create serviceaccount robot', /^serviceaccount\/robot created/],
  ['create token robot --duration=10m', /^[\w-]+\.[\w-]+\.[\w-]+/],
  ['create role reader --verb=get,list --resource=pods,pods/log', /^role\S+\/reader created/],
  [
    'create rolebinding rb --role=reader --serviceaccount=default:robot',
    /^rolebinding\S+\/rb created/,
  ],
  ['create clusterrole cr --verb=get --non-resource-url=/metrics', /^clusterrole\S+\/cr created/],
  [
    'create clusterrolebinding crb --clusterrole=view --user=jane',
    /^clusterrolebinding\S+\/crb created/,
  ],
  ['create quota q --hard=pods=50', /^resourcequota\/q created/],
  ['create priorityclass high --value=1000', /^priorityclass\S+\/high created/],
  [
    'create poddisruptionbudget pdb --selector=app=web --min-available=1',
    /^poddisruptionbudget\.policy\/pdb created/,
  ],
  ['create ingress ing --rule=foo.com/bar*=svc1:8080,tls=cert', /^ingress\S+\/ing created/],
  ['create service clusterip sc --tcp=80:8080', /^service\/sc created/],
  ['create service nodeport sn --tcp=80', /^service\/sn created/],
  ['create service loadbalancer sl --tcp=80', /^service\/sl created/],
  ['create service externalname se --external-name=x.example', /^service\/se created/],
  [
    'create deployment web --image=none.example/web --replicas=2 --port=80 -- sleep 1000',
    /^deployment\.apps\/web created/,
  ],
  ['create job once --image=none.example/j -- true', /^job\.batch\/once created/],
  [
    ['create', 'cronjob', 'cj', '--image=none.example/c', '--schedule=0 0 1 1 *', '--', 'true'],
    /^cronjob\.batch\/cj created/,
  ],
  ['create job from-cj --from=cronjob/cj', /^job\.batch\/from-cj created/],
  [
    'run one --image=none.example/one --labels=app=one --restart=Never --command -- sleep 1000',
    /^pod\/one created/,
  ],
]

const changes: readonly Row[] = [
  ['wait --for=condition=Ready pod/one --timeout=120s', /condition met/],
  ['rollout status deployment/web --timeout=120s', /successfully rolled out/],
  ['set image deployment/web web=none.example/web:2', /image updated/],
  ['set env deployment/web A=b', /env updated/],
  ['set resources deployment/web --limits=memory=64Mi', /resource requirements updated/],
  ['set serviceaccount deployment/web robot', /serviceaccount updated/],
  ['set selector service sc app=web', /selector updated/],
  ['set subject rolebinding rb --user=jane', /subjects updated/],
  ['rollout status deployment/web --timeout=120s', /successfully rolled out/],
  // Changes that follow quickly upon one another may be one revision.
  ['rollout history deployment/web', /REVISION[\s\S]*\n[2-5] /],
  ['rollout pause deployment/web', /paused/],
  ['rollout resume deployment/web', /resumed/],
  ['rollout restart deployment/web', /restarted/],
  ['rollout status deployment/web --timeout=120s', /successfully rolled out/],
  ['rollout undo deployment/web', /rolled back/],
  ['rollout status deployment/web --timeout=120s', /successfully rolled out/],
  ['scale deployment/web --current-replicas=2 --replicas=3', /scaled/],
  ['wait --for=jsonpath={.status.readyReplicas}=3 deployment/web --timeout=120s', /condition met/],
  ['autoscale deployment/web --min=1 --max=5 --cpu-percent=80', /autoscaled/],
  ['expose deployment/web --port=80 --target-port=8080 --name=shown', /service\/shown exposed/],
  ['label pod one tier=front', /labeled/],
  ['annotate pod one note=kept', /annotated/],
  ['wait --for=condition=Complete job/once --timeout=120s', /condition met/],
]

const questions: readonly Row[] = [
  ['get deployment web -o jsonpath={.spec.replicas}', /^3$/],
  ['get deployment web -o custom-columns=N:.metadata.name,R:.spec.replicas', /^N +R\nweb +3\n$/],
  ['get deployment web -o go-template={{.metadata.name}}', /^web$/],
  ['get deployment web -o name', /^deployment\.apps\/web\n$/],
  ['get deployment web -o yaml', /^apiVersion: apps\/v1\nkind: Deployment\n/],
  ['get deployment web -o wide', /CONTAINERS +IMAGES +SELECTOR\nweb +3\/3 +3 +3 /],
  ['get pods -l app=web --show-labels', /LABELS\n(web-\S+ +1\/1 +Running .*app=web.*\n){3}$/],
  ['get pods -L app --field-selector=metadata.name=one', /APP\none +1\/1 .* one\n$/],
  ['get pods --sort-by=.metadata.name -o name', /^pod\/from-cj-\S+\npod\/once/],
  ['get all', /pod\/one[\s\S]*service\/sc[\s\S]*deployment\.apps\/web[\s\S]*job\.batch\/once/],
  ['get --raw /healthz', /^ok$/],
  ['logs job/once', /^$/],
  ['exec one -- echo inside', /^inside\n$/],
  ['events --for=pod/one', /(?=[\s\S]*Scheduled)(?=[\s\S]*Started)/],
  ['get events --field-selector=involvedObject.name=one', /Normal +Started +pod\/one/],
  ['describe node', /Non-terminated Pods:[\s\S]* one [\s\S]*Allocated resources:/],
  ['auth whoami', /system:masters/],
  ['auth can-i create pods', /^yes/],
  ['auth can-i list pods --as jane', /^yes/],
  ['auth can-i --list --as jane', /selfsubjectreviews/],
  ['api-versions', /^apps\/v1$/m],
  ['cluster-info', /control plane.* is running at/],
  ['version', /Server Version: v1\.36/],
]

t.test('every command of kubectl', { skip: kubectlMissing }, async (t) => {
  const tree = await startProcessTree(t)
  const { k, kubectl } = tree
  const ask = async (t: Test, [line, said]: Row) => {
    const words = typeof line === 'string' ? line.split(' ') : line
    t.match(await kubectl(...words), said, words.join(' '))
  }
  /** Rows that do not wait for one another, a few at a time. */
  const askAll = async (t: Test, rows: readonly Row[], atOnce = 4) => {
    const left = [...rows]
    const next = async () => {
      for (let row = left.shift(); row !== undefined; row = left.shift()) await ask(t, row)
    }
    await Promise.all(Array.from({ length: atOnce }, next))
  }
  await eventually('a Ready node', async () => /\bReady\b/.test(await k('get nodes --no-headers')))

  await t.test('create: each generator', async (t) => {
    for (const row of generators) await ask(t, row)
  })

  await t.test('set, rollout, scale, autoscale, expose, wait', async (t) => {
    for (const row of changes) await ask(t, row)
    await eventually('the end of the Pods before', async () => {
      const pods = await k('get pods -l app=web -o name')
      return pods.trim().split('\n').length === 3
    })
  })

  await t.test('get in each form, describe, exec, events, auth', (t) => askAll(t, questions))

  await t.test('exec, cp and port-forward over SPDY, as older clients speak', async (t) => {
    const variables = ['KUBECTL_REMOTE_COMMAND_WEBSOCKETS', 'KUBECTL_PORT_FORWARD_WEBSOCKETS']
    for (const name of variables) process.env[name] = 'false'
    t.teardown(() => {
      for (const name of variables) delete process.env[name]
    })
    t.equal(await k('exec one -- echo inside'), 'inside\n')
    await t.rejects(kubectl('exec', 'one', '--', 'sh', '-c', 'echo bad >&2; exit 7'), {
      code: 7,
      stderr: /^bad\ncommand terminated with exit code 7/,
    })
    await t.rejects(k('exec one -- nonesuch'), /executable file not found in \$PATH/)
    const bytes = randomBytes(3_000_000)
    const there = path.join(tree.folder, 'large')
    writeFileSync(there, bytes)
    await k(`cp ${there} one:${tree.folder}/taken`)
    await k(`cp one:${tree.folder}/taken ${tree.folder}/given`)
    t.ok(readFileSync(path.join(tree.folder, 'given')).equals(bytes))
    const echo = http.createServer((request, response) => response.end(`asked ${request.url}`))
    const address = await k('get pod one -o jsonpath={.status.podIP}')
    const port = await listen(t, echo, address)
    const said = tree.follow('port-forward', 'pod/one', `:${port}`)
    const from = await eventually('the port', () => /127\.0\.0\.1:(\d+) ->/.exec(said())?.[1])
    for (const word of ['first', 'second']) {
      const answer = await fetch(`http://127.0.0.1:${from}/${word}`)
      t.equal(await answer.text(), `asked /${word}`)
    }
  })

  await t.test('debug, cp and replace', async (t) => {
    const there = path.join(tree.folder, 'there')
    writeFileSync(there, 'carried')
    await k(`cp ${there} one:${tree.folder}/here`)
    await k(`cp one:${tree.folder}/here ${tree.folder}/back`)
    t.equal(await k(`exec one -- cat ${tree.folder}/back`), 'carried')
    const configMap = JSON.parse(await k('get configmap cm -o json'))
    const file = path.join(tree.folder, 'cm.json')
    writeFileSync(file, JSON.stringify({ ...configMap, data: { a: 'c' } }))
    t.match(await k(`replace -f ${file}`), /configmap\/cm replaced/)
    await t.rejects(k(`replace -f ${file}`), /Conflict|has been modified/)
  })

  await t.test('certificate approve and deny', async (t) => {
    for (const [verb, state] of [
      ['approve', /jane-approve .* Approved/],
      ['deny', /jane-deny .* Denied/],
    ] as const) {
      const file = path.join(tree.folder, `${verb}.json`)
      const name = `jane-${verb}`
      writeFileSync(file, JSON.stringify(certificateRequest(name)))
      await k(`create -f ${file}`)
      await k(`certificate ${verb} ${name}`)
      t.match(await k('get certificatesigningrequests'), state)
    }
    await eventually('the signed certificate', async () =>
      /^-----BEGIN CERTIFICATE/.test(
        Buffer.from(
          await k('get csr jane-approve -o jsonpath={.status.certificate}'),
          'base64',
        ).toString(),
      ),
    )
  })

  await t.test('each resource: list, describe, explain', async (t) => {
    // Else kubectl tells what there is, and that there is more.
    await k('wait --for=condition=Available apiservice/v1beta1.metrics.k8s.io --timeout=120s')
    const names = async (what: string) =>
      (await k(`api-resources --no-headers -o name ${what}`)).trim().split('\n')
    const listable = await names('--verbs=list')
    t.ok(listable.length >= 60, `${listable.length} listable resources`)
    const all = listable.join(',')
    // kubectl 1.32 describes these two through v1beta1, which v1.36 does not serve: kube-apiserver gets the same 404.
    const told = listable.filter((name) => !/^(ipaddresses|servicecidrs)\./.test(name))
    await askAll(t, [
      [`get ${all} -A`, /NAME/],
      [`get ${all} -A -o wide`, /NAME/],
      [`get ${all} -A -o name`, /configmap\/cm\n/],
      [`describe ${told.join(',')} -n default`, /Name: +web\n/],
      ...(await names('--verbs=create')).map((name): Row => {
        // kubectl reads `events.events.k8s.io` as a field of core's Event.
        const what = name.startsWith('events.') ? 'events --api-version=events.k8s.io/v1' : name
        return [`explain ${what} --recursive`, /KIND: .*\n[\s\S]*FIELDS:[\s\S]*apiVersion/]
      }),
    ])
  })

  await t.test('cordon, taint, drain, uncordon', async (t) => {
    const node = (await k('get nodes -o jsonpath={.items[0].metadata.name}')).trim()
    for (const row of [
      [`taint node ${node} k=v:NoSchedule`, /tainted/],
      [`taint node ${node} k-`, /untainted/],
      [`cordon ${node}`, /cordoned/],
      [`uncordon ${node}`, /uncordoned/],
    ] satisfies Row[])
      await ask(t, row)
    // The budget wants one of `web`, and nothing can be scheduled elsewhere: drain says what it waits for.
    const waiting = spawn('kubectl', ['drain', node, '--ignore-daemonsets', '--force'], {
      env: { ...process.env, KUBECONFIG: tree.kubeconfig, HOME: tree.folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.teardown(() => waiting.kill())
    let said = ''
    waiting.stderr.on('data', (chunk) => (said += chunk))
    await eventually('what it waits for', () =>
      said.includes("would violate the pod's disruption budget"),
    )
    waiting.kill()
    await k('delete poddisruptionbudget pdb')
    t.match(await k(`drain ${node} --ignore-daemonsets --force --timeout=120s`), /drained/)
    t.match(await k(`get node ${node}`), /SchedulingDisabled/)
    await k(`uncordon ${node}`)
    t.match(await k('rollout status deployment/web --timeout=120s'), /successfully rolled out/)
  })

  await t.test('delete in the foreground, by label, by file, everything', async (t) => {
    await k('delete deployment web --cascade=foreground')
    t.equal(await k('get pods -l app=web -o name'), '')
    t.match(await k('delete jobs --all'), /"once" deleted/)
    t.match(await k('delete namespace team'), /namespace "team" deleted/)
    await t.rejects(k('get namespace team'), /NotFound/)
  })
})
