/** How one attempt of a probe or a hook ended. */

/** `message` says why it failed, in upstream's words. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly message: string }

export const ok: Outcome = { ok: true }
export const failed = (message: string): Outcome => ({ ok: false, message })
