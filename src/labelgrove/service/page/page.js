// The page of the service: get suggestions while typing, teach labels, and watch it learn.

const at = (id) => document.getElementById(id)
const count = new Intl.NumberFormat('en')
let project = ''
let asked = 0 // number of requests so far, to ignore answers to earlier ones
let shown = [] // the suggestions on the page
const ticked = new Set()
const names = new Map() // names of the labels seen so far

// --- requests ------------------------------------------------------------------------------------

async function call(method, path, body, form = false) {
  const headers = {}
  const token = sessionStorage.getItem('token')
  if (token) headers.Authorization = `Bearer ${token}`
  if (body && !form) headers['Content-Type'] = 'application/json'
  const sent = body && (form ? new URLSearchParams(body) : JSON.stringify(body))
  const answer = await fetch(path, { method, headers, body: sent })
  if (!answer.ok) {
    const problem = await answer.json().catch(() => null) // a proxy's may be anything
    if (answer.status === 401) at('token-form').hidden = false
    const told = problem?.detail || `The server answered with status ${answer.status}.`
    throw Object.assign(new Error(told), { status: answer.status })
  }
  return answer.status === 204 ? null : answer.json()
}

const of = (resource) => `v1/projects/${project}/${resource}`

// What failed, by action: it stays until the same action succeeds.
const failures = new Map()

function say(action, sentence) {
  failures.delete(action)
  if (sentence) failures.set(action, sentence)
  const newest = [...failures.values()].at(-1) ?? ''
  at('notice').textContent = newest
  at('notice').hidden = !newest
}

// Wrap an action so that its errors appear on the page; it then tells whether it succeeded.
function guarded(action) {
  return async (...given) => {
    try {
      await action(...given)
      say(action, '')
      return true
    } catch (error) {
      say(action, error.message)
      return false
    }
  }
}

// --- suggestions ---------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes)
  made.append(...children)
  return made
}

const suggest = guarded(async () => {
  const text = at('text').value
  const turn = ++asked
  if (!text.trim() || !project) {
    show([])
    return
  }
  const started = performance.now()
  const { results } = await call('POST', of('suggest'), { text, limit: 8 }, true)
  if (turn !== asked) return
  at('latency').textContent = `answered in ${(performance.now() - started).toFixed(1)} ms`
  show(results)
  if (results.length) await explain(text, results[0], turn)
})

function show(results) {
  shown = results
  for (const one of results) names.set(one.uri, one.label)
  const known = new Set(results.map((one) => one.uri))
  const added = [...ticked].filter((label) => !known.has(label))
  const rows = [...results, ...added.map((label) => ({ uri: label, label: name(label), score: null }))]
  const held = at('suggestions').querySelector(':focus')
  const label = held?.closest('li').dataset.uri
  at('suggestions').replaceChildren(...rows.map(row))
  if (held) { // whoever uses the keyboard goes on from the same control, or else from the text
    const kept = [...at('suggestions').children].find((item) => item.dataset.uri === label)
    ;(kept?.querySelector(held.tagName) ?? at('text')).focus()
  }
  if (!results.length) at('why').hidden = true
}

const name = (label) => names.get(label) ?? label

function row(one) {
  const box = element('input', { type: 'checkbox', checked: ticked.has(one.uri) })
  box.addEventListener('change', () => ticked[box.checked ? 'add' : 'delete'](one.uri))
  const bar = element('span', { className: 'bar' })
  bar.style.width = `${100 * (one.score ?? 0)}%`
  const score = one.score === null ? '' : `${(100 * one.score).toFixed(1)} %`
  const label = element('label', { title: one.uri }, box,
    element('span', { className: 'name', textContent: one.label }),
    element('span', { className: 'score', textContent: score }))
  const only = element('button', { type: 'button', textContent: '✓', title: `Teach ${one.label} alone` })
  only.setAttribute('aria-label', only.title)
  only.addEventListener('click', () => teach([one.uri]))
  const item = element('li', {}, bar, label, only)
  item.dataset.uri = one.uri
  const why = () => one.score !== null && explain(at('text').value, one, asked)
  item.addEventListener('pointerenter', guarded(why))
  item.addEventListener('focusin', guarded(why))
  return item
}

// --- why -----------------------------------------------------------------------------------------

async function explain(text, one, turn) {
  if (!text.trim() || text.length > 100_000) return // the service refuses longer texts
  const { labels } = await call('POST', of('explain'), { text, label: one.uri })
  if (turn !== asked || !labels.length) return
  const weights = new Map(labels[0].reasons.map((reason) => [reason.feature.toLowerCase(), reason.weight]))
  const most = Math.max(...[...weights.values()].map(Math.abs), 1e-9)
  const parts = text.split(/([\p{L}\p{N}_]+)/u).map((part) => {
    const weight = weights.get(part.toLowerCase()) ?? 0
    if (Math.abs(weight) < most / 20) return part
    const marked = element('mark', {
      className: weight > 0 ? 'for' : 'against',
      textContent: part,
      title: `contribution ${weight > 0 ? 'for' : 'against'} ${one.label}: ${weight.toFixed(2)}`,
    })
    marked.style.setProperty('--share', `${30 + 70 * Math.abs(weight) / most}%`) // share of the underline's colour only: faint words would be hard to read
    return marked
  })
  at('why').replaceChildren(element('strong', { textContent: `Why ${one.label}: ` }), ...parts)
  at('why').hidden = false
}

// --- teaching ------------------------------------------------------------------------------------

