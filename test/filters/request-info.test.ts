/** What a request is about, read off method and URL alone. */
import fc from 'fast-check'
import t from 'tap'
import { parseRequestInfo } from '#filters/request-info.js'

const cases: [string, string, Partial<ReturnType<typeof parseRequestInfo>>][] = [
  ['GET', '/', { isResourceRequest: false, verb: 'get', path: '/' }],
  ['GET', '/api/v1', { isResourceRequest: false, path: '/api/v1' }],
  ['GET', '/apis/apps/v1', { isResourceRequest: false }],
  ['POST', '/healthz', { isResourceRequest: false, verb: 'post' }],
  ['GET', '/api/v1/pods', { verb: 'list', resource: 'pods', namespace: '', name: '' }],
  ['GET', '/api/v1/pods/', { verb: 'list', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch=true', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=1', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch', { verb: 'watch' }],
  ['GET', '/api/v1/pods?watch=false', { verb: 'list' }],
  ['GET', '/api/v1/pods?watch=0', { verb: 'list' }],
  ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces', namespace: '' }],
  [
    'GET',
    '/api/v1/namespaces/a',
    { verb: 'get', resource: 'namespaces', namespace: 'a', name: 'a' },
  ],
  [
    'PUT',
    '/api/v1/namespaces/a/finalize',
    { verb: 'update', resource: 'namespaces', subresource: 'finalize', name: 'a', namespace: 'a' },
  ],
  ['GET', '/api/v1/namespaces/a/pods', { verb: 'list', resource: 'pods', namespace: 'a' }],
  [
    'GET',
    '/api/v1/namespaces/a/pods/b/log?follow=true',
    { verb: 'get', resource: 'pods', subresource: 'log', name: 'b', namespace: 'a' },
  ],
  [
    'POST',
    '/api/v1/namespaces/a/pods/b/proxy/x/y',
    { verb: 'create', subresource: 'proxy', parts: ['pods', 'b', 'proxy', 'x', 'y'] },
  ],
  [
    'DELETE',
    '/apis/apps/v1/namespaces/a/deployments',
    { verb: 'deletecollection', apiGroup: 'apps', apiVersion: 'v1', resource: 'deployments' },
  ],
  ['DELETE', '/apis/apps/v1/namespaces/a/deployments/x', { verb: 'delete', name: 'x' }],
  ['PATCH', '/apis/a.b/v2beta1/things/x/status', { verb: 'patch', subresource: 'status' }],
  ['HEAD', '/api/v1/namespaces/a/pods/b', { verb: 'get', name: 'b' }],
  ['OPTIONS', '/api/v1/pods', { isResourceRequest: true, verb: '' }],
  ['PROPFIND', '/api/v1/pods', { isResourceRequest: true, verb: '' }],
  ['GET', '/api/v1/watch/pods', { verb: 'watch', resource: 'pods' }],
  [
    'GET',
    '/api/v1/watch/namespaces/a/pods/b',
    { verb: 'watch', resource: 'pods', namespace: 'a', name: 'b', subresource: '' },
  ],
  ['GET', '/api/v1/watch/namespaces/a/pods/b/log', { verb: 'watch', subresource: 'log' }],
  ['GET', '/api/v1/proxy/namespaces/a/pods/b/log', { verb: 'proxy', subresource: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', { verb: 'list', name: 'x' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=..', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name!=x', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=b,metadata.name=a', { name: 'a' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=x&limit=1', { verb: 'list', name: 'x' }],
  // One option that cannot be read, and none counts but watch.
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=x&limit=x', { verb: 'list', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=x&watch=1&limit=', { verb: 'watch', name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=x&labelSelector=a+in', { name: '' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name=x,odd', { verb: 'list', name: '' }],
  [
    'GET',
    '/api/v1/namespaces/a/secrets/a%2Fb',
    { resource: 'secrets', name: 'a', subresource: 'b' },
  ],
  ['GET', '/api/v1/pods/%zz', { resource: 'pods', name: '%zz' }],
  ['GET', '//api/v1/pods', { resource: 'pods' }],
]

t.test('methods and paths become verbs and resources as upstream reads them', async (t) => {
  for (const [method, url, expected] of cases)
    t.match(parseRequestInfo(method, url), expected, `${method} ${url}`)
})

t.test(
  'no path whatever makes it throw, and a resource request always has a resource',
  async (t) => {
    const part = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'namespaces',
      'watch',
      'proxy',
      'a',
      '',
      '%',
      '..',
      'status',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), fc.string(), (parts, query) => {
        const info = parseRequestInfo('GET', `/${parts.join('/')}?${query}`)
        return !info.isResourceRequest || info.parts.length > 0
      }),
    )
    t.pass('held')
  },
)
