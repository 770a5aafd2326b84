import { limits } from '#limits'

/**
 * For connections to names. Node gives up an address of several after a quarter of a second, also one that has answered
 * while this process was busy for that long. (Go's goes on with it while it tries the next.)
 */
export const dialOptions = { autoSelectFamilyAttemptTimeout: limits.addressTryMs }
