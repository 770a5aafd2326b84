/**
 * Addresses of Pods without a network namespace. As root on Linux every Pod gets one of its own: a `local` route makes
 * a whole range answer on the loopback device, so any process may bind any address of it and ports do not collide.
 * The default range is that of RFC 2544 (benchmarks), which no network routes; 127.0.0.0/8 would do without root, but
 * EndpointSlices refuse loopback addresses. Without root, or elsewhere, a Pod has the node's address, as upstream's
 * hostNetwork Pods have.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'

export const defaultPodCidr = '198.18.0.0/15'

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
const toAddress = (n: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.')

/** True when the host now answers on every address of the range. */
export const claimRange = (cidr: string): boolean =>
  process.platform === 'linux' &&
  spawnSync('ip', ['route', 'replace', 'local', cidr, 'dev', 'lo'], { stdio: 'ignore' }).status ===
    0

/** An address of the range that is not taken, the same one for the same Pod unless it is. */
export const pickAddress = (
  cidr: string,
  podUid: string,
  isTaken: (address: string) => boolean,
): string | undefined => {
  const [base = '', bits = '32'] = cidr.split('/')
  // Neither the first nor the last address of the range.
  const size = 2 ** (32 - Number(bits)) - 2
  const seed = createHash('sha256').update(podUid).digest().readUInt32BE(0)
  for (let i = 0; i < size; i++) {
    const address = toAddress(toNumber(base) + 1 + ((seed + i) % size))
    if (!isTaken(address)) return address
  }
  return undefined
}
