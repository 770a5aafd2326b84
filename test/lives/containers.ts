/** Containers whose scripts say what happens to them, each word with the time of the machine and the container's name. */
import { imageName } from '../kubelet/containerd.js'
import type { Body } from './life.js'

const prelude = 'l() { read u rest < /proc/uptime; echo "$u $NAME $*" >> "$SAID"; }'
export const script = (text: string): string[] => ['sh', '-c', `${prelude}; ${text}`]
export const exec = (text: string): Body => ({ exec: { command: script(text) } })

const hold = 'while :; do sleep 100000 & wait; done'
/** Runs until it is asked to end, and may do something before it does. Says that it has started when it can be asked. */
export const obeys = (code = 0, first = ''): string =>
  `trap 'l TERM; ${first} exit ${code}' TERM; l start; ${hold}`
export const isDeaf = `trap 'l TERM' TERM; l start; ${hold}`

export const container = (name: string, text: string, more: Body = {}): Body => ({
  name,
  command: script(text),
  ...more,
})
export const sidecar = (name: string, text: string, more: Body = {}): Body =>
  container(name, text, { restartPolicy: 'Always', ...more })

/** Where the scripts of one playing speak, and look for what they are allowed. */
export interface Ears {
  /** A folder of the host, which containers see under the same path. */
  readonly folder: string
  readonly file: string
}

const isContainer = (value: Body): boolean => Array.isArray(value.command) && 'name' in value

/** With an image and ears for each container of an object, or of a patch. */
export const withEars = <T>(value: T, ears: Ears): T => {
  if (Array.isArray(value)) return value.map((item) => withEars(item, ears)) as T
  if (typeof value !== 'object' || value === null) return value
  const fields: Body = Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withEars(field, ears)]),
  )
  if (!isContainer(fields)) return fields as T
  const own = { NAME: fields.name, SAID: ears.file, FOLDER: ears.folder }
  return {
    image: imageName,
    imagePullPolicy: 'IfNotPresent',
    ...fields,
    env: [...Object.entries(own).map(([name, value]) => ({ name, value })), ...(fields.env ?? [])],
    volumeMounts: [{ name: 'ears', mountPath: ears.folder }, ...(fields.volumeMounts ?? [])],
  } as T
}
