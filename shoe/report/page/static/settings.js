// Weight, delta and ensemble: sliders, the scores of the models with these settings, and the same options for a shell.
import { byId, element, modelName, percent } from "./dom.js";

const FIGURES = ["map", "mf1", "gt_miss_rate", "prediction_miss_rate"];

export class Settings {
  /**
   * @param page results of the command: models, metrics per model, and settings
   * @param changed callback with the rescored metrics per model, or an empty list for the settings of the command
   */
  constructor(page, changed) {
    Object.assign(this, { page, changed, number: 0 });
    this.weight = byId("weight");
    this.delta = byId("delta");
    this.ensemble = byId("ensemble");
    this.rows = byId("rescored");
    const groups = [["ensembles", (option) => option !== null], ["one rater alone", (option) => option === null]];
    for (const [label, belongs] of groups) {
      const options = page.ensembles.flatMap((name, i) =>
        belongs(page.options[i]) ? [element("option", { value: i }, name)] : [],
      );
      if (options.length) this.ensemble.append(element("optgroup", { label }, ...options));
    }
    for (const control of [this.weight, this.delta]) control.addEventListener("input", () => this.#changed());
    this.ensemble.addEventListener("change", () => this.#changed());
    byId("reset").addEventListener("click", () => this.#reset());
    this.#reset();
  }

  get chosen() {
    return { weight: Number(this.weight.value), delta: Number(this.delta.value), ensemble: Number(this.ensemble.value) };
  }

  #reset() {
    for (const [name, value] of Object.entries(this.page.settings)) this[name].value = value;
    this.#changed();
  }

  #changed() {
    const settings = this.chosen;
    byId("weight-value").textContent = settings.weight.toFixed(2);
    byId("delta-value").textContent = settings.delta.toFixed(2);
    const same = Object.entries(this.page.settings).every(([name, value]) => settings[name] === value);
    const option = this.page.options[settings.ensemble];
    byId("same-options").textContent =
      `-o weight=${settings.weight} -o delta=${settings.delta}` +
      (option === null ? "" : ` -o ensemble=${option}`);
    byId("same-note").textContent =
      option === null && this.page.ensembles.length > 1
        ? "One rater alone: shoe score --bounds lists SHOE-mAP by rater at the weight and delta of the command."
        : "";
    byId("reset").disabled = same;
    this.number++;
    this.found = this.page.figures.map((figures) => (same ? figures : null));
    if (same) {
      this.#draw();
      this.changed([]);
      this.rows.removeAttribute("aria-busy");
      return;
    }
    this.rows.setAttribute("aria-busy", "true");
    this.started = performance.now();
    for (const worker of this.#workers()) worker.postMessage({ number: this.number, settings });
  }

  /** One worker per model, created on first use, so that data are unpacked only if needed. */
  #workers() {
    this.made ??= this.page.models.map((_, model) => {
      const worker = new Worker(URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => this.#take(model, data);
      worker.postMessage({ shared: byId("data-shared").textContent, model: byId(`data-model-${model}`).textContent });
      return worker;
    });
    return this.made;
  }

  #take(model, { number, found }) {
    if (number !== this.number) return;
    this.found[model] = found;
    if (this.found.includes(null)) return;
    this.rows.removeAttribute("aria-busy");
    this.rows.dataset.milliseconds = Math.round(performance.now() - this.started);
    this.#draw();
    this.changed(this.found);
  }

  #draw() {
    const order = this.found.map((_, i) => i).sort((a, b) => this.found[b].map - this.found[a].map);
    this.rows.replaceChildren(
      ...this.page.models.map((name, number) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, modelName(name, number)),
          ...FIGURES.map((figure) => this.#cell(this.found[number][figure], this.page.figures[number][figure], figure)),
          element("td", {}, String(order.indexOf(number) + 1)),
        ),
      ),
    );
  }

  #cell(now, reported, figure) {
    const change = 100 * (now - reported);
    const shown = now === null || Math.abs(change) < 0.005 ? null : `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(2)}`;
    const better = figure.endsWith("rate") ? change < 0 : change > 0;
    return element(
      "td",
      { "data-figure": figure, "data-value": now },
      percent(now),
      shown && element("span", { class: better ? "change up" : "change down" }, shown),
    );
  }
}
