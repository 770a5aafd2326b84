/** Reads flags as Kubernetes' programs do: `--name value`, `--name=value`, booleans with or without `=true`. */
import { parseArgs } from 'node:util'
import { durationMs, durationProblem, printedDuration } from '#go/duration.js'

/** A value of `strings` may be several, separated by commas; a value of `stringArray` is always one. */
export type FlagType =
  | 'string'
  | 'strings'
  | 'stringArray'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'duration'

export interface Flag {
  readonly name: string
  /** One letter: `n` for `-n`. */
  readonly short?: string
  readonly type: FlagType
  /** One line for --help. */
  readonly help: string
  readonly default?: string
  /** What is wrong with a value; undefined when nothing is. */
  readonly check?: (value: string) => string | undefined
}

/** Flags by name alone, for those that are not read. `always` is what is so here whatever they say. */
export const flagsOf = (type: FlagType, names: string, always?: string): Flag[] =>
  names
    .split(/\s+/)
    .filter(Boolean)
    .map((name) => ({ name, type, help: '', ...(always === undefined ? {} : { default: always }) }))

export const verbosityFlag: Flag = {
  name: 'v',
  short: 'v',
  type: 'integer',
  default: '0',
  check: (value) => notNegative(value),
  help: 'log verbosity: 0 warnings, 1 information, 4 debugging',
}

export const helpFlag: Flag = { name: 'help', short: 'h', type: 'boolean', help: 'this text' }

export const portProblem = (value: string): string | undefined =>
  Number(value) >= 0 && Number(value) <= 65_535 ? undefined : 'must be a port, 0 to 65535'

export const between =
  (min: number, max: number) =>
  (value: string): string | undefined =>
    Number(value) >= min && Number(value) <= max ? undefined : `must be ${min} to ${max}`

export const notNegative = (value: string): string | undefined =>
  Number(value) < 0 ? 'must not be negative' : undefined

/** Values by flag name; `strings` are lists, every other type is the last text given. */
export class Flags {
  readonly #values: ReadonlyMap<string, string | readonly string[]>
  readonly #given: ReadonlySet<string>
  /** Accepted flags that were given and mean nothing here, with their dashes. */
  readonly ignored: readonly string[]
  /** The argument that is no flag, where the command takes one. */
  readonly argument: string
  readonly #table: readonly Flag[]

  constructor(
    values: ReadonlyMap<string, string | readonly string[]>,
    {
      table,
      given,
      ignored,
      argument,
    }: {
      table: readonly Flag[]
      given: ReadonlySet<string>
      ignored: readonly string[]
      argument: string
    },
  ) {
    this.#table = table
    this.#values = values
    this.#given = given
    this.ignored = ignored
    this.argument = argument
  }
  /** The same flags, with these values for those that were not given. */
  withDefaults(defaults: Readonly<Record<string, string | readonly string[]>>): Flags {
    const others = Object.entries(defaults).filter(([name]) => !this.#given.has(name))
    return new Flags(new Map([...this.#values, ...others]), {
      table: this.#table,
      given: this.#given,
      ignored: this.ignored,
      argument: this.argument,
    })
  }
  /** Whether it was given, even with its default value. */
  isGiven(name: string): boolean {
    return this.#given.has(name)
  }
  text(name: string): string | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' ? value : undefined
  }
  list(name: string): readonly string[] | undefined {
    const value = this.#values.get(name)
    return typeof value === 'string' ? [value] : value
  }
  number(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : Number(value)
  }
  /** The value of each flag as Go prints it: lists in brackets, `` where nothing was given. */
  shown(): Record<string, string> {
    return Object.fromEntries(
      this.#table.map(({ name, type }) => {
        if (type === 'strings' || type === 'stringArray')
          return [name, `[${(this.list(name) ?? []).join(',')}]`]
        const text = this.text(name) ?? (type === 'boolean' ? 'false' : '')
        return [name, type === 'duration' && text !== '' ? printedDuration(durationMs(text)) : text]
      }),
    )
  }
  boolean(name: string): boolean {
    return this.text(name) === 'true'
  }
  milliseconds(name: string): number | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : durationMs(value)
  }
}

/** A mistake on the command line: it is one line and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** By its name: the bundle of the kubelet has a class of its own. */
export const isUsageError = (error: unknown): error is UsageError =>
  error instanceof Error && error.name === 'UsageError'

