import t from 'tap'
import { cidrWarnings } from '#validation/network.js'

// net.IPNet's String: the mask is that of IPv4 where the network is mapped, not where an address in it is.
t.test(
  'a short prefix before an address that is mapped to IPv6 is that of a network of IPv6',
  async (t) => {
    t.same(cidrWarnings('p', '::ffff:1.2.3.4/24'), [
      'p: CIDR value "::ffff:1.2.3.4/24" is ambiguous in this context (should be "::/24" or "1.2.3.4/128"?)',
      'p: non-standard CIDR value "::ffff:1.2.3.4/24" is invalid: use "::/24"',
    ])
    t.same(cidrWarnings('p', '::ffff:1.2.3.0/120'), [
      'p: non-standard CIDR value "::ffff:1.2.3.0/120" is invalid: use "1.2.3.0/24"',
    ])
  },
)
