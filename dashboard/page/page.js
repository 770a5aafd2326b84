// What the server tells is shown; what is chosen is in the address, behind the #.
const byId = (id) => document.getElementById(id)

const item = (tag, text) => {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}

const chosen = () => location.hash.slice(1)

const markChosen = (uid) => {
  for (const link of document.querySelectorAll('nav a'))
    link.setAttribute('aria-current', String(link.hash.slice(1) === uid))
}

const showPods = (pods) => {
  const lines = pods.map(({ uid, name, namespace, state }) => {
    const line = document.createElement('li')
    line.className = state
    const link = item('a', `${namespace}/${name}`)
    link.href = `#${uid}`
    link.append(item('small', state))
    line.append(link)
    return line
  })
  byId('pods').replaceChildren(...lines)
  markChosen(chosen())
}

const showPod = (shown) => {
  if (shown === null) {
    byId('title').textContent = 'No such Pod was seen.'
    for (const id of ['why', 'picture', 'save', 'steps']) byId(id).replaceChildren()
    return
  }
  byId('title').textContent = shown.title
  byId('why').replaceChildren(...shown.why.map((reason) => item('li', reason)))
  const picture = new DOMParser().parseFromString(shown.picture, 'image/svg+xml')
  byId('picture').replaceChildren(document.importNode(picture.documentElement, true))
  byId('steps').textContent = shown.steps.join('\n')
  const alone = item('a', 'the picture alone')
  alone.href = `/pictures/${shown.uid}.svg`
  byId('save').replaceChildren(alone)
}

let source
const follow = () => {
  source?.close()
  const uid = chosen()
  source = new EventSource(uid === '' ? '/follow' : `/follow?uid=${encodeURIComponent(uid)}`)
  source.addEventListener('open', () => (byId('lost').hidden = true))
  source.addEventListener('error', () => (byId('lost').hidden = false))
  source.addEventListener('pods', ({ data }) => showPods(JSON.parse(data)))
  source.addEventListener('shown', ({ data }) => showPod(JSON.parse(data)))
  markChosen(uid)
}

addEventListener('hashchange', follow)
follow()
