/** Whom Pods ask for names. Upstream: pkg/kubelet/network/dns. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { dnsOf } from '#kubelet/environment/pod-dns.js'
import type { Pod, PodSpec } from '#kubelet/pod.js'
import { storedMetadata } from '../stored-metadata.js'

const podOf = (spec: Partial<PodSpec>): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({ name: 'p', namespace: 'web', uid: 'u' }),
  spec: { containers: [], dnsPolicy: 'ClusterFirst', ...spec },
})

t.test('dnsPolicy and dnsConfig', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-dns-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const resolvConf = path.join(folder, 'resolv.conf')
  writeFileSync(
    resolvConf,
    '# theirs\nnameserver 192.0.2.53\nsearch old.example\nsearch example.com. .\noptions timeout:1\noptions rotate timeout:3\n',
  )
  const settings = { clusterDns: ['10.0.0.10'], clusterDomain: 'cluster.local', resolvConf }
  const ofNode = {
    servers: ['192.0.2.53'],
    searches: ['example.com'],
    options: ['timeout:3', 'rotate'],
  }
  const ofCluster = {
    servers: ['10.0.0.10'],
    searches: ['web.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'],
    options: ['ndots:5'],
  }
  const told = (spec: Partial<PodSpec>) => dnsOf(podOf(spec), settings)
  t.same(told({}), { config: ofCluster, warnings: [] })
  t.same(told({ dnsPolicy: 'Default' }).config, ofNode)
  t.same(told({ hostNetwork: true }).config, ofNode, "in the host's network as the host")
  t.same(told({ hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' }).config, ofCluster)
  const dnsConfig = {
    nameservers: ['10.0.0.10', '1.1.1.1'],
    searches: ['cluster.local', 'own.example'],
    options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
  }
  t.same(told({ dnsPolicy: 'None', dnsConfig }).config, {
    servers: ['10.0.0.10', '1.1.1.1'],
    searches: ['cluster.local', 'own.example'],
    options: ['ndots:2', 'edns0'],
  })
  t.same(told({ dnsConfig }).config, {
    servers: ['10.0.0.10', '1.1.1.1'],
    searches: [...ofCluster.searches, 'own.example'],
    options: ['ndots:2', 'edns0'],
  })
  const lost = dnsOf(podOf({}), { ...settings, clusterDns: [] })
  t.same(lost.config, ofNode)
  t.match(lost.warnings, [{ reason: 'MissingClusterDNS', message: /^pod: "p_web\(u\)"\. kubelet/ }])

  const names = Array.from({ length: 40 }, (_, i) => `${i}.${'x'.repeat(60)}.example`)
  const many = told({
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'],
      searches: ['y'.repeat(254), ...names],
    },
  })
  t.equal(many.config.servers.length, 3)
  t.equal(many.config.searches[0], names[0], 'one that is too long is left out')
  t.ok(many.config.searches.join(' ').length <= 2048)
  t.ok([...many.config.searches, names[many.config.searches.length]].join(' ').length > 2048)
  t.match(many.warnings, [
    {
      reason: 'DNSConfigForming',
      message: /the applied nameserver line is: 1.1.1.1 1.1.1.2 1.1.1.3$/,
    },
    { reason: 'DNSConfigForming', message: /^Search Line limits were exceeded/ },
  ])
})
