/**
 * The operations of the API, from rows of the resource table: what upstream's installer registers for each resource and
 * verb, with the same operationIds (apiserver, endpoints/installer.go). test/routes/openapi-operations.test.ts holds them against openapi/data/operations.json.
 */

import { operationGroup, operationName, upper } from './operation-group.js'
import {
  connectQuery,
  deleteQuery,
  listQuery,
  logQuery,
  patchQuery,
  writeQuery,
} from './parameters.js'

interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The parts of a row of the resource table that are needed here. */
interface ApiResource {
  readonly gvr: { readonly group: string; readonly version: string; readonly resource: string }
  readonly gvk: Gvk
  readonly listKind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly hasStatus: boolean
  readonly subresources: readonly {
    readonly name: string
    readonly kind: Gvk
    readonly verbs: readonly string[]
    readonly style: 'view' | 'create' | 'connect'
  }[]
  readonly isCustom: boolean
  readonly returnsDeletedObject: boolean
}

export interface Operation {
  /** With `{namespace}` and the like. */
  readonly path: string
  readonly method: string
  readonly id: string
  readonly description: string
  /** Upstream's x-kubernetes-action; undefined for discovery. */
  readonly action: string | undefined
  readonly gvk: Gvk | undefined
  readonly query: readonly string[]
  /** Name of a schema. */
  readonly body: string | undefined
  /** Status code → name of a schema, `string`, or null for no body. */
  readonly responses: Readonly<Record<string, string | null>>
  readonly consumes: readonly string[]
  readonly produces: readonly string[]
  readonly tag: string
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
export const builtInTypes = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
]
const customTypes = ['application/json', 'application/yaml']
const streams = [
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
]
const any = ['*/*']
const customPatches = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
]
const builtInPatches = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

/** Finds the name of the schema of a kind. */
type SchemaNames = (gvk: Gvk) => string

/** A plural has no article. */
const withArticle = (kind: string): string => {
  if (/[^s]s$/.test(kind)) return kind
  return `${/^[AEIOU]/i.test(kind) ? 'an' : 'a'} ${kind}`
}

const insteadOfWatch = "deprecated: use the 'watch' parameter with a list operation instead"
const watchTexts = {
  watch: (kind: string) =>
    `watch changes to an object of kind ${kind}. ${insteadOfWatch}, filtered to a single item with the 'fieldSelector' parameter.`,
  watchlist: (kind: string) => `watch individual changes to a list of ${kind}. ${insteadOfWatch}.`,
}

/** Makes the operations of one resource. */
class ResourceOperations {
  readonly #row: ApiResource
  readonly #schema: SchemaNames
  readonly #root: string
  readonly #group: string
  readonly #types: readonly string[]
  readonly #tag: string
  readonly #scoped: string

  constructor(row: ApiResource, schema: SchemaNames) {
    const { group, version } = row.gvr
    this.#row = row
    this.#schema = schema
    this.#root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    this.#group = `${operationGroup(group)}${upper(version)}`
    this.#tag = `${this.#lower(operationGroup(group))}_${version}`
    this.#types = row.isCustom ? customTypes : builtInTypes
    this.#scoped = row.namespaced ? 'Namespaced' : ''
  }

