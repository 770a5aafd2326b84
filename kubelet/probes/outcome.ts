/** How one attempt of a probe or a hook ended. */

/**
 * `message`: why it failed, in upstream's words. `warning`: what is odd about a success. `unknown`: the attempt could not
 * be made, so it tells nothing about the container.
 */
export type Outcome =
  | { readonly ok: true; readonly warning?: string }
  | { readonly ok: false; readonly message: string; readonly unknown?: true }

export const ok: Outcome = { ok: true }
export const failed = (message: string): Outcome => ({ ok: false, message })
export const unknown = (message: string): Outcome => ({ ok: false, message, unknown: true })
