/** Draws the charts of the page in the colours of its style; redraws them when these change. */
class Charts {
  constructor(specs, data) {
    this.specs = specs;
    this.data = data;
    this.views = new Map();
    this.tip = document.getElementById("tip");
  }

  async draw() {
    const hosts = [...document.querySelectorAll("[data-chart]")];
    await Promise.all(hosts.map((host) => this.drawOne(host, host.dataset.chart)));
  }

  async drawOne(host, name) {
    const spec = JSON.parse(painted(JSON.stringify(this.specs[name])));
    // Vega modifies its input, so every view gets its own copy of the rows.
    const rows = (source) => this.data[source].map((row) => ({ ...row }));
    if (Array.isArray(spec.data)) for (const source of spec.data) source.values = rows(source.name);
    else spec.datasets = Object.fromEntries(named(spec).map((source) => [source, rows(source)]));
    this.views.get(name)?.finalize();
    const { view } = await vegaEmbed(host, spec, {
      actions: false,
      defaultStyle: false,
      renderer: spec.usermeta.renderer,
      tooltip: (_, event, __, value) => this.say(event, value),
    });
    this.views.set(name, view);
  }

  /** Redraw in the current width. */
  async resize() {
    await Promise.all([...this.views.values()].map((view) => view.resize().runAsync()));
  }

  say(event, value) {
    this.tip.hidden = value === null || value === undefined || value === "";
    if (this.tip.hidden) return;
    const { title, ...rest } = typeof value === "object" ? value : { title: value };
    const lines = Object.entries(rest).map(([name, text]) => element("div", {}, element("span", {}, name), element("bdi", {}, String(text))));
    this.tip.replaceChildren(...(title ? [element("b", {}, title)] : []), ...lines);
    const box = this.tip.getBoundingClientRect();
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    this.tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8))}px`;
  }
}

/** The names of the data sets that a chart uses. */
function named({ data, layer = [] }) {
  return [...(data?.name ? [data.name] : []), ...layer.flatMap(named)];
}

/** Replace every `var(--name)` by its value in the style. */
function painted(text) {
  return text.replace(/var\((--[\w-]+)\)/g, (_, name) => (name === "--font" ? property(name) : colour(name)));
}

function property(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** A colour of the style, resolved by the browser for the light or dark theme. */
function colour(name) {
  const probe = document.body.appendChild(element("i", { style: `color: var(${name})`, hidden: "" }));
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
