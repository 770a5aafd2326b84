/** Go's time.Time that was never set, as its RFC 3339. */
export const zeroTime = '0001-01-01T00:00:00Z'
