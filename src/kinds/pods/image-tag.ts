/** What a container's image names: only as much of the grammar of references as the pull policy needs. */

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
const domainPart = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const reference = new RegExp(
  `^(?:(${domain})/)?(${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?` +
    '(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$',
)
const identifier = /^[a-f0-9]{64}$/

const pathLengthMax = 255
const dockerHub = /^(?:index\.)?docker\.io$/

/** Of the path in its registry: what names none is Docker Hub's, and there with one part only in its library. */
const pathLength = (first: string | undefined, rest: string): number => {
  const isDomain = first !== undefined && /[.:A-Z]|^localhost$/.test(first)
  const path = isDomain || first === undefined ? rest : `${first}/${rest}`
  const isOfHub = !isDomain || dockerHub.test(first)
  return isOfHub && !path.includes('/') ? 'library/'.length + path.length : path.length
}

/** `latest` when a good reference has neither tag nor digest; an empty string for a digest or what is no reference. */
const imageTag = (image: string): string => {
  if (identifier.test(image)) return ''
  const match = reference.exec(image)
  if (match === null || pathLength(match[1], match[2]!) > pathLengthMax) return ''
  return match[3] ?? (match[4] === undefined ? 'latest' : '')
}

/** The pull policy of an image that has none of its own. */
export const defaultPullPolicy = (image: string): string =>
  imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent'
