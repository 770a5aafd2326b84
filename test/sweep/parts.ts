/** All parts of the sweep, in the order in which they are played. */
import { access } from './parts/access.js'
import { customResources } from './parts/definitions.js'
import { deletes } from './parts/deletes.js'
import { documents } from './parts/documents.js'
import { pairsOfFields, singleFields } from './parts/fields.js'
import { forms } from './parts/forms.js'
import { policies } from './parts/policies.js'
import { requests } from './parts/requests.js'
import { resizes } from './parts/resizes.js'
import { sequences } from './parts/sequences.js'
import { subresources } from './parts/subresources.js'
import { texts } from './parts/texts.js'
import { versions } from './parts/versions.js'
import { watches } from './parts/watches.js'
import type { Part } from './sweep.js'

export const parts: readonly Part[] = [
  ...singleFields,
  ...pairsOfFields,
  ...texts,
  subresources,
  forms,
  requests,
  sequences,
  deletes,
  resizes,
  watches,
  customResources,
  versions,
  policies,
  access,
  documents,
]
