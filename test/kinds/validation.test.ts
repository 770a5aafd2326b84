/** Bodies of creates with what kube-apiserver v1.36 answered to each: causes in their order, and warnings. */
import t from 'tap'
import { readRecorded } from '../recorded.js'
import { definitionOf, evaluate, table } from './evaluate.js'

interface Recorded {
  /** `Pod` or `group/Kind`. */
  kind: string
  body: object
  causes: string[]
  warnings: string[]
}

const recorded = readRecorded<Recorded[]>('kinds/validation')

t.test('a create is refused for the same causes in the same words as upstream', (t) => {
  for (const { kind, body, causes, warnings } of recorded) {
    const [group, name] = kind.includes('/') ? (kind.split('/') as [string, string]) : ['', kind]
    const answer = evaluate(definitionOf(name, group), JSON.stringify(body))
    t.same(
      { causes: answer.causes, warnings: answer.warnings },
      { causes, warnings },
      `${kind} ${JSON.stringify(body).slice(0, 200)}`,
    )
    t.equal(answer.code, causes.length === 0 ? 201 : 422)
  }
  t.end()
})

t.test('a search path is as long as a name may be', (t) => {
  const searches = [`${'x'.repeat(253)}.`, `${'x'.repeat(254)}.`, `A${'_'.repeat(253)}`]
  const spec = { containers: [{ name: 'c', image: 'i' }], dnsConfig: { searches } }
  const body = JSON.stringify({ metadata: { name: 'p' }, spec })
  t.match(evaluate(definitionOf('Pod'), body).causes, [
    /^spec\.dnsConfig\.searches\[1\]: .*x": must be no more than 253 characters$/,
    /^spec\.dnsConfig\.searches\[2\]: .*_": must be no more than 253 characters$/,
    /^spec\.dnsConfig\.searches\[2\]: .*_": a lowercase RFC 1123 subdomain must consist/,
  ])
  t.end()
})

t.test('names and profiles are measured in bytes', (t) => {
  const appArmorProfile = { type: 'Localhost', localhostProfile: 'é'.repeat(2048) }
  const spec = {
    containers: [{ name: 'c', image: 'i' }],
    hostnameOverride: 'é'.repeat(33),
    securityContext: { appArmorProfile },
  }
  t.match(evaluate(definitionOf('Pod'), JSON.stringify({ metadata: { name: 'p' }, spec })).causes, [
    'spec.securityContext.appArmorProfile.localhostProfile: Too long: may not be more than 4095 bytes',
    'spec.hostnameOverride: Too long: may not be more than 64 bytes',
    /^spec\.hostnameOverride: Invalid value/,
  ])
  t.end()
})

t.test('a Quobyte registry is hosts with ports, with brackets around hosts only', (t) => {
  const causesOf = (registry: string) => {
    const volumes = [{ name: 'v', quobyte: { registry, volume: 'v' } }]
    const spec = { containers: [{ name: 'c', image: 'i' }], volumes }
    return evaluate(definitionOf('Pod'), JSON.stringify({ metadata: { name: 'p' }, spec })).causes
  }
  t.same(causesOf('a:1,[::1]:2,:3,a:'), [])
  t.equal(causesOf('a,a:1],[[a]:1,[a]:[,a:b:1,').length, 6)
  t.end()
})

t.test('the seccomp annotation of a Pod is told of before those of its containers', (t) => {
  const pod = 'seccomp.security.alpha.kubernetes.io/pod'
  const container = 'container.seccomp.security.alpha.kubernetes.io/c'
  const metadata = { name: 'p', annotations: { [container]: 'x', [pod]: 'x' } }
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  const { causes } = evaluate(definitionOf('Pod'), JSON.stringify({ metadata, spec }))
  t.same(
    causes.map((cause) => cause.split(': ')[0]),
    [`metadata.annotations.${pod}`, `metadata.annotations.${container}`],
  )
  t.end()
})

t.test('an indexed Job without a name has no name that its Pods could have', (t) => {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  const spec = { completionMode: 'Indexed', completions: 1, parallelism: 1, template }
  t.same(evaluate(definitionOf('Job', 'batch'), JSON.stringify({ spec })).causes, [
    'metadata.name: Required value: name or generateName is required',
    'metadata.name: Invalid value: "": will not able to create pod with invalid DNS label: -0',
  ])
  t.end()
})

t.test('an autoscaler of v2 keeps no annotation in which v1 carries a field', (t) => {
  const carried = 'autoscaling.alpha.kubernetes.io/'
  const annotations = { [`${carried}behavior`]: '{}', [`${carried}scale-up-tolerance`]: '1' }
  const spec = { maxReplicas: 1, scaleTargetRef: { kind: 'D', name: 'd', apiVersion: 'apps/v1' } }
  const made = (own: object) => {
    const metadata = { name: 'a', annotations: { ...annotations, ...own } }
    const definition = [...table].find(
      ({ gvk }) => gvk.kind === 'HorizontalPodAutoscaler' && gvk.version === 'v2',
    )!
    return evaluate(definition, JSON.stringify({ metadata, spec })).object?.metadata.annotations
  }
  t.same(made({ mine: 'x' }), { mine: 'x' })
  t.equal(made({}), undefined)
  t.end()
})
