import t from 'tap'
import { certificateSigning } from '#admission/certificates.js'
import type { AdmissionAttributes } from '#registry/admission.js'

t.test('whoever writes a condition of a certificate request signs for its signer', async (t) => {
  const { validate } = certificateSigning(async (_user, _verb, name) => name === 'a.b/*')
  const write = async (signerName: string, status: object | undefined, before?: object) => {
    const request = (status?: object) => ({ metadata: { name: 'r' }, spec: { signerName }, status })
    await validate!({
      ...{ operation: 'UPDATE', object: request(status), oldObject: request(before), name: 'r' },
      resource: { group: 'certificates.k8s.io', resource: 'certificatesigningrequests' },
      ...{ subresource: 'status', ctx: { user: { name: 'u', groups: [] } } },
    } as unknown as AdmissionAttributes)
  }
  const condition = { type: 'Seen', status: 'True' }
  const refused = { message: /user not permitted to sign requests with signerName "x.y\/z"/ }
  await t.rejects(write('x.y/z', { conditions: [condition] }), refused)
  await t.rejects(write('x.y/z', {}, { conditions: [condition] }), refused)
  await t.rejects(write('x.y/z', { certificate: 'c' }), refused)
  await write('x.y/z', { conditions: [] }, undefined)
  await write('x.y/z', { conditions: [condition] }, { conditions: [{ ...condition }] })
  await write('a.b/c', { conditions: [condition] })
})
