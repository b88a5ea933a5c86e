const FIRST_CHILDREN = 40;
const LEAST_SLICE = 1 / 2500; // share of the whole; thinner slices of the rings would be invisible

/** The label tree, with totals for every node, and titles for nodes without a label. */
class Tree {
  constructor({ parents, labels, lost }, columns) {
    this.parents = parents;
    this.labels = labels;
    this.lost = lost;
    this.columns = columns;
    const n = parents.length;
    this.children = Array.from({ length: n }, () => []);
    for (let v = 1; v < n; v++) this.children[parents[v]].push(v);
    this.depth = new Int32Array(n);
    this.leaves = new Int32Array(n);
    this.seen = new Float64Array(n);
    this.best = Array.from({ length: n }, () => []);
    const sum = new Float64Array(n);
    const measured = new Int32Array(n);
    const order = [0];
    for (let i = 0; i < order.length; i++) {
      for (const child of this.children[order[i]]) {
        this.depth[child] = this.depth[order[i]] + 1;
        order.push(child);
      }
    }
    for (const v of order.reverse()) {
      const label = labels[v];
      if (label >= 0) {
        this.leaves[v] = 1;
        this.seen[v] = columns.seen[label];
        this.best[v] = [label];
        if (columns.f1[label] !== null) [sum[v], measured[v]] = [columns.f1[label], 1];
      }
      this.children[v].sort((a, b) => this.seen[b] - this.seen[a] || a - b);
      if (v === 0) continue;
      const parent = parents[v];
      this.leaves[parent] += this.leaves[v];
      this.seen[parent] += this.seen[v];
      sum[parent] += sum[v];
      measured[parent] += measured[v];
      this.best[parent] = [...this.best[parent], ...this.best[v]].sort((a, b) => columns.seen[b] - columns.seen[a] || a - b).slice(0, 3);
    }
    this.f1 = Array.from(sum, (total, v) => (measured[v] ? total / measured[v] : null));
    this.most = { seen: Math.max(1, this.seen[0]), lost: lost.reduce((a, b) => Math.max(a, b), 1) };
  }

  /** A node's label, or its most frequent ones. */
  title(v) {
    if (v === 0) return "the root";
    const names = this.best[v].map((label) => this.columns.label[label]);
    if (names.length < 2) return names[0] ?? `group ${v}`;
    const list = names.map((name) => `\u2068${name}\u2069`).join(", "); // isolated: some run from right to left
    const rest = this.leaves[v] - names.length;
    return rest > 0 ? `${list} and ${format.count(rest)} more` : list;
  }

  /** Rows for the rings; the room of an omitted slice stays with its parent. */
  slices() {
    const whole = Math.max(1, this.seen[0]);
    const kept = (v) => v === 0 || this.seen[v] / whole >= LEAST_SLICE;
    const rows = [];
    const stack = [0];
    while (stack.length) {
      const v = stack.pop();
      const inside = this.children[v].filter(kept);
      const weight = this.seen[v] - inside.reduce((total, child) => total + this.seen[child], 0);
      rows.push({ id: v, parent: v ? this.parents[v] : null, weight: v || inside.length ? weight : 1, title: this.title(v), seen: this.seen[v], f1: this.f1[v], lost: this.lost[v] });
      stack.push(...inside);
    }
    return rows;
  }
}

function mixed(from, to, place) {
  return `color-mix(in srgb, var(${to}) ${(100 * place).toFixed(1)}%, var(${from}))`;
}

/** The tree as a collapsible list. */
class Outline {
  constructor(host, tree) {
    this.tree = tree;
    this.host = host;
    this.by = "f1";
    this.items = new Map();
    host.append(element("ul", {}, this.item(0)));
    this.items.get(0).open = true;
  }

  colourBy(by) {
    this.by = by;
    this.repaint();
  }

  repaint() {
    for (const mark of this.host.querySelectorAll("i[data-node]")) mark.style.background = this.colour(Number(mark.dataset.node));
  }

  /** The same colours as in the rings. CSS mixes them, so that they follow the light or dark theme. */
  colour(v) {
    const { f1, seen, lost, most } = this.tree;
    if (this.by === "lost") return mixed("--line", "--ochre", Math.sqrt(lost[v] / most.lost));
    if (this.by === "f1" && f1[v] === null) return "var(--line)";
    const place = 2 * (this.by === "f1" ? f1[v] : Math.log(Math.max(1, seen[v])) / Math.log(most.seen + 1));
    return place < 1 ? mixed("--ramp-low", "--ramp-mid", place) : mixed("--ramp-mid", "--ramp-high", place - 1);
  }