  #lower(text: string): string {
    return text.slice(0, 1).toLowerCase() + text.slice(1)
  }

  #id(verb: string, name: string): string {
    return `${verb}${this.#group}${operationName(name)}`
  }

  #path(prefix = ''): string {
    const { namespaced, gvr } = this.#row
    const scope = namespaced ? '/namespaces/{namespace}' : ''
    return `${this.#root}${prefix}${scope}/${gvr.resource}`
  }

  #operation(part: Partial<Operation> & Pick<Operation, 'path' | 'method' | 'id'>): Operation {
    return {
      description: '',
      action: undefined,
      gvk: this.#row.gvk,
      query: ['pretty'],
      body: undefined,
      responses: {},
      consumes: this.#row.isCustom ? customTypes : any,
      produces: this.#types,
      tag: this.#tag,
      ...part,
    }
  }

  all(): Operation[] {
    return [
      ...this.#collection(),
      ...this.#object(`${this.#path()}/{name}`, this.#row.verbs, this.#row.gvk, ''),
      ...this.#subresources(),
      ...(this.#row.isCustom ? [] : this.#legacyWatches()),
    ]
  }

  /** A definition may name its list in its own way; that of a built-in kind is named after the type of its items. */
  #listSchema(): string {
    const { gvk, listKind, isCustom } = this.#row
    return isCustom ? this.#schema({ ...gvk, kind: listKind }) : `${this.#schema(gvk)}List`
  }

  #collection(): Operation[] {
    const { gvk, verbs, namespaced, gvr } = this.#row
    const { kind } = gvk
    const operations: Operation[] = []
    const list = (path: string, id: string) =>
      this.#operation({
        path,
        method: 'get',
        id,
        description: `${verbs.includes('watch') && !this.#row.isCustom ? 'list or watch' : 'list'} objects of kind ${kind}`,
        action: 'list',
        query: listQuery,
        responses: { 200: this.#listSchema(), 401: null },
        produces: [...this.#types, ...(this.#row.isCustom ? [] : streams)],
      })
    if (verbs.includes('list')) {
      operations.push(list(this.#path(), this.#id('list', `${this.#scoped}${kind}`)))
      if (namespaced)
        operations.push(
          list(`${this.#root}/${gvr.resource}`, this.#id('list', `${kind}ForAllNamespaces`)),
        )
    }
    if (verbs.includes('create'))
      operations.push(this.#create(this.#path(), gvk, this.#id('create', `${this.#scoped}${kind}`)))
    if (verbs.includes('deletecollection'))
      operations.push(
        this.#operation({
          path: this.#path(),
          method: 'delete',
          id: this.#id('delete', `Collection${this.#scoped}${kind}`),
          description: `delete collection of ${kind}`,
          action: 'deletecollection',
          ...(this.#row.isCustom
            ? { query: listQuery }
            : {
                query: [
                  ...new Set([...listQuery.filter((q) => !watchOnly.has(q)), ...deleteQuery]),
                ].sort(),
                body: `${meta}.DeleteOptions`,
              }),
          responses: { 200: `${meta}.Status`, 401: null },
        }),
      )
    return operations
  }

  #create(path: string, gvk: Gvk, id: string): Operation {
    const schema = this.#schema(gvk)
    return this.#operation({
      path,
      method: 'post',
      id,
      gvk,
      description: `create ${withArticle(gvk.kind)}`,
      action: 'post',
      query: writeQuery,
      body: schema,
      responses: { 200: schema, 201: schema, 202: schema, 401: null },
    })
  }

  /** Reading and writing one object, or one of its subresources (`suffix` is then its name, capitalised). */
  #object(path: string, verbs: readonly string[], gvk: Gvk, suffix: string): Operation[] {
    const { kind } = this.#row.gvk
    const schema = this.#schema(gvk)
    const name = `${this.#scoped}${kind}${suffix}`
    const of = suffix === '' ? '' : `${this.#lower(suffix)} of `
    const operations: Operation[] = []
    const add = (part: Partial<Operation> & Pick<Operation, 'method' | 'id'>) =>
      // A subresource of a custom resource is shown as one of its kind.
      operations.push(
        this.#operation({
          path,
          gvk: this.#row.isCustom ? this.#row.gvk : gvk,
          action: part.method,
          ...part,
        }),
      )
    if (verbs.includes('get'))
      add({
        method: 'get',
        id: this.#id('read', name),
        description: `read ${of}the specified ${kind}`,
        ...(this.#row.isCustom ? { query: ['pretty', 'resourceVersion'] } : {}),
        responses: { 200: schema, 401: null },
      })
    if (verbs.includes('update'))
      add({
        method: 'put',
        id: this.#id('replace', name),
        description: `replace ${of}the specified ${kind}`,
        query: writeQuery,
        body: schema,
        responses: { 200: schema, 201: schema, 401: null },
      })
    if (verbs.includes('delete')) {
      const answer = this.#returnsObject() ? schema : `${meta}.Status`
      add({
        method: 'delete',
        id: this.#id('delete', name),
        description: `delete ${withArticle(kind)}`,
        query: deleteQuery,
        body: `${meta}.DeleteOptions`,
        responses: { 200: answer, 202: answer, 401: null },
      })
    }
    if (verbs.includes('patch'))
      add({
        method: 'patch',
        id: this.#id('patch', name),
        description: `partially update ${of}the specified ${kind}`,
        query: patchQuery,
        body: `${meta}.Patch`,
        responses: this.#row.isCustom
          ? { 200: schema, 401: null }
          : { 200: schema, 201: schema, 401: null },
        consumes: this.#row.isCustom ? customPatches : builtInPatches,
      })
    return operations
  }

  /** A Namespace answers with itself and is documented as a Status. */
  #returnsObject(): boolean {
    return this.#row.returnsDeletedObject && this.#row.gvr.resource !== 'namespaces'
  }

  #subresources(): Operation[] {
    const { hasStatus, gvk, subresources } = this.#row
    const base = `${this.#path()}/{name}`
    const status = hasStatus
      ? this.#object(`${base}/status`, ['get', 'update', 'patch'], gvk, 'Status')
      : []
    return [
      ...status,
      ...subresources.flatMap(({ name, kind, verbs, style }) => {
        const path = `${base}/${name}`
        const suffix = upper(name)
        if (name === 'log') return [this.#log(path)]
        if (style === 'connect') return this.#connect(path, name, kind, verbs)
        if (style === 'create')
          return [
            this.#create(path, kind, this.#id('create', `${this.#scoped}${gvk.kind}${suffix}`)),
          ].map((o) => ({
            ...o,
            description: `create ${name} of ${withArticle(gvk.kind)}`,
          }))
        return this.#object(path, verbs, kind, suffix)
      }),
    ]
  }

  #log(path: string): Operation {
    const { kind } = this.#row.gvk
    return this.#operation({
      path,
      method: 'get',
      id: this.#id('read', `${this.#scoped}${kind}Log`),
      description: `read log of the specified ${kind}`,
      action: 'get',
      query: logQuery,
      responses: { 200: 'string', 401: null },
      produces: ['text/plain', ...this.#types],
    })
  }

  #connect(path: string, name: string, kind: Gvk, verbs: readonly string[]): Operation[] {
    const methods =
      name === 'proxy'
        ? ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
        : ['get', 'post'].filter((m) => verbs.includes(m === 'get' ? 'get' : 'create'))
    const make = (url: string, method: string, tail: string) =>
      this.#operation({
        path: url,
        method,
        id: this.#id(
          'connect',
          `${upper(method)}${this.#scoped}${this.#row.gvk.kind}${upper(name)}${tail}`,
        ),
        description: `connect ${method.toUpperCase()} requests to ${name} of ${this.#row.gvk.kind}`,
        action: 'connect',
        gvk: kind,
        query: connectQuery[name] ?? [],
        responses: { 200: 'string', 401: null },
        produces: any,
      })
    return methods.flatMap((method) => [
      make(path, method, ''),
      ...(name === 'proxy' ? [make(`${path}/{path}`, method, 'WithPath')] : []),
    ])
  }

  /** Deprecated upstream, and still there. */
  #legacyWatches(): Operation[] {
    const { gvk, verbs, namespaced, gvr } = this.#row
    if (!verbs.includes('watch')) return []
    const { kind } = gvk
    const make = (path: string, id: string, action: keyof typeof watchTexts) =>
      this.#operation({
        path,
        method: 'get',
        id: this.#id('watch', id),
        description: watchTexts[action](kind),
        action,
        query: listQuery,
        responses: { 200: `${meta}.WatchEvent`, 401: null },
        produces: [...this.#types, ...streams],
      })
    const path = this.#path('/watch')
    return [
      make(path, `${this.#scoped}${kind}List`, 'watchlist'),
      ...(verbs.includes('get') ? [make(`${path}/{name}`, `${this.#scoped}${kind}`, 'watch')] : []),
      ...(namespaced
        ? [make(`${this.#root}/watch/${gvr.resource}`, `${kind}ListForAllNamespaces`, 'watchlist')]
        : []),
    ]
  }
}

const watchOnly = new Set(['allowWatchBookmarks', 'watch'])

export const resourceOperations = (row: ApiResource, schema: SchemaNames): Operation[] =>
  new ResourceOperations(row, schema).all()
