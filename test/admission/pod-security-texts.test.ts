import t from 'tap'
import { subjectOf, violations } from '#admission/pod-security/checks.js'
import { versionProblem } from '#admission/pod-security/policy.js'

const detailsOf = (
  level: string,
  spec: Record<string, unknown>,
  { annotations = {}, minor = Number.POSITIVE_INFINITY } = {},
): string[] => {
  const metadata = { name: 'p', annotations } as Parameters<typeof subjectOf>[0]
  return violations(level, subjectOf(metadata, spec, minor)).map(({ detail }) => detail)
}

// joinQuote of upstream's package policy: quotes around each value, which is as it was sent.
t.test('values stand between quotes as they were sent', async (t) => {
  const containers = [
    {
      name: 'c',
      securityContext: {
        capabilities: { add: ['a"b', 'c\\d'] },
        seLinuxOptions: { type: 'x\ty' },
      },
    },
  ]
  t.same(detailsOf('baseline', { containers }), [
    'container "c" must not include "a"b", "c\\d" in securityContext.capabilities.add',
    'container "c" set forbidden securityContext.seLinuxOptions: type "x\ty"',
  ])
})

t.test('profiles of annotations are quoted as by %q, and ordered with them', async (t) => {
  const appArmor = { 'container.apparmor.security.beta.kubernetes.io/c': 'a"b\u0007' }
  t.same(detailsOf('baseline', { containers: [{ name: 'c' }] }, { annotations: appArmor }), [
    'annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/c="a\\"b\\a""',
  ])
  const prefix = 'container.seccomp.security.alpha.kubernetes.io/'
  const seccomp = { [`${prefix}c`]: 'x\u0007', [`${prefix}c-1`]: 'y' }
  const containers = [{ name: 'c' }, { name: 'c-1' }]
  t.same(detailsOf('baseline', { containers }, { annotations: seccomp, minor: 18 }), [
    `forbidden annotations ${prefix}c-1="y", ${prefix}c="x\\a"`,
  ])
})

// Upstream's hostProbesAndHostLifecycle keeps them in a set, which no other check does.
t.test('containers with hosts of probes stand in the order of their names', async (t) => {
  const livenessProbe = { tcpSocket: { host: 'h', port: 1 } }
  const containers = ['b', 'a'].map((name) => ({ name, livenessProbe }))
  t.same(detailsOf('baseline', { containers }), [
    'containers "a", "b" use probe or lifecycle host "h"',
  ])
})

// Since 1.35 the restricted level has a check of its own instead of the baseline's, and its own stand behind those.
t.test('procMount stands behind capabilities at the restricted level', async (t) => {
  const securityContext = {
    allowPrivilegeEscalation: false,
    procMount: 'Unmasked',
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const containers = [{ name: 'c', securityContext }]
  const procMount = 'container "c" must not set securityContext.procMount to "Unmasked"'
  const drop = 'container "c" must set securityContext.capabilities.drop=["ALL"]'
  t.same(detailsOf('restricted', { containers }), [drop, procMount])
  t.same(detailsOf('restricted', { containers }, { minor: 34 }), [procMount, drop])
})

t.test('a version is one whose number Go reads', async (t) => {
  for (const version of ['latest', 'v1.0', 'v1.999']) t.equal(versionProblem(version), undefined)
  for (const version of ['v1.01', 'v2.0', 'v1.99999999999999999999'])
    t.equal(versionProblem(version), 'must be "latest" or "v1.x"')
})
