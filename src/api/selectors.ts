/**
 * Label and field selectors as query parameters carry them: parsed with upstream's messages, and matched.
 * apimachinery, pkg/labels and pkg/fields.
 */
import { aggregate } from '#go/aggregate.js'
import { compareTexts } from '#go/compare-texts.js'
import { parseInt64 } from '#json/int64.js'
import type { FieldError } from './field-error.js'
import { invalid } from './field-error.js'
import { isLabelValue, isQualifiedName } from './names.js'

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted, without repetition. */
  readonly values: readonly string[]
}
export interface FieldRequirement {
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** The parameter is no selector; the message is upstream's. */
export class SelectorError extends Error {}

export type Labels = Readonly<Record<string, string>>

const labelValueOf = (labels: Labels | undefined, key: string): string | undefined =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined

/** Negative, 0 or positive; undefined when one of the texts is no int64. */
export const compareInt64 = (a: string, b: string): number | undefined => {
  const left = parseInt64(a)
  const right = parseInt64(b)
  if (left === undefined || right === undefined) return undefined
  return left < right ? -1 : left > right ? 1 : 0
}

/** By halves: a query of a megabyte names a hundred thousand values, which each of many objects is asked for. */
const hasValue = ({ values }: LabelRequirement, value: string): boolean => {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! < value) low = middle + 1
    else high = middle
  }
  return values[low] === value
}

const compares = ({ operator, values }: LabelRequirement, value: string): boolean => {
  const order = compareInt64(value, values[0] ?? '') ?? 0
  return operator === 'gt' ? order > 0 : order < 0
}

