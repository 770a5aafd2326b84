/** From where the audit log says that a request came (apimachinery, pkg/util/net SourceIPs). */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { sourceIps } from '#filters/source-ips.js'

const from = (remoteAddress: string | undefined, ...headers: [name: string, value: string][]) => {
  const raw = {
    headers: Object.fromEntries(headers),
    rawHeaders: headers.flat(),
    socket: { remoteAddress },
  }
  return sourceIps({ raw } as unknown as FastifyRequest)
}
const forwarded = (value: string): [string, string] => ['x-forwarded-for', value]
const real = (value: string): [string, string] => ['x-real-ip', value]

t.test('proxies are told of, the nearest last, and the client of the connection', async (t) => {
  t.same(from('10.0.0.1'), ['10.0.0.1'])
  t.same(from(undefined), [])
  t.same(from('10.0.0.1', forwarded('192.0.2.1,  192.0.2.2 ')), [
    '192.0.2.1',
    '192.0.2.2',
    '10.0.0.1',
  ])
  t.same(from('10.0.0.1', forwarded('x, 192.0.2.1:80,,192.0.2.3')), ['192.0.2.3', '10.0.0.1'])
  t.same(from('10.0.0.1', forwarded('10.0.0.1,192.0.2.1')), ['10.0.0.1', '192.0.2.1', '10.0.0.1'])
  t.same(from('10.0.0.1', forwarded('192.0.2.1,10.0.0.1')), ['192.0.2.1', '10.0.0.1'], 'once')
  t.same(from('10.0.0.1', forwarded('192.0.2.1'), forwarded('192.0.2.2')), [
    '192.0.2.1',
    '10.0.0.1',
  ])
  t.same(from('10.0.0.1', real('192.0.2.1')), ['192.0.2.1', '10.0.0.1'])
  t.same(from('10.0.0.1', real('no address')), ['10.0.0.1'])
  const both = [forwarded('192.0.2.1,192.0.2.2'), real('192.0.2.1')]
  t.same(from(undefined, ...both), ['192.0.2.1', '192.0.2.2'], 'not again')
})

t.test('addresses are written as Go writes them', async (t) => {
  t.same(from('::ffff:10.0.0.1'), ['10.0.0.1'])
  t.same(from('::1', forwarded('2001:DB8:0:0::1, ::FFFF:192.0.2.1, 010.0.0.1')), [
    '2001:db8::1',
    '192.0.2.1',
    '10.0.0.1',
    '::1',
  ])
  t.same(from('::ffff:10.0.0.1', real('10.0.0.1')), ['10.0.0.1'])
  t.same(from('fe80::1%eth0', forwarded('fe80::2%eth0')), [], 'with a zone it is none')
})
