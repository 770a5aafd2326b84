/** Asks two servers the same and keeps what they answer differently. */
import { type Dice, diceOf } from '../dice.js'
import { type Difference, differenceOf } from './difference.js'
import { sameAnswer, sameCauses } from './harmless.js'
import { createReport, type Example, type Report } from './report.js'
import { shrink } from './shrink.js'
import { type Answer, ask, type Request, type Target } from './target.js'

interface SweepOptions {
  /** The one that is looked at. */
  readonly server: Target
  /** The one that is right. */
  readonly against: Target
  /** Which kinds, as group/Kind. */
  readonly kinds: RegExp
  readonly seed: number
  /** How much of what could be asked is. */
  readonly share: number
}

export interface Answers {
  readonly server: Answer
  readonly against: Answer
}

export interface Sweep extends SweepOptions {
  /** Asks without comparing, and says what both answered. */
  prepare(request: Request): Promise<Answers>
  /** The same where each has a name of its own for something. */
  prepareEach(requestOf: (side: keyof Answers) => Request): Promise<Answers>
  /** Asks and compares; whether both answered the same. */
  compare(example: Example): Promise<boolean>
  /** The same for many that do not depend on each other, some at once. */
  compareAll(examples: readonly Example[]): Promise<void>
  note(example: Example, answers: Answers): void
  report(): Report
}

/** What gives the answer of a part: its own chance, and what it asks. */
export interface Part {
  readonly name: string
  play(sweep: Sweep, dice: Dice): Promise<void>
}

export const namespace = 'sweep'
const atOnce = 6
const againMax = 12

const isRefused = ({ code }: Answer): boolean => code >= 400

/** Can be asked again without changing what is answered. */
const isRepeatable = ({ method, path }: Request, { server, against }: Answers): boolean =>
  method === 'GET' ||
  path.includes('dryRun=All') ||
  /review/.test(path) ||
  (isRefused(server) && isRefused(against))

export const createSweep = (options: SweepOptions): Sweep => {
  const { server, against } = options
  const notes = createReport()

  const prepareEach: Sweep['prepareEach'] = async (requestOf) => {
    const [ours, theirs] = await Promise.all([
      ask(server, requestOf('server')),
      ask(against, requestOf('against')),
    ])
    return { server: ours, against: theirs }
  }
  const prepare: Sweep['prepare'] = (request) => prepareEach(() => request)

  /**
   * Where Go ranges over a map (causes of several labels, names that a message lists) each answer has its own order: what either
   * server answers now and the other at another time is no difference. The state of a server that settles is one neither.
   */
  const isUnsteady = async (request: Request, first: Answers): Promise<boolean> => {
    const [ours, theirs] = [[first.server], [first.against]]
    for (let i = 0; i < againMax; i++) {
      const next = await prepare(request)
      ours.push(next.server)
      theirs.push(next.against)
      if (ours.some((one) => theirs.some((other) => sameAnswer(one, other)))) return true
    }
    const varies = theirs.some((other) => !sameAnswer(other, first.against))
    return varies && sameCauses(first.server, first.against)
  }

  const isOfClass = async (request: Request, { className }: Difference): Promise<boolean> => {
    const answers = await prepare(request)
    if (sameAnswer(answers.server, answers.against)) return false
    return differenceOf(answers.server, answers.against).className === className
  }

  const compare = async (example: Example): Promise<boolean> => {
    const { request } = example
    const answers = await prepare(request)
    notes.counted()
    if (sameAnswer(answers.server, answers.against)) return true
    const difference = differenceOf(answers.server, answers.against)
    if (!isRepeatable(request, answers) || notes.knows(difference)) {
      notes.add(example, difference)
      return false
    }
    if (await isUnsteady(request, answers)) return true
    const smallest = await shrink(request, (smaller) => isOfClass(smaller, difference))
    // Fewer entries of a map have fewer orders.
    if (smallest !== request && (await isUnsteady(smallest, await prepare(smallest)))) return true
    notes.add({ ...example, request: smallest }, difference)
    return false
  }

  return {
    ...options,
    prepare,
    prepareEach,
    compare,
    compareAll: async (examples) => {
      const waiting = examples.values()
      const worker = async () => {
        for (const example of waiting) await compare(example)
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
    },
    note: (example, answers) => {
      notes.counted()
      if (sameAnswer(answers.server, answers.against)) return
      notes.add(example, differenceOf(answers.server, answers.against))
    },
    report: notes.report,
  }
}

export const play = async (sweep: Sweep, parts: readonly Part[]): Promise<void> => {
  await sweep.prepare({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: namespace } },
  })
  for (const part of parts) await part.play(sweep, diceOf(sweep.seed, part.name))
}