const problemOf = (flag: Flag, value: string): string | undefined => {
  if (flag.type === 'integer' && !/^-?\d+$/.test(value)) return 'must be a whole number'
  if (flag.type === 'float' && (value.trim() === '' || !Number.isFinite(Number(value))))
    return 'must be a number'
  if (flag.type === 'duration' && (value.startsWith('-') || durationProblem(value) !== undefined))
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

interface OptionToken {
  rawName: string
  value?: string | undefined
  inlineValue?: boolean | undefined
}

const readTokens = (args: readonly string[], known: ReadonlyMap<string, Flag>) =>
  parseArgs({
    args: [...args],
    strict: false,
    allowPositionals: true,
    tokens: true,
    options: Object.fromEntries(
      [...known].map(([name, { type, short }]) => [
        name,
        { type: type === 'boolean' ? 'boolean' : 'string', ...(short ? { short } : {}) } as const,
      ]),
    ),
  }).tokens

/** `-v=2` means `-v2` and `-v 2`, as for pflag; Node takes the `=` for a part of the value. */
const textOf = ({ rawName, value, inlineValue }: OptionToken): string | undefined =>
  inlineValue && !rawName.startsWith('--') ? value?.replace(/^=/, '') : value

const isList = ({ type }: Flag): boolean => type === 'strings' || type === 'stringArray'

/** The text after a flag, in the form of its type: each part of a list. Throws a UsageError. */
const readParts = (flag: Flag, rawName: string, value: string): string[] => {
  const parts = flag.type === 'strings' ? value.split(',') : [normalise(flag, value)]
  for (const part of parts) {
    const problem = problemOf(flag, part)
    if (problem !== undefined)
      throw new UsageError(`invalid value ${JSON.stringify(part)} for ${rawName}: ${problem}`)
  }
  return parts
}

interface ParseOptions {
  /** Flags that are accepted, unread, and named in `ignored`, unless they ask for their default: that is so anyway. */
  readonly ignored?: readonly Flag[] | undefined
  /** What the one argument that is no flag is called in errors. Without it there is none; in brackets it may be missing. */
  readonly argument?: string | undefined
  /** Arguments of a file, which those of the command line replace. */
  readonly fromFile?: readonly string[] | undefined
}

/** Throws a UsageError. */
export const parseFlags = (
  args: readonly string[],
  flags: readonly Flag[],
  options: ParseOptions = {},
): Flags => {
  const own = new Map(flags.map((flag) => [flag.name, flag]))
  const known = new Map([...(options.ignored ?? []).map((f) => [f.name, f] as const), ...own])
  const values = new Map<string, string | readonly string[]>()
  for (const flag of flags)
    if (flag.default !== undefined)
      values.set(flag.name, flag.type === 'strings' ? flag.default.split(',') : flag.default)
  const given = new Set<string>()
  const ignored = new Set<string>()
  const lists = new Map<string, string[]>()
  const positionals: string[] = []
  const tokensOfFile = readTokens(options.fromFile ?? [], known)
  for (const [at, token] of [...tokensOfFile, ...readTokens(args, known)].entries()) {
    // A list that is given again is longer; that of the file counts only where the command line has none.
    if (at === tokensOfFile.length) lists.clear()
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName } = token
    const flag = known.get(name)
    if (flag === undefined) throw new UsageError(`unknown flag: ${rawName}`)
    const value = textOf(token) ?? (flag.type === 'boolean' ? 'true' : undefined)
    if (value === undefined) throw new UsageError(`flag needs an argument: ${rawName}`)
    if (!own.has(name)) {
      const [asked] = readParts(flag, rawName, value)
      if (asked !== flag.default) ignored.add(rawName)
      continue
    }
    given.add(name)
    const parts = readParts(flag, rawName, value)
    if (isList(flag)) {
      const list = [...(lists.get(name) ?? []), ...parts.filter((part) => part !== '')]
      lists.set(name, list)
      values.set(name, list)
    } else values.set(name, parts[0]!)
  }
  const { argument } = options
  const unexpected = positionals[argument === undefined ? 0 : 1]
  if (unexpected !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(unexpected)}`)
  if (argument !== undefined && !argument.startsWith('[') && positionals.length === 0)
    throw new UsageError(`${argument} is missing`)
  return new Flags(values, {
    table: flags,
    given,
    ignored: [...ignored],
    argument: positionals[0] ?? '',
  })
}

const typeNames: Partial<Record<FlagType, string>> = { integer: 'int', boolean: '' }

/** A line for each flag: its names, its type, its help and its default. */
const describeFlags = (flags: readonly Flag[]): string => {
  const heads = flags.map(({ name, short, type }) => {
    const dashes = short === undefined ? `--${name}` : `-${short}, --${name}`
    return `${dashes} ${typeNames[type] ?? type}`.trimEnd()
  })
  const width = Math.max(...heads.map((head) => head.length))
  return flags
    .map((flag, at) => {
      const tail = flag.default === undefined ? '' : ` (default ${flag.default})`
      return `  ${heads[at]!.padEnd(width)}   ${flag.help}${tail}\n`
    })
    .join('')
}

interface Usage {
  /** As in `kubelevel NAME`. */
  readonly name: string
  /** One line. */
  readonly help: string
  readonly argument?: string | undefined
  readonly flags: readonly Flag[]
}

export const asksForHelp = (args: readonly string[]): boolean =>
  args.includes('--help') || args.includes('-h')

/** Scripts ask a kube-apiserver for its version before they start it. */
export const asksForVersion = (args: readonly string[]): boolean =>
  args.includes('--version') || args.includes('--version=true')

/** The text of `kubelevel NAME --help`. */
export const helpText = ({ name, help, argument, flags }: Usage): string =>
  `${help}\n\nUsage: kubelevel ${name}${argument === undefined ? '' : ` ${argument}`} [flags]\n\n${describeFlags(flags)}`

/** The message for a UsageError; `command` as it was typed. */
export const usageMistake = (command: string, message: string): string =>
  `${command}: ${message} (see ${command} --help)\n`
