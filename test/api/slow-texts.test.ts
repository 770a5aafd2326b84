/**
 * Texts that a backtracking matcher would be lost in for minutes or years: each is judged like any other. What takes
 * them comes from clients, and while it is looked at nobody else is answered.
 */
import t from 'tap'
import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import { scheduleProblem } from '#api/cron-schedule.js'
import { matchesLabels, parseLabelSelector } from '#api/selectors.js'
import { userOfHeaders } from '#authn/request-header.js'
import { type Attributes, allowed } from '#authz/authorizer.js'
import { ruleAllows } from '#authz/rbac-rules.js'
import { matchesFormat } from '#crd/formats.js'
import { compileJsonPath } from '#crd/json-path.js'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'
import { impersonation } from '#filters/impersonation.js'
import { parseInt64 } from '#json/int64.js'
import { parse } from '#json/json.js'
import { pemBlocks } from '#net/pem.js'
import { problemOf } from '#registry/patch/convertible.js'
import { inputMediaType, negotiateError } from '#routes/answers/negotiation.js'
import { secretWarnings } from '#validation/config-data.js'
import { validInlineVolume } from '#validation/persistent-volume.js'
import { validFieldRef, volumeFields } from '#validation/pod/field-references.js'
import { externalSources } from '#validation/pod/volume-sources.js'
import { volumeWarnings } from '#validation/pod/volume-warnings.js'
import { countIndexes } from '#validation/workload/index-intervals.js'

const million = 1_000_000
const zeros = '0'.repeat(million)
const blanks = ' '.repeat(million)
const base64 = (text: string): string => Buffer.from(text).toString('base64')

t.test('of headers and rules of access', async (t) => {
  t.equal(inputMediaType(`application/json;a=b${blanks}"`), undefined)
  t.equal(inputMediaType(`application/json;a=b${blanks};`), 'json')
  const many = `${'*/a,'.repeat(million / 8)}${'a/a,'.repeat(million / 8)}`
  t.equal(negotiateError(`${many}application/yaml`).mediaType, 'application/yaml')
  const stars = '*'.repeat(million)
  const rule = { verbs: ['get'], nonResourceURLs: [`/${stars}x*`, '/logs/**'] }
  const asked = (path: string) => ({ verb: 'get', isResourceRequest: false, path }) as Attributes
  t.notOk(ruleAllows(asked('/y'), rule))
  t.ok(ruleAllows(asked('/logs/a'), rule))
})

t.test('of a selector with very many values', (t) => {
  const values = Array.from({ length: 150_000 }, (_, i) => `v${i}`)
  const among = parseLabelSelector(`a in (${values.join()})`)
  const notAmong = parseLabelSelector(`a notin (${values.join()})`)
  for (let i = 0; i < 100_000; i++) {
    if (!matchesLabels(among, { a: `v${i}` })) t.fail(`v${i}`)
    if (matchesLabels(among, { a: `w${i}` })) t.fail(`w${i}`)
    if (!matchesLabels(notAmong, { a: `w${i}` })) t.fail(`not w${i}`)
  }
  t.notOk(matchesLabels(among, {}))
  t.ok(matchesLabels(notAmong, {}))
  t.notOk(matchesLabels(parseLabelSelector('a in (b)'), { a: 'toString' }))
  t.end()
})

t.test('of many headers that say who is meant', async (t) => {
  const many = Array.from({ length: 40_000 }, (_, i) => `impersonate-extra-${i}`)
  const rawHeaders = many.flatMap((name) => [name, 'x'])
  const raw = { rawHeaders, headers: Object.fromEntries(many.map((name) => [name, 'x'])) }
  const impersonate = impersonation({ authorize: () => allowed })
  t.throws(() => void impersonate({ raw } as never, {} as never), /without impersonating a user/)
  const extraPrefix = ['impersonate-extra-']
  const named = {
    raw: { rawHeaders: ['u', 'x', ...rawHeaders], headers: { ...raw.headers, u: 'x' } },
  }
  const user = userOfHeaders(named as never, { username: ['u'], uid: [], group: [], extraPrefix })
  t.equal(Object.keys(user?.extra ?? {}).length, many.length)
})

t.test('of numbers', async (t) => {
  const digits = '1'.repeat(10 * million)
  t.same(parse(`[${digits}]`), [Number.POSITIVE_INFINITY])
  t.equal(parseInt64(digits), undefined)
  t.equal(parseInt64(`-${zeros}9223372036854775808`), -(2n ** 63n))
})

t.test('of schedules', async (t) => {
  const problem = (text: string) => scheduleProblem(text)?.slice(0, 60)
  t.match(problem(`@every ${'9'.repeat(10 * million)}h`), /time: invalid duration|failed to parse/)
  t.equal(problem(`@every 0.${'9'.repeat(million)}h`), undefined)
  t.equal(problem(`@every 1h${'0h'.repeat(million)}`), undefined)
  t.equal(problem(`${'*,'.repeat(2 * million)}* * * * *`), undefined)
})

