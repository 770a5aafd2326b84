/** Reads flags as kube-apiserver's do: `--name value`, `--name=value`, booleans with or without `=true`. */
import { parseArgs } from 'node:util'
import { ignoredBooleanFlags, ignoredValueFlags } from './upstream-flags.js'

export type FlagType = 'string' | 'strings' | 'boolean' | 'integer' | 'duration'

export interface Flag {
  readonly name: string
  readonly type: FlagType
  /** One line for --help. */
  readonly help: string
  readonly default?: string
  /** What is wrong with a value; undefined when nothing is. */
  readonly check?: (value: string) => string | undefined
}

/** Values by flag name; `strings` are lists, every other type is the last text given. */
export class Flags {
  readonly #values: ReadonlyMap<string, string | readonly string[]>
  /** Flags of kube-apiserver that were given and do nothing here. */
  readonly ignored: readonly string[]

  constructor(values: ReadonlyMap<string, string | readonly string[]>, ignored: readonly string[]) {
    this.#values = values
    this.ignored = ignored
  }
  text(name: string): string | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' ? value : undefined
  }
  list(name: string): readonly string[] | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' ? [value] : value
  }
  integer(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : Number(value)
  }
  /** The value of each flag as Go prints it: lists in brackets, `` where nothing was given. */
  shown(flags: readonly Flag[]): Record<string, string> {
    return Object.fromEntries(
      flags.map(({ name, type }) => {
        if (type === 'strings') return [name, `[${(this.list(name) ?? []).join(',')}]`]
        return [name, this.text(name) ?? (type === 'boolean' ? 'false' : '')]
      }),
    )
  }
  boolean(name: string): boolean {
    return this.text(name) === 'true'
  }
  milliseconds(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : parseDuration(value)
  }
}

/** The client of the command line got it wrong: one line, exit code 2. */
export class UsageError extends Error {}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** Go's duration, `1m30s`, in milliseconds; undefined when it is none. */
const parseDuration = (text: string): number | undefined => {
  if (text === '0') return 0
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined
  let total = 0
  for (const [, number, , unit] of text.matchAll(/(\d+(\.\d+)?)(ns|us|µs|ms|s|m|h)/g))
    total += Number(number) * unitMs[unit!]!
  return total
}

const problemOf = (flag: Flag, value: string): string | undefined => {
  if (flag.type === 'integer' && !/^-?\d+$/.test(value)) return 'must be a whole number'
  if (flag.type === 'duration' && parseDuration(value) === undefined)
    return 'must be a duration such as 30s or 1m'
  if (flag.type === 'boolean' && value !== 'true' && value !== 'false')
    return 'must be true or false'
  return flag.check?.(value)
}

/** The form of a value: booleans as in Go's ParseBool. */
const normalise = (flag: Flag, value: string): string => {
  if (flag.type !== 'boolean') return value
  if (/^(1|t|true)$/i.test(value)) return 'true'
  return /^(0|f|false)$/i.test(value) ? 'false' : value
}

interface Given {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
}

/** Yields the options in order. Unknown ones are refused here, because only known ones say whether they take a value. */
const readOptions = (args: readonly string[], known: ReadonlyMap<string, Flag>): Given[] => {
  const isBoolean = (name: string) =>
    known.get(name)?.type === 'boolean' || ignoredBooleanFlags.has(name)
  const names = [...known.keys(), ...ignoredBooleanFlags, ...ignoredValueFlags]
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      names.map((name) => [
        name,
        {
          type: isBoolean(name) ? 'boolean' : 'string',
          ...(name === 'help' ? { short: 'h' } : {}),
          ...(name === 'v' ? { short: 'v' } : {}),
        } as const,
      ]),
    ),
  })
  const given: Given[] = []
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional')
      throw new UsageError(`unexpected argument ${JSON.stringify(token.value)}`)
    const { name, rawName, value } = token
    if (!known.has(name) && !ignoredBooleanFlags.has(name) && !ignoredValueFlags.has(name))
      throw new UsageError(`unknown flag: ${rawName}`)
    if (value === undefined && !isBoolean(name))
      throw new UsageError(`flag needs an argument: ${rawName}`)
    given.push({ name, rawName, value: value ?? undefined })
  }
  return given
}

/** Throws a UsageError. `acceptUpstream`: flags of kube-apiserver without a meaning here are taken and named in `ignored`. */
export const parseFlags = (
  args: readonly string[],
  flags: readonly Flag[],
  options: { acceptUpstream: boolean },
): Flags => {
  const known = new Map(flags.map((flag) => [flag.name, flag]))
  const values = new Map<string, string | readonly string[]>()
  for (const flag of flags) if (flag.default !== undefined) values.set(flag.name, flag.default)
  const ignored = new Set<string>()
  const lists = new Map<string, string[]>()
  for (const { name, rawName, value = 'true' } of readOptions(args, known)) {
    const flag = known.get(name)
    if (flag === undefined) {
      if (!options.acceptUpstream) throw new UsageError(`unknown flag: ${rawName}`)
      ignored.add(rawName)
      continue
    }
    const parts = flag.type === 'strings' ? value.split(',') : [normalise(flag, value)]
    for (const part of parts) {
      const problem = problemOf(flag, part)
      if (problem !== undefined)
        throw new UsageError(`invalid value ${JSON.stringify(part)} for ${rawName}: ${problem}`)
    }
    if (flag.type === 'strings') {
      const list = lists.get(name) ?? []
      list.push(...parts.filter((part) => part !== ''))
      lists.set(name, list)
      values.set(name, list)
    } else values.set(name, parts[0]!)
  }
  return new Flags(values, [...ignored])
}

/** Lines of --help: the flag, its type, its help and its default. */
export const describeFlags = (flags: readonly Flag[]): string => {
  const heads = flags.map(({ name, type }) => {
    const dashes = name === 'v' ? '-v, --v' : `--${name}`
    return type === 'boolean' ? dashes : `${dashes} ${type === 'integer' ? 'int' : type}`
  })
  const width = Math.max(...heads.map((head) => head.length))
  return flags
    .map((flag, at) => {
      const tail = flag.default === undefined ? '' : ` (default ${flag.default})`
      return `  ${heads[at]!.padEnd(width)}   ${flag.help}${tail}\n`
    })
    .join('')
}
