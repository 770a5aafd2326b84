/** The ways that an object with changes in it reaches a server; nothing is kept of any. */
import { type Change, withChange } from '../fields.js'
import type { Subject } from '../subjects.js'
import { type Request, typed } from '../target.js'

export interface Way {
  readonly name: string
  /** Whether the object has to be there already. */
  readonly isStored: boolean
  readonly subresource?: string
  /** Whether the body is the changes alone. */
  readonly isPatch?: boolean
  request(subject: Subject, body: unknown, query?: string): Request
}

const tables = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

const create =
  (headers?: Request['headers']): Way['request'] =>
  ({ resource }, body, query = '') => ({
    method: 'POST',
    path: `${resource.collection}?dryRun=All${query}`,
    body,
    headers,
  })

const write =
  (method: string, suffix: string, headers?: Request['headers']): Way['request'] =>
  ({ url }, body, query = '') => ({
    method,
    path: `${url}${suffix}${suffix.includes('?') ? '&' : '?'}dryRun=All${query}`,
    body,
    headers,
  })

export const ways: readonly Way[] = [
  { name: 'create', isStored: false, request: create() },
  { name: 'table', isStored: false, request: create(tables) },
  { name: 'update', isStored: true, request: write('PUT', '') },
  {
    name: 'merge',
    isStored: true,
    isPatch: true,
    request: write('PATCH', '', typed('merge-patch+json')),
  },
  {
    name: 'strategic',
    isStored: true,
    isPatch: true,
    request: write('PATCH', '', typed('strategic-merge-patch+json')),
  },
  {
    name: 'apply',
    isStored: true,
    isPatch: true,
    request: write('PATCH', '?fieldManager=sweep&force=true', typed('apply-patch+yaml')),
  },
  {
    name: 'apply-new',
    isStored: false,
    request: write('PATCH', '?fieldManager=sweep', typed('apply-patch+yaml')),
  },
  { name: 'status', isStored: true, subresource: 'status', request: write('PUT', '/status') },
]

/** The object with the changes, or for a patch the changes and what names it. */
export const bodyOf = (way: Way, { body, name }: Subject, changes: readonly Change[]): unknown => {
  const { apiVersion, kind } = body
  const whole = way.isPatch ? { apiVersion, kind, metadata: { name } } : body
  return changes.reduce<unknown>(withChange, whole)
}
