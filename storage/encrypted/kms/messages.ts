/** Version 2 of the API of KMS plugins, and what is stored of a value that one of them is behind: field numbers as Kubernetes publishes them. */

type Field = readonly [type: string, id: number] | readonly [type: string, id: number, key: string]

const message = (fields: Readonly<Record<string, Field>>) => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, [type, id, keyType]]) => [
      name,
      { type, id, ...(keyType && { keyType }) },
    ]),
  ),
})
const call = (name: string) => ({ requestType: `${name}Request`, responseType: `${name}Response` })

const annotations = (id: number): Field => ['bytes', id, 'string']

export const descriptor = {
  nested: {
    v2: {
      nested: {
        KeyManagementService: {
          methods: { Status: call('Status'), Decrypt: call('Decrypt'), Encrypt: call('Encrypt') },
        },
        StatusRequest: message({}),
        StatusResponse: message({
          version: ['string', 1],
          healthz: ['string', 2],
          key_id: ['string', 3],
        }),
        DecryptRequest: message({
          ciphertext: ['bytes', 1],
          uid: ['string', 2],
          key_id: ['string', 3],
          annotations: annotations(4),
        }),
        DecryptResponse: message({ plaintext: ['bytes', 1] }),
        EncryptRequest: message({ plaintext: ['bytes', 1], uid: ['string', 2] }),
        EncryptResponse: message({
          ciphertext: ['bytes', 1],
          key_id: ['string', 2],
          annotations: annotations(3),
        }),
        // Never called. The loader makes encoders and decoders only for messages of methods.
        Stored: {
          methods: { Object: { requestType: 'EncryptedObject', responseType: 'EncryptedObject' } },
        },
        EncryptedObject: message({
          encryptedData: ['bytes', 1],
          keyID: ['string', 2],
          encryptedDEKSource: ['bytes', 3],
          annotations: annotations(4),
          encryptedDEKSourceType: ['int32', 5],
        }),
      },
    },
  },
}
