import t from 'tap'
import { missingRules } from '#authz/rbac-rules.js'

// CompactRules of upstream's package validation: verbs are joined for resources alone.
t.test('of missing rights to a path none hides another, not even the empty verb', async (t) => {
  const wanted = [
    { verbs: ['get', ''], nonResourceURLs: ['/a'] },
    { verbs: ['get', ''], apiGroups: [''], resources: ['pods'] },
  ]
  t.same(missingRules([], wanted), [
    { verbs: ['get', ''], apiGroups: [''], resources: ['pods'] },
    { verbs: ['get'], nonResourceURLs: ['/a'] },
    { verbs: [''], nonResourceURLs: ['/a'] },
  ])
})
