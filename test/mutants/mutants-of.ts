/** Small mistakes in compiled code. A test should notice each, unless what it changes does not matter. */

export interface Mutant {
  /** From 0. */
  readonly line: number
  readonly before: string
  readonly after: string
}

/** The first group stays as it is. */
const mistakes: readonly (readonly [RegExp, string])[] = [
  [/()===/g, '!=='],
  [/()!==/g, '==='],
  [/()&&/g, '||'],
  [/()\|\|/g, '&&'],
  [/() \?\? /g, ' && '],
  [/() < /g, ' <= '],
  [/() > /g, ' >= '],
  [/() <= /g, ' < '],
  [/() >= /g, ' > '],
  [/() [+-] 1\b/g, ''],
  [/()\btrue\b/g, 'false'],
  [/()\bfalse\b/g, 'true'],
  [/()\bif \(/g, 'if (true || '],
  [/()\bif \(/g, 'if (false && '],
  // A statement that is left out.
  [/^(\s+)(?:await )?[\w#.]+\([^{]*\);$/g, ';'],
  [/^(\s+)throw .*;$/g, ';'],
  [/^(\s+)(?:return|continue);$/g, ';'],
  [/^(\s+)return (?!false|undefined)[^{(]*;$/g, 'return undefined;'],
]

const isCode = (line: string): boolean => !/^\s*(?:\/\/|\/?\*|import |export \{)/.test(line)

export const mutantsOf = (code: string): Mutant[] =>
  code.split('\n').flatMap((before, line) =>
    isCode(before)
      ? mistakes.flatMap(([pattern, mistake]) =>
          [...before.matchAll(pattern)].map(({ 0: found, 1: kept, index }) => ({
            line,
            before,
            after: before.slice(0, index) + kept + mistake + before.slice(index + found.length),
          })),
        )
      : [],
  )

export const mutated = (code: string, { line, after }: Mutant): string =>
  code.split('\n').with(line, after).join('\n')
