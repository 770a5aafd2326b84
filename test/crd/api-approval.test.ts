/** Which annotations approve a definition in a group of the community: what Go reads as the URL of a request. */
import t from 'tap'
import { approvalAnnotation, approvalOf } from '#crd/definition/api-approval.js'
import type { CustomResourceDefinition } from '#crd/definition/definition.js'

const approvals: Record<string, string> = {
  '': 'missing',
  'unapproved, a test': 'bypassed',
  'https://github.com/kubernetes/kubernetes/pull/78458': 'approved',
  'https://a/ b': 'approved',
  'https://user@a': 'approved',
  'https://a b/': 'invalid',
  'https://a:x/': 'invalid',
  'https://[::1/': 'invalid',
  'https://a/%zz': 'invalid',
  'https:///a': 'invalid',
  '//a/b': 'invalid',
  'mailto:a@b': 'invalid',
}

t.test('an approval is a URL with a host', async (t) => {
  for (const [annotation, approval] of Object.entries(approvals)) {
    const metadata = { name: 'a', annotations: { [approvalAnnotation]: annotation } }
    t.equal(approvalOf({ metadata } as unknown as CustomResourceDefinition), approval, annotation)
  }
})