  item(v) {
    const { tree } = this;
    const f1 = tree.f1[v] === null ? "" : `F1 ${format.percent(tree.f1[v])}`;
    const size = tree.children[v].length ? `${format.count(tree.leaves[v])} labels` : `${format.count(tree.seen[v])} seen`;
    const rest = [size, tree.lost[v] ? `${format.count(tree.lost[v])} lost` : ""].filter(Boolean).join(" · ");
    const parts = [
      element("i", { "data-node": v, style: `background: ${this.colour(v)}` }),
      element("b", { title: `group ${v}: ${tree.title(v)}` }, tree.title(v)),
      element("em", {}, f1),
      element("em", { class: "wide" }, rest),
    ];
    if (!tree.children[v].length) {
      const leaf = element("div", { class: "node", tabindex: "-1" }, ...parts);
      this.items.set(v, leaf);
      return element("li", {}, leaf);
    }
    const below = element("ul");
    const details = element("details", { ontoggle: () => this.unfold(v, below) }, element("summary", { class: "node" }, ...parts), below);
    this.items.set(v, details);
    return element("li", {}, details);
  }

  unfold(v, below, all = false) {
    if (below.childElementCount && !all) return;
    const { length } = this.tree.children[v];
    const shown = this.tree.children[v].slice(0, all ? length : FIRST_CHILDREN);
    below.replaceChildren(...shown.map((child) => this.item(child)));
    if (shown.length === length) return;
    const more = element("button", { type: "button", class: "link more", onclick: () => this.unfold(v, below, true) }, `show all ${format.count(length)}`);
    below.append(element("li", {}, more));
  }

  /** Expand the path to a node and scroll to it. */
  reveal(v) {
    const path = [v];
    while (path[0] !== 0) path.unshift(this.tree.parents[path[0]]);
    for (const [step, next] of path.slice(1).entries()) {
      const at = path[step];
      const details = this.items.get(at);
      details.open = true;
      this.unfold(at, details.lastChild, !this.items.has(next) && this.tree.children[at].indexOf(next) >= FIRST_CHILDREN);
    }
    for (const old of this.host.querySelectorAll(".found")) old.classList.remove("found");
    const item = this.items.get(v);
    const node = item.matches("details") ? item.firstChild : item;
    node.classList.add("found");
    node.focus({ preventScroll: true });
    this.host.scrollTop += node.getBoundingClientRect().top - this.host.getBoundingClientRect().top - this.host.clientHeight / 3;
  }
}

/** Create a link with a node's title to its place in the list. */
function linkTo(v, tree, reveal) {
  const go = (event) => {
    event.preventDefault();
    reveal(v);
  };
  return element("a", { class: "link", href: "#tree", title: `group ${v}: ${tree.title(v)}`, onclick: go }, tree.title(v));
}

/** Show the nodes and the labels with most losses. */
function showLosses(tree, columns, reveal) {
  const total = Math.max(1, tree.lost.reduce((a, b) => a + b, 0));
  const link = (v) => linkTo(v, tree, reveal);
  const list = (kind, items) => document.querySelector(`[data-lost="${kind}"]`).append(element("ol", {}, ...items.map((item) => element("li", {}, ...item))));
  const nodes = tree.lost.map((_, v) => v).filter((v) => tree.lost[v]).sort((a, b) => tree.lost[b] - tree.lost[a]);
  list("nodes", nodes.slice(0, 6).map((v) => [link(v), meter(tree.lost[v] / total, `${format.percent(tree.lost[v] / total)} %`)]));
  const labels = columns.label.map((_, i) => i).filter((i) => columns.share[i] !== null);
  labels.sort((a, b) => columns.missed[b] - columns.missed[a]);
  list("labels", labels.slice(0, 8).map((i) => {
    const misses = `${Math.round(columns.share[i] * 100)} % of its ${format.count(columns.missed[i])} misses`;
    return [element("b", {}, columns.label[i]), ": lost at ", link(columns.node[i]), ` in ${misses}`];
  }));
}
