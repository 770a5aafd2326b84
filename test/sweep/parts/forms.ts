/** What is written and read of every kind in every form of an answer: tables, metadata alone, YAML, and what is none of them. */

import type { Dice } from '../../dice.js'
import { type Resource, readApi } from '../api-documents.js'
import { type Subject, subjectsOf, withStored } from '../subjects.js'
import { namespace, type Part } from '../sweep.js'
import { type Request, typed } from '../target.js'

const form = (as: string, type = 'json', version = 'v1', group = 'meta.k8s.io'): string =>
  `application/${type};as=${as};g=${group};v=${version}`
const medias = [
  ...['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'].map((as) => form(as)),
  ...[form('Table', 'yaml'), form('PartialObjectMetadata', 'yaml'), 'application/yaml'],
  ...[form('Table', 'json', 'v1beta1'), form('PartialObjectMetadata', 'json', 'v1beta1')],
  ...[form('PartialObjectMetadataList', 'json', 'v1beta1'), form('Scale'), form('Table', 'xml')],
  ...[`${form('Table')},${form('PartialObjectMetadata')},application/json`],
  ...[`${form('Scale')},application/json`, `text/plain,${form('Table')};q=0.5`, 'application/json'],
]

type Make = (subject: Subject, dice: Dice) => Request

const everywhere = ({ collection }: Resource): string =>
  collection.replace(`/namespaces/${namespace}`, '')
const includeObject = ({ pick }: Dice): string =>
  pick([
    '',
    '',
    'includeObject=Object',
    'includeObject=None',
    'includeObject=Metadata',
    'includeObject=x',
  ])
const byName = (name: string): string => `fieldSelector=metadata.name%3D${name}`

/** Nothing is changed by any. */
const reads: readonly Make[] = [
  ({ url }, dice) => ({ method: 'GET', path: `${url}?${includeObject(dice)}` }),
  ({ url, resource }, dice) => {
    const subresource = dice.pick([...resource.subresources, 'status', 'scale', 'x'])
    const method = dice.pick(['GET', 'GET', 'GET', 'PATCH'])
    return method === 'GET'
      ? { method, path: `${url}/${subresource}?${includeObject(dice)}` }
      : {
          method,
          path: `${url}/${subresource}?dryRun=All&${includeObject(dice)}`,
          body: { metadata: { annotations: { a: 'b' } } },
          headers: typed('merge-patch+json'),
        }
  },
  ({ resource, name }, dice) => ({
    method: 'GET',
    path: `${dice.pick([resource.collection, everywhere(resource)])}?${byName(name)}&${includeObject(dice)}`,
  }),
  ({ resource }) => ({ method: 'GET', path: `${resource.collection}?${byName('none')}` }),
  ({ resource, body }, dice) => ({
    method: 'POST',
    path: `${resource.collection}?dryRun=All&${includeObject(dice)}`,
    body: { ...body, metadata: { ...body.metadata, name: dice.pick(['other', 'Wrong_Name']) } },
  }),
  ({ url, body }, dice) => ({
    method: 'PUT',
    path: `${url}?dryRun=All&${includeObject(dice)}`,
    body,
  }),
  ({ url, body: { apiVersion, kind, metadata } }, dice) => {
    const type = dice.pick(['merge-patch+json', 'apply-patch+yaml'])
    const labelled = { ...metadata, labels: { form: 'x' } }
    return {
      method: 'PATCH',
      path: `${url}?dryRun=All&fieldManager=m&force=true&${includeObject(dice)}`,
      body: { apiVersion, kind, metadata: labelled },
      headers: typed(type),
    }
  },
  ({ url }, dice) => ({
    method: 'DELETE',
    path: `${url}?dryRun=All&${dice.pick(['', 'propagationPolicy=Foreground', 'gracePeriodSeconds=0'])}`,
  }),
  ({ resource, name }) => ({
    method: 'DELETE',
    path: `${resource.collection}?dryRun=All&${byName(name)}`,
  }),
]

const asked = 120

export const forms: Part = {
  name: 'forms',
  play: async (sweep, dice) => {
    for (const subject of subjectsOf(await readApi(sweep.against), sweep))
      await withStored(sweep, subject, async () => {
        const examples = Array.from({ length: Math.ceil(asked * sweep.share) }, () => {
          const request = dice.pick(reads)(subject, dice)
          const headers = { ...request.headers, accept: dice.pick(medias) }
          return {
            where: `${request.method} ${subject.resource.name}`,
            request: { ...request, headers },
          }
        })
        await sweep.compareAll(examples)
      })
  },
}
