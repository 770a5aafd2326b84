/** What the kernel says of connections on 127.0.0.1. */
import { existsSync, readFileSync } from 'node:fs'

const table = '/proc/net/tcp'
const hasTable = existsSync(table)
/** For tests that need it. */
export const withTable = { skip: !hasTable && 'there is no table of connections here' }

const addressOf = (port: number): string =>
  `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`

/** Whether the kernel asks now and then if the other side is still there: at that end whose own (or other) port it is. */
export const isAskedFor = (which: { own: number } | { other: number }): boolean => {
  const established = '01'
  const column = 'own' in which ? 1 : 2
  const address = addressOf('own' in which ? which.own : which.other)
  const rows = readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((row) => row[column] === address && row[3] === established)
  // 2 is the timer of keepalive.
  return rows.length > 0 && rows.every((row) => row[5]?.startsWith('02:'))
}
