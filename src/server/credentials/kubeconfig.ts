/** A kubeconfig with one cluster and one user, certificates inline. */

interface KubeconfigParts {
  url: string
  /** The name that the certificate is for, where that is not the URL's host. */
  tlsServerName?: string | undefined
  caPem: string
  /** Default: kubelevel-admin. */
  user?: string
  certPem?: string
  keyPem?: string
  token?: string
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** YAML text. All values are base64, a URL, a name or a token of URL-safe characters: none needs quotes. */
export const formatKubeconfig = ({
  url,
  tlsServerName,
  caPem,
  user = 'kubelevel-admin',
  certPem,
  keyPem,
  token,
}: KubeconfigParts): string =>
  [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    '- name: kubelevel',
    '  cluster:',
    `    server: ${url}`,
    ...(tlsServerName === undefined ? [] : [`    tls-server-name: ${tlsServerName}`]),
    `    certificate-authority-data: ${base64(caPem)}`,
    'users:',
    `- name: ${user}`,
    '  user:',
    ...(certPem === undefined ? [] : [`    client-certificate-data: ${base64(certPem)}`]),
    ...(keyPem === undefined ? [] : [`    client-key-data: ${base64(keyPem)}`]),
    ...(token === undefined ? [] : [`    token: ${JSON.stringify(token)}`]),
    'contexts:',
    '- name: kubelevel',
    '  context:',
    '    cluster: kubelevel',
    `    user: ${user}`,
    'current-context: kubelevel',
    '',
  ].join('\n')
