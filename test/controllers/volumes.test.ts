/** Who may delete a volume that its claim has left. */
import t from 'tap'
import type { Volume } from '#client/persistent-volume.js'
import { deleterOf, hostPathProvisioner } from '#controllers/persistentvolume/volume.js'

t.test('a volume is deleted by who made it, never by another', (t) => {
  const of = (spec: object, provisioner?: string) =>
    deleterOf({
      metadata: {
        name: 'v',
        annotations: provisioner ? { 'pv.kubernetes.io/provisioned-by': provisioner } : {},
      },
      spec,
    } as unknown as Volume)
  const hostPath = (path: string) => ({ hostPath: { path } })
  t.equal(of(hostPath('/anywhere'), hostPathProvisioner), 'binder')
  t.equal(of({ csi: { driver: 'd.io' } }), 'driver')
  t.equal(of(hostPath('/tmp/x'), 'somebody.io/else'), 'driver')
  t.equal(of(hostPath('/tmp/x')), 'binder')
  t.same(of(hostPath('/var/x')), {
    problem: 'host_path deleter only supports /tmp/.+ but received provided /var/x',
  })
  t.match(of({ local: { path: '/mnt' } }), { problem: /no volume plugin matched$/ })
  t.end()
})
