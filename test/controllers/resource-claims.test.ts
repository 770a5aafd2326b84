/** What is said of Pods whose ResourceClaims cannot be made. */
import t from 'tap'
import { resources } from '#client/resources.js'
import { until, untilPodsAreLetIn } from './cluster.js'
import { startControllers } from './in-process.js'
import { toldEvents } from './told-events.js'

t.test(
  'a Pod is told which template its claim is to be made of, and that it is missing',
  async (t) => {
    const controllers = ['resourceclaim-controller', 'serviceaccount-controller']
    const client = await startControllers(t, controllers)
    const namespace = 'default'
    await untilPodsAreLetIn(client, namespace)
    await client.create(resources.pods, {
      metadata: { name: 'p', namespace },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'none' }],
      },
    })
    const told = () => toldEvents(client, namespace)
    await until(async () => (await told()).length > 0)
    t.same(await told(), [
      'p FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "none": resourceclaimtemplate.resource.k8s.io "none" not found',
    ])
  },
)
