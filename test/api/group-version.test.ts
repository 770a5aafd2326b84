import t from 'tap'
import { compareVersions } from '#api/group-version.js'

// CompareKubeAwareVersionStrings of apimachinery: `^v([\d]+)(?:(alpha|beta)([\d]+))?$`, with numbers that Atoi reads.
t.test(
  'versions with zeros are versions, and those with a number that no int holds are not',
  async (t) => {
    const ordered = [
      'v10',
      'v2',
      'v01',
      'v0',
      'v1beta0',
      'v0beta1',
      'v1alpha2',
      'v0alpha0',
      'a',
      'v9999999999999999999',
    ]
    t.same(ordered.toReversed().sort(compareVersions), ordered)
  },
)
