// The table of classes: sorted by any column, filtered by words and rarity, with the curves of the chosen class.
import { byId, element, modelName, percent } from "./dom.js";

export class ClassTable {
  /** @param show callback that shows a class, given its index, or -1 for no class */
  constructor(classes, models, show) {
    Object.assign(this, { classes, models, show, sorted: { by: models.length > 1 ? "spread" : "truths", falling: true }, chosen: -1, shown: -1, anew: [] });
    this.measure = byId("measure");
    this.filter = byId("filter");
    this.part = byId("part");
    this.head = byId("class-head");
    this.body = byId("class-rows");
    this.measure.append(...classes.measures.map(({ label }, i) => element("option", { value: i }, label)));
    this.measure.value = Math.max(0, classes.measures.findIndex(({ key }) => key === "ap"));
    for (const control of [this.measure, this.part]) control.addEventListener("change", () => this.draw());
    this.filter.addEventListener("input", () => this.draw());
    this.body.addEventListener("click", ({ target }) => {
      const row = target.closest("tr");
      if (row) this.choose(Number(row.dataset.class));
    });
    this.draw();
    this.choose(this.order[0]);
  }

  /** Use rescored values per model; a model without rescored values keeps those of the command. */
  rescored(found) {
    this.anew = found;
    this.draw();
  }

  choose(k) {
    this.chosen = k;
    for (const row of this.body.rows) row.classList.toggle("chosen", Number(row.dataset.class) === k);
    this.#showChosen();
  }

  /** Show the chosen class, or no class if the filter matches none. */
  #showChosen() {
    const shown = this.order.length ? this.chosen : -1;
    if (shown !== this.shown) this.show((this.shown = shown));
  }

  #values() {
    const { key, models } = this.classes.measures[this.measure.value];
    return models.map((of, model) => this.anew[model]?.[key] ?? of);
  }

  draw() {
    const values = this.#values();
    const { labels, rare, truths } = this.classes;
    const spread = labels.map((_, k) => {
      const known = values.map((of) => of[k]).filter((value) => !Number.isNaN(value));
      if (values.length === 2) return values[1][k] - values[0][k];
      return known.length > 1 ? Math.max(...known) - Math.min(...known) : NaN;
    });
    const columns = { label: labels, truths, spread, ...values };
    const wanted = this.filter.value.trim().toLowerCase();
    const { by, falling } = this.sorted;
    const column = columns[by];
    const sign = falling ? -1 : 1;
    const compare = (a, b) =>
      by === "label"
        ? sign * labels[a].localeCompare(labels[b])
        : Number.isNaN(column[a]) - Number.isNaN(column[b]) || sign * (column[a] - column[b]) || truths[b] - truths[a] || a - b;
    this.order = labels
      .map((_, k) => k)
      .filter((k) => labels[k].toLowerCase().includes(wanted))
      .filter((k) => this.part.value === "all" || (this.part.value === "rare") === Boolean(rare[k]))
      .sort(compare);
    this.#drawHead();
    this.body.replaceChildren(...this.order.map((k) => this.#row(k, values, spread)));
    this.#showChosen();
    byId("class-count").textContent = `${this.order.length} of ${labels.length} classes`;
  }

  #drawHead() {
    const columns = [
      ["label", "class"],
      ["truths", "truths"],
      ...this.models.map((name, number) => [number, modelName(name, number)]),
    ];
    if (this.models.length > 1) columns.push(["spread", this.models.length === 2 ? "difference" : "spread"]);
    const focused = this.head.contains(document.activeElement) ? document.activeElement.dataset.by : null;
    this.head.replaceChildren(
      ...columns.map(([by, label]) => {
        const own = by === this.sorted.by;
        const direction = own ? (this.sorted.falling ? "descending" : "ascending") : null;
        const button = element("button", { type: "button", "data-by": by, onclick: () => this.#sortBy(by) }, label);
        return element("th", { scope: "col", "aria-sort": direction }, button);
      }),
    );
    this.head.querySelector(`[data-by="${focused}"]`)?.focus();
  }

  #sortBy(by) {
    this.sorted = { by, falling: by === this.sorted.by ? !this.sorted.falling : by !== "label" };
    this.draw();
  }

  #row(k, values, spread) {
    const { labels, rare, truths } = this.classes;
    const best = Math.max(...values.map((of) => of[k]).filter((value) => !Number.isNaN(value)));
    return element(
      "tr",
      { "data-class": k, class: k === this.chosen ? "chosen" : null },
      element(
        "th",
        { scope: "row" },
        element("button", { type: "button" }, element("bdi", {}, labels[k])),
        rare[k] ? element("span", { class: "tag" }, "rare") : null,
      ),
      element("td", {}, truths[k].toLocaleString("en")),
      ...values.map((of) => element("td", { class: of[k] === best && best > 0 ? "best" : null }, percent(of[k]))),
      values.length > 1 ? element("td", { class: "quiet" }, percent(spread[k])) : null,
    );
  }
}
