/** How one attempt of a probe or a hook ended. */

/**
 * `message`: why it failed, in upstream's words; of a command it is the output, and `error` says with which code it ended.
 * `warning`: what is odd about a success. `unknown`: the attempt could not be made, so it tells nothing about the container.
 */
export type Outcome =
  | { readonly ok: true; readonly warning?: string }
  | {
      readonly ok: false
      readonly message: string
      readonly error?: string
      readonly unknown?: true
    }

export const ok: Outcome = { ok: true }
export const failed = (message: string, error?: string): Outcome => ({
  ok: false,
  message,
  ...(error === undefined ? {} : { error }),
})
export const unknown = (message: string): Outcome => ({ ok: false, message, unknown: true })
