const page = JSON.parse(document.getElementById("data").textContent);

const LABEL_COLUMNS = [
  { key: "label", title: "label", kind: "text", width: "minmax(8rem, 2.2fr)", narrow: "minmax(4rem, 1fr)" },
  { key: "seen", title: "seen", kind: "count", width: "4.5rem", wide: true, help: "training examples with this label" },
  { key: "support", title: "in test", kind: "count", width: "4rem", narrow: "3.2rem", help: "test examples with this label" },
  { key: "right", title: "right", kind: "count", width: "3.6rem", wide: true, help: "true positives" },
  { key: "wrong", title: "wrong", kind: "count", width: "3.8rem", wide: true, help: "false positives" },
  { key: "missed", title: "missed", kind: "count", width: "4.2rem", wide: true, help: "false negatives" },
  { key: "precision", title: "P", kind: "share", width: "3.6rem", narrow: "2.8rem", help: "precision, %" },
  { key: "recall", title: "R", kind: "share", width: "3.6rem", narrow: "2.8rem", help: "recall, %" },
  { key: "f1", title: "F1", kind: "meter", width: "7rem", narrow: "4.9rem", help: "harmonic mean of precision and recall, %" },
  { key: "threshold", title: "threshold", kind: "number", width: "4.8rem", wide: true },
  { key: "node", title: "lost at", kind: "node", width: "minmax(7rem, 1.2fr)", wide: true, help: "the group where most misses of this label are lost" },
  { key: "share", title: "there", kind: "share", width: "3.6rem", wide: true, help: "share of its misses lost there, %" },
];

const CHANGE_COLUMNS = [
  { key: "label", title: "label", kind: "text", width: "minmax(9rem, 2fr)", narrow: "minmax(4rem, 1fr)" },
  { key: "before", title: "F1 before", kind: "meter", width: "8rem", wide: true, help: "F1 of the other model, %" },
  { key: "after", title: "F1", kind: "meter", width: "8rem", narrow: "4.9rem", help: "F1 of this model, %" },
  { key: "only_before", title: "lost", kind: "count", width: "4rem", wide: true, help: "examples that only the other model gets right" },
  { key: "only_after", title: "won", kind: "count", width: "4rem", wide: true, help: "examples that only this model gets right" },
  { key: "gain", title: "won − lost", kind: "signed", width: "5.4rem", narrow: "4.6rem" },
  { key: "adjusted", title: "q", kind: "p", width: "4.4rem", narrow: "3.4rem", help: "McNemar’s exact p-value with Benjamini–Hochberg adjustment" },
];

/** Fill a table, with the columns that have values. */
function makeTable(name, definitions, values, sort, render) {
  const host = document.querySelector(`[data-table="${name}"]`);
  if (!host || !values) return;
  const columns = definitions.filter(({ key }) => key in values).map((column) => ({ ...column, values: values[column.key] }));
  const column = columns.findIndex(({ key }) => key === sort.key);
  new Table(host, columns, { column, falling: sort.falling }, render);
}

function themed(redraw) {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  try {
    const kept = localStorage.getItem("labelgrove-theme");
    if (kept) root.dataset.theme = kept;
  } catch { /* pages opened from files may not have storage */ }
  dark.addEventListener("change", redraw);
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("labelgrove-theme", root.dataset.theme);
    } catch { /* as above */ }
    redraw();
  });
}

async function start() {
  const charts = new Charts(page.charts, page.data);
  let outline = null;
  const tree = page.tree && new Tree(page.tree, page.labels);
  const reveal = (v) => {
    outline.reveal(v);
    outline.host.scrollIntoView({ block: "nearest" });
  };
  const watchRings = () => {
    const view = charts.views.get("rings");
    if (!view) return;
    view.addEventListener("click", (_, item) => item?.datum && reveal(item.datum.id));
    if (outline) view.signal("by", outline.by).runAsync();
  };
  const redraw = async () => {
    await charts.draw();
    watchRings();
    outline?.repaint();
  };
  themed(redraw);
  if (tree) {
    page.data.rings = tree.slices();
    outline = new Outline(document.querySelector("[data-tree]"), tree);
    if (document.querySelector("[data-lost]")) showLosses(tree, page.labels, reveal);
    const choices = [...document.querySelectorAll("[data-by]")];
    for (const button of choices) {
      button.addEventListener("click", () => {
        for (const other of choices) other.setAttribute("aria-checked", other === button);
        outline.colourBy(button.dataset.by);
        charts.views.get("rings").signal("by", button.dataset.by).runAsync();
      });
    }
  }
  const node = (v) => (v < 0 ? element("span", { class: "none" }, "–") : linkTo(v, tree, reveal));
  makeTable("labels", LABEL_COLUMNS, page.labels, { key: "support", falling: true }, { node });
  makeTable("changes", CHANGE_COLUMNS, page.changes, { key: "adjusted", falling: false });
  await redraw();
  document.documentElement.dataset.ready = "true";
}

start();