t.test('of volumes and references', async (t) => {
  const recycled = (path: string) =>
    validInlineVolume('spec', {
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Recycle',
      hostPath: { path },
    }).some(({ body }) => body.includes("may not be 'recycle' for a hostPath mount of '/'"))
  t.notOk(recycled(`${'/'.repeat(64)}x`))
  t.ok(recycled('/./'))

  const iscsi = (iqn: string) =>
    externalSources.iscsi!('iscsi', { targetPortal: 'p', iqn, lun: 0 }).map(({ body }) => body)
  t.match(iscsi('iqn.0000-00.q'.repeat(200_000)).join(), /must be valid format/)
  t.same(iscsi('iqn, iqn.2001-04.com.example:storage:x'), [])
  t.match(iscsi('iqn.2001-04.com.example:a b').join(), /must be valid format/)

  const quobyte = (registry: string) =>
    externalSources.quobyte!('quobyte', { registry, volume: 'v' }).map(({ field }) => field)
  const wrong = quobyte(','.repeat(million))
  t.ok(wrong.length > 1 && wrong.length < 100)
  t.same(quobyte('a:1,b'), ['quobyte.registry'])

  t.match(countIndexes('1'.repeat(3 * million), 5), /cannot convert string to integer/)
  t.equal(countIndexes(`${zeros}1-+3`, 5), 3)

  const reference = (fieldPath: string) =>
    validFieldRef('fieldRef', { apiVersion: 'v1', fieldPath }, volumeFields).length === 0
  t.notOk(reference("['".repeat(million)))
  t.ok(reference("metadata.labels['a']"))
  t.notOk(reference("['a']"))

  t.same(
    volumeWarnings('v', [{ name: 'v', secret: { items: [{ path: `${'/'.repeat(million)}x` }] } }]),
    [],
  )
})

t.test('of certificates', async (t) => {
  const begin = (label: string) => base64(`-----BEGIN ${label}-----\n`.repeat(100_000))
  t.match(parseCertificateRequest(begin('CERTIFICATE REQUEST')), {
    error: 'PEM block type must be CERTIFICATE REQUEST',
  })
  t.equal(pemBlocks(`${'-----BEGIN A-----\n'.repeat(100_000)}-----END B-----\n`).length, 0)
  t.equal(pemBlocks('-----BEGIN :-----\n-----END :-----\n'.repeat(100_000)).length, 100_000)
  const data = { 'tls.crt': begin('CERTIFICATE'), 'tls.key': begin('KEY') }
  const secret = { kind: 'Secret', apiVersion: 'v1', metadata: {}, type: 'kubernetes.io/tls', data }
  t.match(secretWarnings(secret), [/failed to find any PEM data in certificate/])
})

t.test('of custom resources', async (t) => {
  t.notOk(matchesFormat(`${zeros}x.1.1.1`, 'ipv4'))
  t.ok(matchesFormat('010.001.0.000', 'ipv4'))
  t.notOk(matchesFormat(zeros, 'duration'))
  t.ok(matchesFormat('3 weeks', 'duration'))
  t.equal(compileJsonPath(`.a[?(@${blanks}!)]`), undefined)
  t.equal(compileJsonPath(`.a[0,a${blanks}b]`), undefined)
  t.equal(compileJsonPath(`.a 1${zeros}.1.`), undefined)
  t.same(compileJsonPath(`.a[${zeros}1]`)?.({ a: [5, 6] }), [6])
  t.same(
    compileJsonPath('.a[?(@.b == "c")].d')?.({
      a: [
        { b: 'c', d: 1 },
        { b: 'x', d: 2 },
      ],
    }),
    [1],
  )
  t.match(problemOf(`${zeros}!`, 'io.k8s.apimachinery.pkg.api.resource.Quantity'), /must match/)
})

t.test('in expressions', async (t) => {
  const rule = {
    rule: "self.trim() != '' && (!self.startsWith('0') || double(self) != 1.0)",
    message: 'm',
  }
  const schema = { type: 'string', 'x-kubernetes-validations': [rule] } as StructuralSchema
  const said = (text: string) =>
    makeRuleChecker({ type: 'object', properties: { s: schema } })!
      .check({ s: text }, undefined)
      .map(({ body }) => body)
  t.same(said(`x${blanks}x`), [])
  t.equal(said(' \u0085\u00a0').length, 1)
  t.same(said('\ufeff'), [])
  t.match(said(`${zeros}x`).join().slice(-200), /conversion|invalid|double/)
})

t.test(
  'of rules: numbers, addresses and queries are read once, and no further than they make sense',
  async (t) => {
    const says = (rule: string, text: string): string =>
      makeRuleChecker({
        type: 'object',
        properties: {
          s: {
            type: 'string',
            'x-kubernetes-validations': [
              {
                rule: `string(${rule}) == ''`,
                messageExpression: `'value ' + string(${rule})`,
                message: 'm',
              },
            ],
          } as StructuralSchema,
        },
      })!
        .check({ s: text }, undefined)
        .map(({ body }) => body.slice(-100))
        .join()
    t.match(says('isIP(self)', '1.'.repeat(million)), 'value false')
    t.match(says('isIP(self)', '1:'.repeat(million)), 'value false')
    t.match(says('isCIDR(self)', `${'1.'.repeat(million)}/8`), 'value false')
    t.match(says('int(self)', '1'.repeat(2 * million)), 'type conversion error')
    t.match(says('int(self)', `-${zeros}7`), 'value -7')
    t.match(says('uint(self)', '1'.repeat(2 * million)), 'type conversion error')
    // A loop may ask for each of many items.
    const often = (text: string) =>
      says(`lists.range(300).all(i, duration(self) == duration('1.5s'))`, text)
    t.match(often(`${'1'.repeat(100_000)}s`), 'type conversion error')
    t.match(often(`1.5${'0'.repeat(100_000)}s`), 'value true')
    t.match(often(`${'0'.repeat(100_000)}1.5s`), 'value true')
    t.match(
      says(`url(self).getQuery()['a'].size()`, `http://x?${'a&'.repeat(million)}`),
      'value 1000000',
    )
    t.match(says('isSemver(self, true)', '1'.repeat(2 * million)), 'value false')
    t.match(says('isSemver(self)', `1.0.0-${'1'.repeat(2 * million)}`), 'value false')
  },
)
