// Precision-recall curves of one class: strict and semantic side by side, one line per model.
import { drawing, element, many, modelName } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, TOP] = [250, 190, 34, 10];
const [RIGHT, BOTTOM] = [WIDTH - 8, HEIGHT - 30];
const x = (recall) => LEFT + recall * (RIGHT - LEFT);
const y = (precision) => BOTTOM - precision * (BOTTOM - TOP);

/** Curve points of one model, looked up by class. */
function starts(count) {
  const found = new Uint32Array(count.length + 1);
  count.forEach((number, k) => (found[k + 1] = found[k] + number));
  return found;
}

export class Curves {
  constructor(place, classes, models) {
    Object.assign(this, { place, classes, models });
    for (const { models: of } of classes.curves) for (const model of of) model.start = starts(model.count);
  }

  /** Draw the curves of a class; clear them for -1. */
  show(k) {
    const { classes, models } = this;
    if (k < 0) return this.place.replaceChildren();
    this.place.replaceChildren(
      element("h3", {}, element("bdi", {}, classes.labels[k])),
      element("p", { class: "quiet" }, many(classes.truths[k], "ground truth") + (classes.rare[k] ? ", rare" : "")),
      element("div", { class: "plots" }, ...classes.curves.map((curve) => this.#plot(curve, k))),
      element("p", { class: "legend" }, ...models.map(modelName)),
    );
  }

  #plot({ label, models }, k) {
    const grid = [0, 0.5, 1].flatMap((v) => [
      drawing("line", { class: "grid", x1: x(0), x2: x(1), y1: y(v), y2: y(v) }),
      drawing("line", { class: "grid", x1: x(v), x2: x(v), y1: y(0), y2: y(1) }),
      drawing("text", { x: LEFT - 6, y: y(v) + 4, class: "end" }, String(v)),
      drawing("text", { x: x(v), y: BOTTOM + 15, class: "middle" }, String(v)),
    ]);
    const lines = models.map((model, number) => {
      const [from, to] = [model.start[k], model.start[k + 1]];
      const points = [];
      for (let i = from; i < to; i++) {
        points.push([model.recall[i] / this.classes.scale, model.precision[i] / this.classes.scale]);
      }
      if (!points.length) return null;
      const path = [[0, points[0][1]], ...points].map(([r, p], i) => `${i ? "L" : "M"}${x(r).toFixed(1)} ${y(p).toFixed(1)}`);
      const [r, p] = points.at(-1); // the number of the model, for readers who cannot tell the colours apart
      const end = models.length > 1 ? drawing("text", { x: x(r) + 2, y: y(p) - 3 }, String(number + 1)) : null;
      return drawing("g", {}, drawing("path", { class: `line m${number % 8}`, d: path.join("") }), end);
    });
    const description = `Precision by recall, ${label}: ${this.classes.labels[k]}`;
    return element(
      "figure",
      {},
      element("figcaption", {}, label),
      drawing(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": description },
        ...grid,
        drawing("text", { x: x(0.5), y: HEIGHT - 1, class: "middle" }, "recall"),
        drawing("text", { x: 9, y: y(0.5), class: "middle", transform: `rotate(-90 9 ${y(0.5)})` }, "precision"),
        ...lines,
        lines.some(Boolean) ? null : drawing("text", { x: x(0.5), y: y(0.5) - 8, class: "middle" }, "no match"),
      ),
    );
  }
}
