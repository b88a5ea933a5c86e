const ROW = 36;

const CELLS = {
  text: (value) => document.createTextNode(value),
  count: (value) => document.createTextNode(format.count(value)),
  number: (value) => document.createTextNode(value.toFixed(2)),
  share: (value) => document.createTextNode(format.percent(value)),
  meter: (value) => meter(value),
  p: (value) => document.createTextNode(format.p(value)),
  signed: (value) => element("span", { class: value > 0 ? "up" : value < 0 ? "down" : "" }, format.signed(value)),
};

/** A sortable, filterable table. Only visible rows are in the document, so it can have any number. */
class Table {
  /** `columns` are {title, kind, values, width, wide}; the filter applies to the first one. `sort` is {column, falling}. */
  constructor(host, columns, sort, render = {}) {
    this.columns = columns;
    this.render = { ...CELLS, ...render };
    this.scroll = host.querySelector(".scroll");
    this.note = host.querySelector(".count");
    this.names = columns[0].values.map((name) => name.toLowerCase());
    this.sort = sort;
    this.wanted = "";
    this.scroll.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    const narrow = columns.filter((column) => !column.wide).map((column) => column.narrow ?? column.width);
    this.scroll.style.setProperty("--narrow", narrow.join(" "));
    this.head = element("div", { class: "row head", role: "row" });
    this.body = element("div", { role: "rowgroup" });
    this.scroll.style.setProperty("--most", `${(this.names.length + 1) * ROW}px`);
    this.scroll.append(this.head, this.body);
    this.scroll.addEventListener("scroll", () => this.show(), { passive: true });
    host.querySelector("input").addEventListener("input", (event) => this.filter(event.target.value));
    new ResizeObserver(() => this.show()).observe(this.scroll);
    this.order();
  }

  filter(text) {
    this.wanted = text.trim().toLowerCase();
    this.order();
  }

  sortBy(column) {
    const falling = this.sort.column === column ? !this.sort.falling : this.columns[column].kind !== "text";
    this.sort = { column, falling };
    this.order();
  }

  order() {
    const { column, falling } = this.sort;
    const values = this.columns[column].values;
    this.rows = [...this.names.keys()].filter((row) => this.names[row].includes(this.wanted));
    const sign = falling ? -1 : 1;
    this.rows.sort((a, b) => {
      const [x, y] = [values[a], values[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // unknown values come last
      return (x < y ? -sign : x > y ? sign : 0) || a - b;
    });
    this.note.textContent = `${format.count(this.rows.length)} of ${format.count(this.names.length)}`;
    this.scroll.setAttribute("aria-rowcount", this.rows.length + 1);
    this.body.style.height = `${this.rows.length * ROW}px`;
    this.scroll.scrollTop = 0;
    this.title();
    this.show();
  }

  title() {
    const focused = [...this.head.children].findIndex((cell) => cell.contains(document.activeElement));
    const cells = this.columns.map((column, i) => {
      const sorted = i !== this.sort.column ? "none" : this.sort.falling ? "descending" : "ascending";
      const button = element("button", { type: "button", title: column.help ?? null, onclick: () => this.sortBy(i) }, column.title);
      return element("div", { role: "columnheader", "aria-sort": sorted, class: this.style(column) }, button);
    });
    this.head.replaceChildren(...cells);
    if (focused >= 0) cells[focused].firstChild.focus();
  }

  show() {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroll.clientHeight / ROW) + 8);
    const shown = [];
    for (let place = first; place < last; place++) {
      const row = element("div", { class: "row", role: "row", "aria-rowindex": place + 2, style: `top: ${(place + 1) * ROW}px` });
      for (const column of this.columns) row.append(this.cell(column, this.rows[place]));
      shown.push(row);
    }
    this.body.replaceChildren(...shown);
  }

  cell(column, row) {
    const value = column.values[row];
    const content = value === null ? element("span", { class: "none" }, "–") : this.render[column.kind](value, row);
    return element("div", { role: "cell", class: this.style(column), title: column.kind === "text" ? value : null }, content);
  }

  style(column) {
    return `${["text", "node"].includes(column.kind) ? "text" : "number"}${column.wide ? " wide" : ""}`;
  }
}