const meets = (requirement: LabelRequirement, labels: Labels | undefined): boolean => {
  const value = labelValueOf(labels, requirement.key)
  switch (requirement.operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && hasValue(requirement, value)
    case '!=':
    case 'notin':
      return value === undefined || !hasValue(requirement, value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    default:
      return value !== undefined && compares(requirement, value)
  }
}

export const matchesLabels = (
  requirements: readonly LabelRequirement[],
  labels: Labels | undefined,
): boolean => requirements.every((requirement) => meets(requirement, labels))

/** Labels that a match must have with exactly one value: what an index can look up. */
export const labelsRequired = (
  requirements: readonly LabelRequirement[],
): ReadonlyMap<string, string> =>
  new Map(
    requirements
      .filter((r) => ['=', '==', 'in'].includes(r.operator) && r.values.length === 1)
      .map((r) => [r.key, r.values[0]!]),
  )

type Token = { type: 'end' | 'symbol' | 'word'; text: string }

/** One symbol, not all that stand together: there may be a million of them. */
const symbol = /^(?:==|!=|[=!(),<>])/

/** A NUL is the end of the text to upstream, or the end of what stands before it. */
const tokenize = (text: string): Token[] => {
  const tokens: Token[] = []
  let at = 0
  for (;;) {
    while (/[ \t\r\n]/.test(text[at] ?? '')) at++
    if (at >= text.length || text[at] === '\0') return [...tokens, { type: 'end', text: '' }]
    const found = symbol.exec(text.slice(at))?.[0]
    if (found !== undefined) {
      tokens.push({ type: 'symbol', text: found })
      at += found.length
    } else {
      const [word] = /^[^=!(),<> \t\r\n\0]+/.exec(text.slice(at))!
      tokens.push({ type: 'word', text: word })
      at += word.length
    }
    if (text[at] === '\0') at++
  }
}

const binaryOperators: Readonly<Record<string, LabelOperator>> = {
  in: 'in',
  '=': '=',
  '==': '==',
  '>': 'gt',
  '<': 'lt',
  notin: 'notin',
  '!=': '!=',
}
const binaryOperatorsInMessages = ['in', 'notin', '=', '==', '!=', 'gt', 'lt']

const formatError = (error: FieldError): string =>
  `${error.field === '' ? '<nil>' : error.field}: ${error.body}`

/** The rules of labels.NewRequirement, for selectors in bodies too; `field` is the path of the requirement. */
const requirementErrors = (requirement: LabelRequirement): FieldError[] => {
  const { key, operator, values } = requirement
  const errors: FieldError[] = []
  const keyMessages = isQualifiedName(key)
  if (keyMessages.length > 0) errors.push(invalid('key', key, keyMessages.join('; ')))
  if (operator === 'gt' || operator === 'lt')
    values.forEach((value, i) => {
      if (parseInt64(value) === undefined)
        errors.push(
          invalid(`values[${i}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"),
        )
    })
  values.forEach((value, i) => {
    const messages = isLabelValue(value)
    if (messages.length > 0)
      errors.push(invalid(`values[${i}][${key}]`, value, messages.join('; ')))
  })
  return errors
}

const checkRequirement = (requirement: LabelRequirement): LabelRequirement => {
  const problem = aggregate(requirementErrors(requirement).map(formatError))
  if (problem === undefined) return requirement
  throw new SelectorError(problem)
}

const fail = (found: Token, expected: string): never => {
  throw new SelectorError(`found '${found.text}'${expected}`)
}

class LabelParser {
  readonly #tokens: Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokenize(text)
  }

  #look(): Token {
    return this.#tokens[this.#at]!
  }
  #take(): Token {
    // The end stays: a requirement that ends too early meets it again.
    const token = this.#look()
    if (token.type !== 'end') this.#at++
    return token
  }
  #startsRequirement(): boolean {
    const { type, text } = this.#look()
    return type === 'word' || (type === 'symbol' && text === '!')
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    if (this.#look().type === 'end') return requirements
    if (!this.#startsRequirement())
      fail(this.#look(), ", expected: !, identifier, or 'end of string'")
    for (;;) {
      requirements.push(this.#wrapped())
      const token = this.#take()
      if (token.type === 'end') break
      if (token.text !== ',' || token.type !== 'symbol')
        fail(token, ", expected: ',' or 'end of string'")
      if (!this.#startsRequirement()) fail(this.#look(), ", expected: identifier after ','")
    }
    return requirements.sort((a, b) => compareTexts(a.key, b.key))
  }

  #wrapped(): LabelRequirement {
    try {
      return this.#requirement()
    } catch (error) {
      if (error instanceof SelectorError)
        throw new SelectorError(`unable to parse requirement: ${error.message}`)
      throw error
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#take()
    const absent = token.type === 'symbol' && token.text === '!'
    if (absent) token = this.#take()
    if (token.type !== 'word') fail(token, ', expected: identifier')
    const key = token.text
    const messages = isQualifiedName(key)
    if (messages.length > 0)
      throw new SelectorError(formatError(invalid('', key, messages.join('; '))))
    const next = this.#look()
    if (absent || next.type === 'end' || (next.type === 'symbol' && next.text === ','))
      return { key, operator: absent ? '!' : 'exists', values: [] }
    const operatorToken = this.#take()
    const operator =
      (Object.hasOwn(binaryOperators, operatorToken.text)
        ? binaryOperators[operatorToken.text]
        : undefined) ?? fail(operatorToken, `, expected: ${binaryOperatorsInMessages.join(', ')}`)
    const isSet = operator === 'in' || operator === 'notin'
    const values = isSet ? this.#values() : [this.#exactValue()]
    return checkRequirement({ key, operator, values: [...new Set(values)].sort() })
  }

  #exactValue(): string {
    const next = this.#look()
    if (next.type === 'end' || (next.type === 'symbol' && next.text === ',')) return ''
    const token = this.#take()
    return token.type === 'word' ? token.text : fail(token, ', expected: identifier')
  }

  #is(text: string): boolean {
    return this.#look().type === 'symbol' && this.#look().text === text
  }

  #values(): string[] {
    const open = this.#take()
    if (open.type !== 'symbol' || open.text !== '(') fail(open, " expected: '('")
    if (this.#is(')')) {
      this.#take()
      return ['']
    }
    if (this.#look().type !== 'word' && !this.#is(','))
      fail(this.#look(), ", expected: ',', ')' or identifier")
    return this.#list()
  }

  /** Items may be empty: `(a,,b)` and `(,)` have an empty string among them. */
  #list(): string[] {
    const values: string[] = []
    for (;;) {
      const token = this.#take()
      if (token.type === 'word') {
        values.push(token.text)
        if (!this.#is(',') && !this.#is(')')) fail(this.#look(), ", expected: ',' or ')'")
      } else if (token.type === 'symbol' && token.text === ',') {
        if (values.length === 0 || this.#is(')') || this.#is(',')) values.push('')
      } else fail(token, ", expected: ',', or identifier")
      if (this.#is(')')) {
        this.#take()
        return values
      }
    }
  }
}

/** Sorted by key. Throws SelectorError. */
export const parseLabelSelector = (text: string): LabelRequirement[] =>
  new LabelParser(text).parse()

const splitFieldTerms = (text: string): string[] => {
  const terms: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      terms.push(text.slice(start, at))
      start = at + 1
    }
  }
  return text === '' ? [] : [...terms, text.slice(start)]
}

const invalidEscape = (what: string): SelectorError =>
  new SelectorError(`invalid field selector: invalid escape sequence: \\${what}`)

const unescapeValue = (text: string): string => {
  let value = ''
  let isEscaped = false
  for (const char of text) {
    const isSpecial = '\\,='.includes(char)
    if (isEscaped && !isSpecial) throw invalidEscape(char)
    if (!isEscaped && isSpecial && char !== '\\')
      // Upstream prints the number of the character.
      throw new SelectorError(
        `invalid field selector: unescaped character in value: ${char.codePointAt(0)}`,
      )
    isEscaped = !isEscaped && char === '\\'
    if (!isEscaped) value += char
  }
  if (isEscaped) throw invalidEscape('')
  return value
}

/** Throws SelectorError. Which fields are known is for the caller to decide, kind by kind. */
export const parseFieldSelector = (text: string): FieldRequirement[] =>
  splitFieldTerms(text)
    .sort()
    .filter((term) => term !== '')
    .map((term) => {
      const found = /!=|==|=/.exec(term)
      if (found === null)
        throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`)
      return {
        field: term.slice(0, found.index),
        operator: found[0] === '!=' ? '!=' : '=',
        value: unescapeValue(term.slice(found.index + found[0].length)),
      } satisfies FieldRequirement
    })
    // Neither field nor value: upstream turns the term into one that everything matches (fields, Transform).
    .filter(({ field, value }) => field !== '' || value !== '')

/** `valueOfField` yields what the object has at a field, an empty string when it has nothing. */
export const matchesFields = (
  requirements: readonly FieldRequirement[],
  valueOfField: (field: string) => string,
): boolean =>
  requirements.every((r) => (valueOfField(r.field) === r.value) === (r.operator === '='))
