import type { CopiedCheckout } from './copied-checkout.js'
import { type Mutant, mutated } from './mutants-of.js'

/** `invalid`: what is made of the code cannot even be bundled. */
type Fate = 'dies' | 'lives' | 'invalid'

interface Trial {
  readonly file: string
  readonly mutant: Mutant
  /** Ends with 0 if nothing was noticed. */
  readonly command: string
  readonly timeoutMs: number
}

/** A test that does not come to its end has noticed something. */
export const judge = async (
  checkout: CopiedCheckout,
  { file, mutant, command, timeoutMs }: Trial,
): Promise<Fate> => {
  const code = checkout.read(file)
  checkout.write(file, mutated(code, mutant))
  try {
    if (!(await checkout.run('node scripts/bundle.mjs', timeoutMs))) return 'invalid'
    return (await checkout.run(command, timeoutMs)) ? 'lives' : 'dies'
  } finally {
    checkout.write(file, code)
  }
}
