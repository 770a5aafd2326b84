/**
 * The audit event of one request while it is handled: fields are filled in as they become known, and at each stage a
 * record with the known fields is delivered (apiserver, pkg/audit/context.go and request.go).
 */
import type { AuditTrail } from '#api/audit-trail.js'
import { formatMicroTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import type { Status } from '#api/status.js'
import type { UserInfo } from '#api/user-info.js'
import { escapeHtml, parse, stringify } from '#json/json.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { AuditRecord, type LoggedUser, type ObjectReference } from './audit-record.js'
import { type Asked, levels, type Stage, type Verdict } from './policy.js'

/** What is known of it when it comes. */
interface Received {
  readonly asked: Asked
  readonly auditId: string
  readonly requestUri: string
  readonly userAgent: string
  readonly sourceIps: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Delivers the record of a stage. False if it could not be written. */
export type Deliver = (record: AuditRecord) => boolean | Promise<boolean>

const logged = ({ name, uid, groups, extra }: UserInfo): LoggedUser => ({
  ...(name ? { username: name } : {}),
  ...(uid ? { uid } : {}),
  ...(groups.length > 0 ? { groups } : {}),
  ...(extra && Object.keys(extra).length > 0 ? { extra } : {}),
})

const nonEmpty = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as T

const referenceOf = ({ isResourceRequest, ...asked }: Asked): ObjectReference | undefined =>
  isResourceRequest
    ? nonEmpty({
        resource: asked.resource,
        namespace: asked.namespace,
        name: asked.name,
        uid: '',
        apiGroup: asked.apiGroup,
        apiVersion: asked.apiVersion,
        resourceVersion: '',
        subresource: asked.subresource,
      })
    : undefined

/** A text that is JSON, in one line. */
const compact = (text: string): string => escapeHtml(text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1'))

const withoutManagedFields = (object: JsonObject): JsonObject => {
  const { metadata } = object
  if (!isJsonObject(metadata) || metadata.managedFields === undefined) return object
  const { managedFields, ...rest } = metadata
  return { ...object, metadata: rest }
}

/** Of an object, of the items of a list, and of the objects in the rows of a Table. */
const dropManagedFields = (value: JsonValue): JsonValue => {
  if (!isJsonObject(value)) return value
  const { items, rows } = value
  if (Array.isArray(items))
    return { ...value, items: items.map((i) => (isJsonObject(i) ? withoutManagedFields(i) : i)) }
  if (value.kind === 'Table' && Array.isArray(rows))
    return {
      ...value,
      rows: rows.map((row) =>
        isJsonObject(row) && isJsonObject(row.object)
          ? { ...row, object: withoutManagedFields(row.object) }
          : row,
      ),
    }
  return withoutManagedFields(value)
}

export class AuditEvent implements AuditTrail {
  readonly #verdict: Verdict
  readonly #received: Received
  readonly #deliver: Deliver
  readonly #now: () => number
  #user: LoggedUser
  #impersonated: LoggedUser | undefined
  #constraint: string | undefined
  #reference: ObjectReference | undefined
  #status: Partial<Status> | undefined
  #requestObject: string | undefined
  #responseObject: string | undefined
  #annotations: Record<string, string> | undefined
  #last: Record<string, string> | undefined
  #isComplete = false

  constructor(
    verdict: Verdict,
    received: Received,
    { deliver, now }: { deliver: Deliver; now: () => number },
  ) {
    this.#verdict = verdict
    this.#received = received
    this.#deliver = deliver
    this.#now = now
    const { user } = received.asked
    this.#user = user === undefined ? {} : logged(user)
    this.#reference = referenceOf(received.asked)
  }

  get showsRequests(): boolean {
    return levels.indexOf(this.#verdict.level) >= levels.indexOf('Request')
  }
  get showsResponses(): boolean {
    return this.#verdict.level === 'RequestResponse'
  }
  get isAnswered(): boolean {
    return this.#status !== undefined
  }

  annotate(key: string, value: string): void {
    this.#annotations ??= {}
    this.#annotations[key] ??= value
  }

  /** Like `annotate`, but only for the last stage. */
  annotateAtEnd(key: string, value: string): void {
    this.#last ??= {}
    this.#last[key] = value
  }

  /** `constraint` is the mode that allowed it; empty for unconstrained impersonation. */
  impersonates(user: UserInfo, constraint: string): void {
    this.#impersonated = logged(user)
    if (constraint !== '') this.#constraint = constraint
  }

  /** The object that was sent, decoded, in its own version. It names what the path does not. */
  sent(object: JsonObject | KubeObject): void {
    const {
      namespace = '',
      name = '',
      uid = '',
      resourceVersion = '',
    } = (object.metadata ?? {}) as Record<string, string>
    const known = this.#reference ?? {}
    this.#reference = nonEmpty({
      resource: known.resource ?? '',
      namespace: known.namespace ?? namespace,
      name: known.name ?? name,
      uid,
      apiGroup: known.apiGroup ?? '',
      apiVersion: known.apiVersion ?? '',
      resourceVersion,
      subresource: known.subresource ?? '',
    })
    if (this.showsRequests) this.#requestObject = this.#jsonOf(object)
  }

  /** A patch as it was sent. One in YAML is left out: upstream cannot write such an event at all. */
  patched(text: string): void {
    if (!this.showsRequests) return
    try {
      JSON.parse(text)
      this.#requestObject = compact(text)
    } catch {
      this.#requestObject = undefined
    }
  }

  /** A Status is shown at every level. */
  answeredWith(value: unknown): void {
    const object = value as JsonObject
    if (object.kind === 'Status' && object.apiVersion === 'v1') {
      const { status, message, reason, details, code } = object as unknown as Status
      this.#status = nonEmpty({ metadata: {}, status, message, reason, details, code })
      this.#responseObject = undefined
    }
    // If its JSON was noted before, this is the same answer in another form.
    if (this.showsResponses) this.#responseObject ??= this.#jsonOf(object)
  }

  /** The JSON text of an answer from elsewhere (a proxy). */
  answeredWithText(text: string): void {
    if (!this.showsResponses) return
    this.#responseObject = this.#verdict.omitManagedFields
      ? stringify(dropManagedFields(parse(text)))
      : text.trimEnd()
  }

  /** The head of the answer is on its way. */
  answeredCode(code: number): void {
    this.#status = { metadata: {}, ...this.#status, code }
  }

  /** The answer has begun, and may go on for long; 101 makes the connection one of another protocol. */
  started(code: number): void {
    this.answeredCode(code)
    this.reach('ResponseStarted')
  }

  /** The client has gone before an answer. */
  brokenOff(): void {
    this.#status ??= {
      metadata: {},
      status: 'Success',
      message: 'Connection closed early',
      code: 200,
    }
  }

  /** False if the event could not be written. The last stage is reached once. */
  reach(stage: Stage): boolean | Promise<boolean> {
    if (this.#isComplete) return true
    if (stage === 'ResponseComplete') {
      this.#isComplete = true
      if (this.#last !== undefined) this.#annotations = { ...this.#last, ...this.#annotations }
    }
    if (this.#verdict.omitStages.includes(stage)) return true
    const { at } = this.#received
    return this.#deliver(this.#recordOf(stage, stage === 'RequestReceived' ? at : this.#now()))
  }

  #jsonOf(object: JsonObject): string {
    return stringify(this.#verdict.omitManagedFields ? dropManagedFields(object) : object)
  }

  #recordOf(stage: Stage, at: number): AuditRecord {
    const { asked, auditId, requestUri, userAgent, sourceIps } = this.#received
    const isLong = userAgent.length > limits.auditUserAgentLengthMax
    return new AuditRecord({
      level: this.#verdict.level,
      auditID: auditId,
      stage,
      requestURI: requestUri,
      verb: asked.verb,
      user: this.#user,
      impersonatedUser: this.#impersonated,
      authenticationMetadata:
        this.#constraint === undefined ? undefined : { impersonationConstraint: this.#constraint },
      sourceIPs: sourceIps.length > 0 ? sourceIps : undefined,
      userAgent:
        (isLong
          ? `${userAgent.slice(0, limits.auditUserAgentLengthMax)}...TRUNCATED`
          : userAgent) || undefined,
      objectRef: this.#reference,
      responseStatus: this.#status,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      requestReceivedTimestamp: formatMicroTime(this.#received.at),
      stageTimestamp: formatMicroTime(at),
      annotations: this.#annotations,
    })
  }
}
