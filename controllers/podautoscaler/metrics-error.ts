/** What client-go says of an answer. */
import { isUnexpectedAnswer, messageOf } from '#client/errors.js'

/** `what` is the resource and its group, then the name if there is one: told where the server sent no Status. */
export const clientMessage = (error: unknown, what: string): string =>
  isUnexpectedAnswer(error) ? `${messageOf(error)} (get ${what})` : messageOf(error)
