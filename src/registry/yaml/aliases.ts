/** What aliases stand for, and how much of a document may come of them. */
import type { Alias, Document, Node } from 'yaml'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { YamlSyntaxError } from './messages.js'

type Yaml = typeof import('yaml')

/** An alias stands for the last node before it that has its name. Throws YamlSyntaxError where there is none. */
export const aliasTargets = (
  document: Document.Parsed,
  { visit }: Yaml,
  text: string,
): ReadonlyMap<Alias, Node> => {
  const targets = new Map<Alias, Node>()
  if (!text.includes('*')) return targets
  const anchors = new Map<string, Node>()
  visit(document, {
    Node: (_key, node) => {
      if ('anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, node)
    },
    Alias: (_key, alias) => {
      const target = anchors.get(alias.source)
      if (target === undefined)
        throw new YamlSyntaxError(`yaml: unknown anchor '${alias.source}' referenced`)
      targets.set(alias, target)
    },
  })
  return targets
}

// goyaml.v2, decode.go: up to the first count of nodes nearly all may come of aliases, from the second on a tenth.
const manyNodes = 400_000
const tooManyNodes = 4_000_000
const shareOfMany = 0.99
const shareOfTooMany = 0.1
const unlimitedNodes = 1_000
const unlimitedAliased = 100

const allowedShare = (nodes: number): number => {
  if (nodes <= manyNodes) return shareOfMany
  if (nodes >= tooManyNodes) return shareOfTooMany
  const place = (nodes - manyNodes) / (tooManyNodes - manyNodes)
  return shareOfMany - (shareOfMany - shareOfTooMany) * place
}

/** Counts the nodes of a document as they are decoded. */
export class DecodeCount {
  #nodes = 0
  #aliased = 0
  #aliasedCharacters = 0
  #depth = 0

  /** Throws YamlSyntaxError. */
  node(): void {
    this.#nodes++
    if (this.#depth === 0) return
    this.#aliased++
    if (
      this.#aliased > unlimitedAliased &&
      this.#nodes > unlimitedNodes &&
      this.#aliased / this.#nodes > allowedShare(this.#nodes)
    )
      throw tooMuch()
  }

  /** Throws YamlSyntaxError. */
  scalar(value: JsonValue): JsonValue {
    if (this.#depth === 0 || typeof value !== 'string') return value
    this.#aliasedCharacters += value.length
    if (this.#aliasedCharacters > limits.yamlAliasedCharactersMax) throw tooMuch()
    return value
  }

  behindAlias<T>(convert: () => T): T {
    this.#depth++
    const result = convert()
    this.#depth--
    return result
  }
}

const tooMuch = (): YamlSyntaxError =>
  new YamlSyntaxError('yaml: document contains excessive aliasing')
