import { defineKind } from '#registry/resource-definition.js'
import { sampleWebhook, webhookStrategy } from './webhook-configuration.js'

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  strategy: webhookStrategy(false),
  sample: { metadata: { name: 'sample' }, webhooks: [sampleWebhook] },
})
