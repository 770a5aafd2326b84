/** One event of the audit log as it is written down (audit.k8s.io/v1, Event). */

import type { Status } from '#api/status.js'
import { goQuote } from '#go/quote.js'
import { stringify } from '#json/json.js'
import { withKeysInOrder } from '#json/object.js'
import type { Stage } from './policy.js'

export interface LoggedUser {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface ObjectReference {
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly uid?: string
  readonly apiGroup?: string
  readonly apiVersion?: string
  readonly resourceVersion?: string
  readonly subresource?: string
}

/** In the order in which they are written. Times are RFC 3339 with microseconds; the two objects are JSON texts. */
interface EventFields {
  readonly level: string
  readonly auditID: string
  readonly stage: Stage
  readonly requestURI: string
  readonly verb: string
  readonly user: LoggedUser
  readonly impersonatedUser?: LoggedUser | undefined
  readonly authenticationMetadata?: { readonly impersonationConstraint: string } | undefined
  readonly sourceIPs?: readonly string[] | undefined
  readonly userAgent?: string | undefined
  readonly objectRef?: ObjectReference | undefined
  readonly responseStatus?: Partial<Status> | undefined
  readonly requestObject?: string | undefined
  readonly responseObject?: string | undefined
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly annotations?: Readonly<Record<string, string>> | undefined
}

export type LogFormat = 'json' | 'legacy'

const quoted = (texts: readonly string[]): string => texts.map(goQuote).join(',')

export class AuditRecord {
  readonly #fields: EventFields
  #json: string | undefined

  constructor(fields: EventFields) {
    this.#fields = fields
  }

  /** Without its kind: an item of an EventList. */
  get json(): string {
    this.#json ??= this.#write()
    return this.#json
  }

  get bytes(): number {
    return Buffer.byteLength(this.json)
  }

  /** A line of the log. */
  lineOf(format: LogFormat): string {
    if (format === 'legacy') return this.#legacyLine()
    return `{"kind":"Event","apiVersion":"audit.k8s.io/v1",${this.json.slice(1)}\n`
  }

  /** --audit-log-format=legacy (apiserver, pkg/audit/format.go). */
  #legacyLine(): string {
    const { user, impersonatedUser, objectRef, responseStatus, sourceIPs = [] } = this.#fields
    const { requestReceivedTimestamp, auditID, stage, verb, userAgent, requestURI } = this.#fields
    const groups = user.username && user.groups?.length ? quoted(user.groups) : '<none>'
    const asGroups = impersonatedUser?.groups ? quoted(impersonatedUser.groups) : '<lookup>'
    // Go's RFC3339Nano leaves out the zeros at the end.
    const time = requestReceivedTimestamp.replace(/\.?0+Z$/, 'Z')
    const parts = [
      ['id', goQuote(auditID)],
      ['stage', goQuote(stage)],
      ['ip', goQuote(sourceIPs[0] ?? '<unknown>')],
      ['method', goQuote(verb)],
      ['user', goQuote(user.username || '<none>')],
      ['groups', goQuote(groups)],
      ['as', goQuote(impersonatedUser?.username ?? '<self>')],
      ['asgroups', goQuote(asGroups)],
      ['user-agent', goQuote(userAgent ?? '')],
      ['namespace', goQuote(objectRef?.namespace || '<none>')],
      ['uri', goQuote(requestURI)],
      ['response', `"${responseStatus?.code ?? (responseStatus ? 0 : '<deferred>')}"`],
    ]
    return `${time} AUDIT: ${parts.map(([name, value]) => `${name}=${value}`).join(' ')}\n`
  }

  /** Without what was sent and answered; undefined where it shows neither. */
  truncated(): AuditRecord | undefined {
    const { requestObject, responseObject, ...rest } = this.#fields
    if (requestObject === undefined && responseObject === undefined) return undefined
    const annotations = { ...rest.annotations, 'audit.k8s.io/truncated': 'true' }
    return new AuditRecord({ ...rest, annotations })
  }

  #write(): string {
    const { requestObject, responseObject, ...rest } = this.#fields
    const { requestReceivedTimestamp, stageTimestamp, annotations, ...first } = rest
    const objects = [
      requestObject === undefined ? '' : `,"requestObject":${requestObject}`,
      responseObject === undefined ? '' : `,"responseObject":${responseObject}`,
    ]
    const last = stringify({
      requestReceivedTimestamp,
      stageTimestamp,
      annotations: annotations && withKeysInOrder(annotations),
    })
    return `${stringify(first).slice(0, -1)}${objects.join('')},${last.slice(1)}`
  }
}
