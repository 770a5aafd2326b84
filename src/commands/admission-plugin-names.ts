/** Names that --enable-admission-plugins and --disable-admission-plugins take: those of kube-apiserver v1.36. */
export const admissionPluginNames: ReadonlySet<string> = new Set(
  `AlwaysAdmit AlwaysDeny AlwaysPullImages CertificateApproval CertificateSigning CertificateSubjectRestriction
  ClusterTrustBundleAttest DefaultIngressClass DefaultStorageClass DefaultTolerationSeconds DenyServiceExternalIPs
  EventRateLimit ExtendedResourceToleration ImagePolicyWebhook JobValidation LimitPodHardAntiAffinityTopology
  LimitRanger MutatingAdmissionPolicy MutatingAdmissionWebhook NamespaceAutoProvision NamespaceExists
  NamespaceLifecycle NodeDeclaredFeatureValidator NodeRestriction OwnerReferencesPermissionEnforcement
  PersistentVolumeClaimResize PodGroupProtection PodGroupWorkloadExists PodNodeSelector PodResizeValidator
  PodSecurity PodTolerationRestriction PodTopologyLabels Priority ResourceQuota RuntimeClass ServiceAccount
  StorageObjectInUseProtection TaintNodesByCondition ValidatingAdmissionPolicy ValidatingAdmissionWebhook`.split(
    /\s+/,
  ),
)

/** Those of them that upstream advises against. */
export const deprecatedAdmissionPlugins: ReadonlySet<string> = new Set([
  'AlwaysAdmit',
  'AlwaysDeny',
])
