/** Errors of calls, for those who start before any of gRPC is loaded. */
import type { RpcError } from './rpc-client.js'

const isOfCall = (error: unknown): error is RpcError => (error as RpcError).goText !== undefined

/** What Go prints of an error of a call; of others their message. */
export const textOf = (error: unknown): string =>
  isOfCall(error) ? error.goText : (error as Error).message

/** Whether the other side has surely not done what it was asked for. */
export const isFinal = (error: unknown): boolean => isOfCall(error) && error.isFinal

/** Of the other side's answer; undefined if that is not what failed. */
export const codeOf = (error: unknown): number | undefined =>
  isOfCall(error) ? error.code : undefined