const teach = guarded(async (labels) => {
  const text = at('text').value
  if (!text.trim()) throw new Error('Type or paste a text first.')
  if (!labels.length) throw new Error('Tick or add a label first.')
  await call('POST', `${of('examples')}?wait=applied`, { examples: [{ text, labels }] })
  ticked.clear()
  await Promise.all([suggest(), watch()])
})

// Resolves once all labels that were typed are ticked.
let adding = Promise.resolve()

// Tick what is typed. If it cannot be looked up, it is typed again.
const add = guarded(() => {
  const typed = at('label').value.trim()
  at('label').value = ''
  if (typed) {
    adding = adding.then(() => tick(typed)).catch((error) => {
      at('label').value ||= typed
      adding = Promise.resolve()
      throw error
    })
  }
  return adding
})

async function lookUp(typed) {
  const { labels } = await call('GET', of(`labels?limit=20&search=${encodeURIComponent(typed)}`))
  for (const one of labels) names.set(one.id, one.name)
  return labels
}

// Tick the label with this id or else this name; or a new one, if there is neither.
async function tick(typed) {
  const labels = await lookUp(typed)
  const same = (one) => one.name.toLowerCase() === typed.toLowerCase()
  const found = labels.find((one) => one.id === typed) ?? labels.find(same)
  ticked.add(found?.id ?? typed)
  show(shown)
}

const complete = guarded(async () => {
  const labels = await lookUp(at('label').value)
  at('known').replaceChildren(...labels.map((one) => element('option', { value: one.id, label: one.name })))
})

// --- watching ------------------------------------------------------------------------------------

const watch = guarded(async () => {
  if (!project) return
  const stats = await call('GET', of('stats?fingerprint=false'))
  at('examples').textContent = count.format(stats.examples_seen)
  at('count').textContent = count.format(stats.labels)
  at('sequence').textContent = count.format(stats.sequence)
  draw(stats.progress)
  if (!at('log-part').hidden) await list(stats.head)
})

let listed = '' // the project and the last event of the log on the page

async function list(head) {
  const last = `${project} ${head}`
  if (listed === last) return // an event may have megabytes
  try {
    // Never the first one: it is the settings, with the whole vocabulary.
    const { events } = await call('GET', of(`log?after=${Math.max(1, head - 8)}`))
    at('log').replaceChildren(...events.reverse().map(event))
    listed = last
  } catch (error) {
    if (error.status !== 403) throw error
    at('log-part').hidden = true // this token may not read it
  }
}

function event({ sequence, kind, body }) {
  const told = kind === 'learn' ? `${body.labels.map(name).join(', ')} ← ${body.text.slice(0, 80)}`
    : kind === 'forgotten' ? '' : JSON.stringify(body).slice(0, 120)
  return element('li', {}, `${count.format(sequence)} `, element('b', { textContent: kind }), ` ${told}`)
}

function draw(stretches) {
  const total = stretches.reduce((sum, one) => sum + one.predictions, 0)
  const right = stretches.reduce((sum, one) => sum + one.right, 0)
  at('right').textContent = total ? `${(100 * right / total).toFixed(1)} %` : '–'
  const space = 'http://www.w3.org/2000/svg'
  const make = (tag, attributes, text = '') => {
    const made = document.createElementNS(space, tag)
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
    made.textContent = text
    return made
  }
  const parts = [0, 0.5, 1].flatMap((share) => {
    const y = 110 - 100 * share
    return [make('line', { x1: 30, x2: 400, y1: y, y2: y }), make('text', { x: 0, y: y + 3 }, `${100 * share} %`)]
  })
  // A running mean over a tenth of the stream, at least 20 examples, to smooth out single hits.
  let tried = 0
  const window = Math.max(20, total / 10)
  let mean = null
  const points = stretches.map(({ predictions: size, right: hits }) => {
    const weight = Math.min(1, size / Math.min(window, tried + size))
    mean = mean === null ? hits / size : mean + weight * (hits / size - mean)
    tried += size
    return `${30 + 370 * tried / total},${110 - 100 * mean}`
  })
  if (points.length > 1) parts.push(make('path', { d: `M${points.join('L')}` }))
  at('chart').replaceChildren(...parts)
}

// --- start ---------------------------------------------------------------------------------------

const begin = guarded(async () => {
  const { projects } = await call('GET', 'v1/projects')
  at('token-form').hidden = true
  at('log-part').hidden = false
  at('project').replaceChildren(...projects.map((one) => element('option', { value: one.project_id, textContent: one.name })))
  project = at('project').value
  if (!project) throw new Error('There is no project yet. Create one with PUT /v1/projects/name.')
  await watch()
})

let typing = 0
at('text').addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(suggest, 80)
})
at('project').addEventListener('change', () => {
  project = at('project').value
  ticked.clear()
  names.clear()
  suggest()
  watch()
})
at('add').addEventListener('click', add)
at('label').addEventListener('input', complete)
at('label').addEventListener('keydown', (key) => {
  if (key.key === 'Enter' && !key.ctrlKey && at('label').value) {
    key.preventDefault()
    add()
  }
})
at('teach-form').addEventListener('submit', async (submitted) => {
  submitted.preventDefault()
  if (await add()) teach([...ticked])
})
at('token-form').addEventListener('submit', (submitted) => {
  submitted.preventDefault()
  sessionStorage.setItem('token', at('token').value)
  begin()
})
document.addEventListener('keydown', (key) => {
  if (key.ctrlKey && key.key === 'Enter') at('teach-form').requestSubmit()
})
// One at a time: while the service writes a snapshot, an answer takes as long as that.
async function keepWatching() {
  if (!document.hidden) await watch()
  setTimeout(keepWatching, 3000)
}
setTimeout(keepWatching, 3000)
begin().then(() => { document.documentElement.dataset.ready = '' })
