/**
 * Conversions by a webhook for code that is synchronous. It is run until it needs a conversion whose result is not known
 * yet; that one is awaited, and the code is run again from its start. So it must do the same in every run.
 */

import type { KubeObject } from '#api/object.js'
import { stringify } from '#json/json.js'
import type { StoredConversion } from '../resource-definition.js'

/** Throws what the webhook failed with. */
export type ConvertNow = (object: KubeObject, apiVersion: string) => KubeObject

type Outcome = { readonly object: KubeObject } | { readonly error: unknown }

class ConversionAwaited extends Error {
  readonly outcome: Promise<void>
  constructor(outcome: Promise<void>) {
    super('a conversion is awaited')
    this.outcome = outcome
  }
}

/** Yields what `run` yields, at once where it converts nothing. */
export const withConversions = <T>(
  convert: StoredConversion['convert'],
  run: (convert: ConvertNow) => T,
): T | Promise<T> => {
  const known = new Map<string, Outcome>()
  const convertNow: ConvertNow = (object, apiVersion) => {
    // Each run makes new objects, so they are told apart by their content.
    const key = `${apiVersion}\n${stringify(object)}`
    const outcome = known.get(key)
    if (outcome === undefined) {
      throw new ConversionAwaited(
        convert(object, apiVersion).then(
          (converted) => void known.set(key, { object: converted }),
          (error: unknown) => void known.set(key, { error }),
        ),
      )
    }
    if ('error' in outcome) throw outcome.error
    return outcome.object
  }
  const attempt = (): T | Promise<T> => {
    try {
      return run(convertNow)
    } catch (error) {
      if (error instanceof ConversionAwaited) return error.outcome.then(attempt)
      throw error
    }
  }
  return attempt()
}
