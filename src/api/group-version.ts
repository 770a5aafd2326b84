import { compareTexts } from '#go/compare-texts.js'
import { parseInt64 } from '#json/int64.js'
/** The two identities of a type: its kind (what it is) and its resource (where it is). */

export interface GroupVersionKind {
  group: string
  version: string
  kind: string
}
export interface GroupVersionResource {
  group: string
  version: string
  resource: string
}
export interface GroupResource {
  group: string
  resource: string
}
export interface GroupKind {
  group: string
  kind: string
}

/** `apps/v1`, or `v1` for the core group: the form of `apiVersion`. */
export const formatGroupVersion = (gv: { group: string; version: string }): string =>
  gv.group === '' ? gv.version : `${gv.group}/${gv.version}`

/** `/apis/apps/v1`, or `/api/v1` for the core group: where it is served. */
export const groupVersionPath = (gv: { group: string; version: string }): string =>
  gv.group === '' ? `/api/${gv.version}` : `/apis/${gv.group}/${gv.version}`

/** `deployments.apps`, or `pods` for the core group: the form that messages use. */
export const formatGroupResource = (gr: GroupResource): string =>
  gr.group === '' ? gr.resource : `${gr.resource}.${gr.group}`

/** Upstream's ParseGroupResource: `deployments.apps`; `*.` is all of the core group. */
export const parseGroupResource = (text: string): GroupResource => {
  const dot = text.indexOf('.')
  return dot < 0
    ? { group: '', resource: text }
    : { group: text.slice(dot + 1), resource: text.slice(0, dot) }
}

/** `Deployment.apps`, or `Pod` for the core group. */
export const formatGroupKind = (gk: GroupKind): string =>
  gk.group === '' ? gk.kind : `${gk.kind}.${gk.group}`

/** `apps/v1, Kind=Deployment`, or `/v1, Kind=Pod`: the form that messages use. */
export const formatGroupVersionKind = ({ group, version, kind }: GroupVersionKind): string =>
  `${group}/${version}, Kind=${kind}`

/** `apps/v1/Deployment`, or `/v1/Pod`: what maps by kind have as their keys. */
export const kindKey = ({ group, version, kind }: GroupVersionKind): string =>
  `${group}/${version}/${kind}`

/** The parts of an `apiVersion`; undefined when it has more than one slash. */
export const parseGroupVersion = (
  apiVersion: string,
): { group: string; version: string } | undefined => {
  const parts = apiVersion.split('/')
  if (parts.length === 1) return { group: '', version: parts[0]! }
  if (parts.length === 2) return { group: parts[0]!, version: parts[1]! }
  return undefined
}

/** The group that an `apiVersion` names; '' for the core group, and for what is no apiVersion. */
export const groupOf = (apiVersion: string): string => parseGroupVersion(apiVersion)?.group ?? ''

/** `v0` and `v01` are such versions, too; a number that is no int64 makes it none. */
const parseVersion = (version: string): RegExpExecArray | null => {
  const parsed = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  const numbers = parsed === null ? [] : [parsed[1]!, parsed[3] ?? '0']
  return numbers.every((text) => parseInt64(text) !== undefined) ? parsed : null
}

/** GA before beta before alpha, then the higher number; names of another form last, in order of letters. */
export const compareVersions = (a: string, b: string): number => {
  const [x, y] = [parseVersion(a), parseVersion(b)]
  if (x === null || y === null) {
    if (x === null && y === null) return compareTexts(a, b)
    return x === null ? 1 : -1
  }
  const maturity = { undefined: 2, beta: 1, alpha: 0 } as Record<string, number>
  return (
    maturity[String(y[2])]! - maturity[String(x[2])]! ||
    Number(y[1]) - Number(x[1]) ||
    Number(y[3] ?? 0) - Number(x[3] ?? 0)
  )
}
