/** Messages and services of a protobuf package as facts: `field: [type, number]`, a type in brackets is repeated. */
import type { GrpcObject, ServiceClientConstructor } from '@grpc/grpc-js'
import { mapValues } from '#json/entries.js'

export type MessageFacts = Readonly<Record<string, readonly [type: string, id: number]>>
type ServiceFacts = Readonly<Record<string, readonly [request: string, answer: string]>>
export interface PackageFacts {
  /** `csi.v1` */
  readonly name: string
  readonly messages: Readonly<Record<string, MessageFacts>>
  /** By service, its methods. */
  readonly services: Readonly<Record<string, ServiceFacts>>
}

const fieldOf = ([type, id]: readonly [string, number]) => {
  if (type.startsWith('map<')) return { keyType: 'string', type: type.slice(4, -1), id }
  if (type.startsWith('[')) return { rule: 'repeated', type: type.slice(1, -1), id }
  return { type, id }
}
const messageOf = (fields: MessageFacts) => ({ fields: mapValues(fields, fieldOf) })
const serviceOf = (methods: ServiceFacts) => ({
  methods: mapValues(methods, ([requestType, responseType]) => ({ requestType, responseType })),
})

/** The same as protobuf's JSON descriptor. */
export const descriptorOf = ({ name, messages, services }: PackageFacts): object =>
  name.split('.').reduceRight((inner: object, part) => ({ nested: { [part]: inner } }), {
    nested: { ...mapValues(messages, messageOf), ...mapValues(services, serviceOf) },
  })

/** A service of the package, out of what gRPC has made of its descriptor. */
export const serviceIn = (
  loaded: GrpcObject,
  { name }: PackageFacts,
  service: string,
): ServiceClientConstructor => {
  let found: GrpcObject = loaded
  for (const part of name.split('.')) found = found[part] as GrpcObject
  return found[service] as ServiceClientConstructor
}
